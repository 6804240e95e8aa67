// Clients of other projects, unmodified, in a virtual environment of their own that is made once and kept in test/.cache.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../.cache', import.meta.url));
const RESULT = '\nRESULT ';

/** Milliseconds that pip may take, for `beforeAll`. */
export const INSTALL_TIME = 10 * 60_000;

export interface PythonClient {
  /**
   * Runs a script, which gets `input` as JSON on its standard input and prints a line `RESULT` with JSON. The server it
   * talks to may live in this process.
   * @throws what the script says on its standard error
   */
  run(script: string, input: object): Promise<unknown>;
}

/** A Python with these packages; the reason where there can be none: no python3, or pip could not install. */
export function pythonClient(name: string, packages: readonly string[]): PythonClient | string {
  const folder = join(cache, `venv-${name}`);
  const python = join(folder, 'bin', 'python');
  const ready = join(folder, 'ready.json');
  const wanted = JSON.stringify(packages);
  if (existsSync(ready) && readFileSync(ready, 'utf8') === wanted) return clientOf(python);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const venv = spawnSync('python3', ['-m', 'venv', folder], { encoding: 'utf8' });
  if (venv.status !== 0) return `python3 with venv is needed: ${venv.error?.message ?? lastLine(venv.stderr)}`;
  const options = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  const pip = spawnSync(python, [...options, ...packages], { encoding: 'utf8' });
  if (pip.status !== 0) return `pip could not install ${packages.join(' ')}: ${lastLine(pip.stderr)}`;
  writeFileSync(ready, wanted);
  return clientOf(python);
}

function clientOf(python: string): PythonClient {
  // Packages of the person running the tests must not come in between, nor their proxy.
  const env = { ...process.env, PYTHONNOUSERSITE: '1', NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
  return {
    run: (script, input) =>
      new Promise((resolve, reject) => {
        const { env: given = {}, ...rest } = input as { env?: Record<string, string> };
        const child = spawn(python, [script], { env: { ...env, ...given }, stdio: ['pipe', 'pipe', 'pipe'] });
        let output = '\n';
        let complaint = '';
        child.stdout.on('data', (data) => (output += data));
        child.stderr.on('data', (data) => (complaint += data));
        child.on('error', reject);
        child.on('close', (code) => {
          const at = output.lastIndexOf(RESULT);
          if (code === 0 && at >= 0) resolve(JSON.parse(output.slice(at + RESULT.length)));
          else reject(new Error(`${script} ended with ${code}: ${complaint}`));
        });
        child.stdin.end(JSON.stringify(rest));
      }),
  };
}

function lastLine(text: string | null): string {
  return (text ?? '').trim().split('\n').at(-1) ?? '';
}
