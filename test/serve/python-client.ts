// Clients of other projects, unmodified, in a virtual environment of their own.

import { spawn } from 'node:child_process';
import { pythonEnvironment } from '../../scripts/python-environments.mjs';

const RESULT = '\nRESULT ';

export interface PythonClient {
  /**
   * Runs a script, which gets `input` as JSON on its standard input and prints a line `RESULT` with JSON. The server it
   * talks to may live in this process.
   * @throws what the script says on its standard error
   */
  run(script: string, input: object): Promise<unknown>;
}

/** Milliseconds that an installation may take, for `beforeAll`. */
export const INSTALL_TIME = 10 * 60_000;

/** The Python of scripts/python-environments.json by this name; the reason where there can be none. */
export async function pythonClient(name: string): Promise<PythonClient | string> {
  const made = await pythonEnvironment(name);
  return typeof made === 'string' ? made : clientOf(made.python);
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
