// An npm package to measure against within the same run: pinned, in a folder of its own that is no part of ours.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { reverieError } from '../src/core/errors.js';

const execute = promisify(execFile);

export interface NpmPeerOptions {
  readonly name: string;
  /** Exact. */
  readonly version: string;
  readonly root: string;
  readonly log?: (line: string) => void;
}

/** The package's CommonJS exports. Throws ENV_UNUSABLE if it cannot be installed or loaded. */
export async function npmPeer<T>({ name, version, root, log }: NpmPeerOptions): Promise<T> {
  const wanted = `${name}@${version}`;
  const folder = join(root, 'benchmarks', '.cache', `npm-${name}`);
  const stamp = join(folder, 'installed.txt');
  try {
    if (!existsSync(stamp) || (await readFile(stamp, 'utf8')) !== wanted) {
      log?.(`installing ${wanted}`);
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'package.json'), '{"private":true}');
      await execute('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', wanted], { cwd: folder });
      await writeFile(stamp, wanted);
    }
    return createRequire(join(folder, 'package.json'))(name) as T;
  } catch (error) {
    const problem = (error as Error).message;
    throw reverieError(
      'ENV_UNUSABLE',
      {
        problem: `The peer "${name}" cannot take part: ${problem}`,
        hint: `It needs python3 (3.10 or newer) with venv, and pip able to install ${wanted}.`,
      },
      error,
    );
  }
}
