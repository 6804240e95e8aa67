// Where scenarios lie: built-in ones by name in scenarios/ and packs/ of the package, others by path.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { reverieError } from '../core/errors.js';
import { packageRoot, packsFolder } from '../core/packs.js';

const FILE_NAME = 'scenario.yaml';

/** Names of the built-in scenarios. */
export function builtInScenarios(): string[] {
  return [...builtIn().keys()].sort();
}

/** The file of each, by the name of its folder: a pack is one itself, or has several. */
function builtIn(): Map<string, string> {
  const packs = foldersOf(packsFolder());
  const folders = [...foldersOf(join(packageRoot(), 'scenarios')), ...packs, ...packs.flatMap(foldersOf)];
  const files = folders.map((folder) => join(folder, FILE_NAME)).filter((file) => existsSync(file));
  return new Map(files.map((file) => [basename(dirname(file)), file]));
}

function foldersOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/**
 * The scenario file that `reference` means: a file, a folder with a scenario.yaml, or the name of a built-in one.
 * A path wins over a name only if it is written as one (it has a slash or ends in .yaml).
 * @throws SCENARIO_NOT_FOUND
 */
export function scenarioFile(reference: string): string {
  const known = builtIn();
  const ours = known.get(reference);
  if (ours !== undefined) return ours;
  const path = resolve(reference);
  if (existsSync(path)) {
    const file = statSync(path).isDirectory() ? join(path, FILE_NAME) : path;
    if (existsSync(file)) return file;
  }
  throw reverieError('SCENARIO_NOT_FOUND', { path: reference, known: [...known.keys()].sort().join(', ') });
}
