// Python packages for tests, in virtual environments of their own that are made once and kept in test/.cache. By uv where pip
// can have it, which takes seconds where pip takes a minute of a core; by pip otherwise. What each holds is in
// python-environments.json, at the versions the tests were written against.
// Usage: node scripts/python-environments.mjs NAME...    makes them beside each other; prints `NAME PYTHON` of each

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, env, pid } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CACHE = env.REVERIE_TEST_CACHE ?? fileURLToPath(new URL('../test/.cache', import.meta.url));
const UV = 'uv==0.13.9';
const run = promisify(execFile);

/** What each environment is made of: calls of the installer in turn, some of which may fail. */
const INSTALLS = JSON.parse(readFileSync(new URL('python-environments.json', import.meta.url), 'utf8'));

/**
 * The Python of an environment, and what of it could not be installed; the reason where there can be none: no python3, or
 * packages that could not be had.
 */
export async function pythonEnvironment(name) {
  const folder = join(CACHE, `venv-${name}`);
  const python = join(folder, 'bin', 'python');
  const ready = join(folder, 'ready.json');
  const wanted = JSON.stringify(INSTALLS[name]);
  const made = existsSync(ready) ? JSON.parse(readFileSync(ready, 'utf8')) : undefined;
  if (made?.wanted === wanted) return { python, missing: made.missing };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  const uv = await uvProgram();
  const missing = {};
  try {
    await (uv === undefined ? run('python3', ['-m', 'venv', folder]) : run(uv, ['venv', '--quiet', folder]));
    for (const { packages, alone, optional } of INSTALLS[name]) {
      try {
        await install(uv, python, [...(alone ? ['--no-deps'] : []), ...packages]);
      } catch (error) {
        const problem = `${packages.join(' ')} could not be installed: ${lastLine(error)}`;
        if (optional === undefined) return problem;
        missing[optional] = problem;
      }
    }
  } catch (error) {
    return `python3 with venv is needed: ${lastLine(error)}`;
  }
  writeFileSync(ready, JSON.stringify({ wanted, missing }));
  return { python, missing };
}

function install(uv, python, words) {
  if (uv === undefined)
    return run(python, ['-m', 'pip', 'install', '--disable-pip-version-check', '--quiet', ...words]);
  return run(uv, ['pip', 'install', '--quiet', '--python', python, ...words]);
}

/** In a folder of this process until it is whole, as tests that run beside this one want it too. */
async function uvProgram() {
  const folder = join(CACHE, UV);
  const program = join(folder, 'bin', 'uv');
  if (existsSync(program)) return program;
  const own = `${folder}-${pid}`;
  const words = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', own, UV];
  try {
    await run('python3', words);
    renameSync(own, folder);
  } catch {
    rmSync(own, { recursive: true, force: true });
  }
  return existsSync(program) ? program : undefined;
}

function lastLine(error) {
  const text = `${error.stderr || error.message}`;
  return text.trim().split('\n').at(-1);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const names = argv.slice(2);
  if (names.length > 0) await uvProgram();
  for (const [i, made] of (await Promise.all(names.map(pythonEnvironment))).entries()) {
    if (typeof made === 'string') console.error(`${names[i]}: ${made}`);
    else console.log(`${names[i]} ${made.python}`);
  }
}
