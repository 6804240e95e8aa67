// Python packages for tests, in virtual environments of their own that are made once and kept in test/.cache. By uv where pip
// can have it, which takes seconds where pip takes a minute of a core; by pip otherwise.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('.cache', import.meta.url));
const UV = 'uv==0.13.9';

/** Milliseconds that this may take, for `beforeAll`. */
export const INSTALL_TIME = 10 * 60_000;

/** One call of the installer; where it is `optional` it may fail, and only what it is for is missing then. */
export interface Install {
  readonly packages: readonly string[];
  /** Without what the packages depend on. */
  readonly alone?: boolean;
  readonly optional?: string;
}

export interface PythonEnvironment {
  readonly python: string;
  /** What an optional install was for, to the reason why it is not there. */
  readonly missing: Readonly<Record<string, string>>;
}

/**
 * A Python with these packages, named for `name`. Answers the reason where there can be none: no python3, or something could
 * not be installed. `prepare` is run in the new environment before that, and answers what went wrong.
 */
export function pythonPackages(
  name: string,
  installs: readonly Install[],
  prepare?: (folder: string, python: string) => string | undefined,
): PythonEnvironment | string {
  const folder = join(cache, `venv-${name}`);
  const python = join(folder, 'bin', 'python');
  const ready = join(folder, 'ready.json');
  const wanted = JSON.stringify(installs);
  const made = existsSync(ready) ? JSON.parse(readFileSync(ready, 'utf8')) : undefined;
  if (made?.wanted === wanted) return { python, missing: made.missing };
  const problem = makeVenv(folder) ?? prepare?.(folder, python);
  if (problem !== undefined) return problem;
  const missing: Record<string, string> = {};
  for (const { packages, alone, optional } of installs) {
    const failure = installPackages(python, packages, alone);
    if (failure !== undefined && optional === undefined) return failure;
    if (failure !== undefined && optional !== undefined) missing[optional] = failure;
  }
  writeFileSync(ready, JSON.stringify({ wanted, missing }));
  return { python, missing };
}

/** Answers what went wrong. */
export function installPackages(python: string, packages: readonly string[], alone = false): string | undefined {
  const [program, ...words] = installerOf(python);
  const made = spawnSync(program, [...words, '--quiet', ...(alone ? ['--no-deps'] : []), ...packages], {
    encoding: 'utf8',
  });
  return made.status === 0 ? undefined : `${packages.join(' ')} could not be installed: ${lastLine(made.stderr)}`;
}

function makeVenv(folder: string): string | undefined {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const venv = spawnSync('python3', ['-m', 'venv', folder], { encoding: 'utf8' });
  return venv.status === 0 ? undefined : `python3 with venv is needed: ${venv.error?.message ?? lastLine(venv.stderr)}`;
}

function installerOf(python: string): readonly [string, ...string[]] {
  const uv = uvProgram();
  return uv === undefined
    ? [python, '-m', 'pip', 'install', '--disable-pip-version-check']
    : [uv, 'pip', 'install', '--python', python];
}

/** In a folder of this process until it is whole, as tests that run beside this one want it too. */
function uvProgram(): string | undefined {
  const folder = join(cache, UV);
  const program = join(folder, 'bin', 'uv');
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const words = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target'];
  const own = `${folder}-${process.pid}`;
  const got = spawnSync('python3', [...words, own, UV], { encoding: 'utf8' });
  if (got.status !== 0) return undefined;
  try {
    renameSync(own, folder);
  } catch {
    rmSync(own, { recursive: true, force: true });
  }
  return existsSync(program) ? program : undefined;
}

function lastLine(text: string | null): string {
  return (text ?? '').trim().split('\n').at(-1) ?? '';
}
