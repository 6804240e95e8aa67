// A zip that a user has, such as a wheel of Python, read as a folder: it is unpacked once into a cache folder of the user, under the
// SHA-256 of its bytes, so that another archive is another folder and the same one is never unpacked twice.

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type AdmZip from 'adm-zip';
import envPaths from 'env-paths';
import { ReverieError, reverieError } from '../core/errors.js';
import { storageError } from '../core/files.js';
import { admZip } from '../core/packs.js';

/** What an archive may hold in all: more is no archive of pages, and could fill a disk. */
const MAX_BYTES = 1024 ** 3;

/**
 * The folder that holds `marker`, unpacked; undefined where the archive has no such file.
 * @param marker path of a file below the wanted folder, with slashes, wherever in the archive that folder lies
 * @throws FILE_INVALID, STORAGE_FULL, STORAGE_DENIED, STORAGE_FAILED
 */
export function unpackedArchive(file: string, marker: string): string | undefined {
  const { hash, entries } = opened(file);
  const within = entries
    .map(({ entryName }) => entryName)
    .filter((name) => `/${name}`.endsWith(`/${marker}`))
    .sort((a, b) => a.length - b.length)[0]
    ?.slice(0, -marker.length);
  if (within === undefined) return undefined;
  const target = join(cacheFolder(), 'unpacked', hash);
  if (!existsSync(target)) unpack(file, entries, target);
  return join(target, within);
}

/** Where a user keeps what can be had again: REVERIE_CACHE, or what the system has for it. */
function cacheFolder(): string {
  const { REVERIE_CACHE } = process.env;
  return REVERIE_CACHE ? resolve(REVERIE_CACHE) : envPaths('reverie', { suffix: '' }).cache;
}

function opened(file: string): { hash: string; entries: AdmZip.IZipEntry[] } {
  const bytes = readFileSync(file);
  const hash = createHash('sha256').update(bytes).digest('hex');
  const entries = reading(file, () => new (admZip())(bytes).getEntries()).filter(({ isDirectory }) => !isDirectory);
  const outside = entries.find(({ entryName }) => !liesWithin(entryName));
  if (outside !== undefined) throw unreadable(file, `it would write outside of its folder: "${outside.entryName}"`);
  const bytesInAll = entries.reduce((sum, { header }) => sum + header.size, 0);
  if (bytesInAll > MAX_BYTES) throw unreadable(file, `it holds ${bytesInAll} bytes, and ${MAX_BYTES} are the most`);
  return { hash, entries };
}

/** Names of files below a folder; of Windows' paths, none that is read otherwise there. */
function liesWithin(name: string): boolean {
  return !/[\\:\0]/.test(name) && name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Under the name `target` there is all of it or nothing: whoever is killed leaves a folder of another name, which the next takes away. */
function unpack(file: string, entries: readonly AdmZip.IZipEntry[], target: string): void {
  const parent = dirname(target);
  try {
    mkdirSync(parent, { recursive: true });
    const temporary = mkdtempSync(`${target}.`);
    for (const entry of entries) {
      const path = join(temporary, ...entry.entryName.split('/'));
      const content = reading(file, () => entry.getData());
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content, { flush: true });
    }
    renameSync(temporary, target);
  } catch (error) {
    // Another process may have been faster, and have taken this one's folder for a leftover.
    if (!existsSync(target)) throw unwritten(target, error);
  } finally {
    removeLeftovers(parent, `${basename(target)}.`);
  }
}

function removeLeftovers(folder: string, prefix: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(prefix)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** What the library throws at an archive is the archive's fault. */
function reading<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(file, (error as Error).message.replace(/^ADM-ZIP: /, ''));
  }
}

function unreadable(path: string, problem: string): ReverieError {
  return reverieError('FILE_INVALID', {
    problem: `The archive "${path}" cannot be unpacked: ${problem}.`,
    hint: 'Download it again, whole (a wheel of Python by "pip download PACKAGE --no-deps"), or unpack it and name the folder.',
  });
}

function unwritten(target: string, error: unknown): unknown {
  const told = storageError(target, error);
  if (told instanceof ReverieError && told.code.startsWith('STORAGE_'))
    told.hint = 'Archives are unpacked into a cache folder: name one that can be written to, by REVERIE_CACHE.';
  return told;
}
