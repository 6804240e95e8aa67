// Files that an agent may upload: those of one folder that a scenario names, each told by its path in it. No other file of the machine
// can be named, as actions have these names and never a path.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { sha256 } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import type { CallSpec } from '../env/tools/domain.js';
import type { BrowserName } from './page/page-requests.js';

/** Absolute path by name. */
export type Uploads = Readonly<Record<string, string>>;

/** The tool tells all of them. */
const MOST = 100;

/** The files below a folder, without links, which may lead out of it. @throws ENV_UNUSABLE */
export function uploadsIn(folder: string, browser: BrowserName): Uploads {
  const unavailable = (problem: string) =>
    reverieError('ENV_UNUSABLE', {
      problem: `No files of "${folder}" can be uploaded: ${problem}.`,
      hint: 'Name a folder of 1 to 100 files, none of them a link, and "browser: chromium"; or leave out domain.uploads.',
    });
  if (browser === 'jsdom') throw unavailable('jsdom has no files to choose among');
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw unavailable('there is no such folder');
  const files = uploadFiles(folder);
  if (files.length === 0 || files.length > MOST) throw unavailable(`it holds ${files.length} files`);
  return Object.fromEntries(files.map((file) => [relative(folder, file).split(sep).join('/'), file]));
}

/** Absolute paths in a fixed order; none where there is no such folder. */
export function uploadFiles(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** What they are, by name: what is uploaded is part of what pages become. */
export function uploadHashes(uploads: Uploads): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(uploads).map(([name, path]) => [name, sha256(readFileSync(path))]));
}

/** Why an action cannot have the files that it names: a sentence for each that is not among `files`. */
export function uploadRefusals({ name, arguments: { file } }: CallSpec, files: readonly string[] = []): string[] {
  if (name !== 'upload_file') return [];
  const unknown = [file].flat().filter((one) => !files.includes(String(one)));
  return unknown.map((one) => `there is no file "${String(one)}" to upload; there are: ${files.join(', ')}`);
}
