// Which files of runs may be looked at: those below the root, really there, and not by way of a link that leads out.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { reverieError } from '../../core/errors.js';

/**
 * The real path of `name` below `root`.
 * @throws RUN_PATH_REFUSED for a name that leads out, also through a link; RUN_NOT_FOUND for one that is not there
 */
export function pathBelow(root: string, name: string): string {
  const clean = normalize(name);
  if (isAbsolute(name) || leadsOut(clean) || name.includes('\0'))
    throw reverieError('RUN_PATH_REFUSED', { path: name });
  const path = join(root, clean);
  if (!existsSync(path)) throw reverieError('RUN_NOT_FOUND', { path: name });
  if (!isBelow(root, path)) throw reverieError('RUN_PATH_REFUSED', { path: name });
  return realpathSync(path);
}

/** Whether what is at `path`, links followed, lies in `root`. */
export function isBelow(root: string, path: string): boolean {
  return !leadsOut(relative(realpathSync(root), realpathSync(path)));
}

/** A file within a folder below the root; undefined where it is missing, no file, or elsewhere. */
export function fileIn(root: string, folder: string, ...names: readonly string[]): string | undefined {
  const path = join(folder, ...names);
  return existsSync(path) && statSync(path).isFile() && isBelow(root, path) ? path : undefined;
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}
