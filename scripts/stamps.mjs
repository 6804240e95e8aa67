// What was made of which sources: a stamp beside what was made holds their hash.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The stamp of the page in dist/web, and what the page is made of. */
export const PAGE = 'dist/web/.built';
export const pageSources = () => sources('web', () => true);

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Files in a folder of the repository, in an order of their own. */
export function sources(folder, isSource = (file) => file.endsWith('.ts')) {
  return readdirSync(join(root, folder), { recursive: true })
    .map(String)
    .filter((file) => isSource(file) && statSync(join(root, folder, file)).isFile())
    .sort()
    .map((file) => join(folder, file));
}

/** Whether the stamp is there and `files` are what they were when it was left. */
export function isCurrent(stamp, files) {
  const path = join(root, stamp);
  return existsSync(path) && readFileSync(path, 'utf8') === hashOf(files);
}

/** Does `work` unless it was done (`ready`) with the same files; they are read before, as it may take long. */
export async function whenChanged(stamp, files, ready, work) {
  const path = join(root, stamp);
  const hash = hashOf(files);
  if (ready && isCurrent(stamp, files)) return;
  await work();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, hash);
}
