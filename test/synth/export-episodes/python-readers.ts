// Virtual environments with the packages that read our datasets.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type PythonEnvironment, pythonEnvironment } from '../../../scripts/python-environments.mjs';

const script = fileURLToPath(new URL('./read-episodes.py', import.meta.url));

/** Milliseconds that an installation may take, for `beforeAll`. */
export const INSTALL_TIME = 10 * 60_000;

export interface PythonReaders extends Pick<PythonEnvironment, 'missing'> {
  /**
   * Runs readers of read-episodes.py, by their names, in one process, as its imports take longest. What is answered tells what one of
   * them found, or throws what it ended with.
   */
  read(asked: Readonly<Record<string, object>>): (reader: string) => unknown;
}

/** Those of scripts/python-environments.json by the name `readers`; the reason where there can be none. */
export async function pythonReaders(): Promise<PythonReaders | string> {
  const made = await pythonEnvironment('readers');
  return typeof made === 'string' ? made : readersOf(made.python, made.missing);
}

function readersOf(python: string, missing: Readonly<Record<string, string>>): PythonReaders {
  const env = {
    ...process.env,
    HF_DATASETS_OFFLINE: '1',
    HF_HUB_OFFLINE: '1',
    HF_DATASETS_DISABLE_PROGRESS_BARS: '1',
    TOKENIZERS_PARALLELISM: 'false',
    // Packages of the person running the tests must not come in between.
    PYTHONNOUSERSITE: '1',
  };
  const read = (asked: Readonly<Record<string, object>>) => {
    const options = { input: JSON.stringify(asked), env, maxBuffer: 1 << 28, encoding: 'utf8' } as const;
    const output = execFileSync(python, [script], { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
    const answers = JSON.parse(output.slice(output.lastIndexOf('\nRESULT ') + '\nRESULT '.length));
    return (reader: string): unknown => {
      const { found, error } = answers[reader];
      if (error !== undefined) throw new Error(`${reader}: ${error}`);
      return found;
    };
  };
  return { missing, read };
}
