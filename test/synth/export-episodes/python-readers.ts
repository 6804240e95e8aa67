// Virtual environments with the packages that read our datasets.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type PythonEnvironment, pythonEnvironment } from '../../../scripts/python-environments.mjs';

const script = fileURLToPath(new URL('./read-episodes.py', import.meta.url));

/** Milliseconds that an installation may take, for `beforeAll`. */
export const INSTALL_TIME = 10 * 60_000;

export interface PythonReaders extends Pick<PythonEnvironment, 'missing'> {
  /** Runs one reader of read-episodes.py. */
  read(reader: string, input: object): unknown;
}

/** Those of scripts/python-environments.json by this name; the reason where there can be none. */
export async function pythonReaders(name: 'readers' | 'trainers'): Promise<PythonReaders | string> {
  const made = await pythonEnvironment(name);
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
  const read = (reader: string, input: object): unknown => {
    const options = { input: JSON.stringify(input), env, maxBuffer: 1 << 28, encoding: 'utf8' } as const;
    const output = execFileSync(python, [script, reader], { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
    return JSON.parse(output.slice(output.lastIndexOf('\nRESULT ') + '\nRESULT '.length));
  };
  return { missing, read };
}
