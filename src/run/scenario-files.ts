// Where scenarios lie: built-in ones by name in scenarios/ of the package, others by path.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reverieError } from '../core/errors.js';

const FILE_NAME = 'scenario.yaml';

/** Root of the package, from src/run as from dist/run. */
export function packageRoot(): string {
  // Searched upwards: the compiled benchmarks lie one folder deeper than the build.
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/** Names of the built-in scenarios. */
export function builtInScenarios(): string[] {
  const folder = join(packageRoot(), 'scenarios');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, FILE_NAME)))
    .sort();
}

/**
 * The scenario file that `reference` means: a file, a folder with a scenario.yaml, or the name of a built-in one.
 * A path wins over a name only if it is written as one (it has a slash or ends in .yaml).
 * @throws SCENARIO_NOT_FOUND
 */
export function scenarioFile(reference: string): string {
  const known = builtInScenarios();
  if (known.includes(reference)) return join(packageRoot(), 'scenarios', reference, FILE_NAME);
  const path = resolve(reference);
  if (existsSync(path)) {
    const file = statSync(path).isDirectory() ? join(path, FILE_NAME) : path;
    if (existsSync(file)) return file;
  }
  throw reverieError('SCENARIO_NOT_FOUND', { path: reference, known: known.join(', ') });
}
