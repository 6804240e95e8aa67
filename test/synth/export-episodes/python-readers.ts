// Virtual environments with the packages that read our datasets.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Install, installPackages, type PythonEnvironment, pythonPackages } from '../../python-packages.js';

const script = fileURLToPath(new URL('./read-episodes.py', import.meta.url));
const benchmarkTorch = fileURLToPath(new URL('../../../benchmarks/.cache/venv-torch/lib', import.meta.url));

export interface PythonReaders extends Pick<PythonEnvironment, 'missing'> {
  /** Runs one reader of read-episodes.py. */
  read(reader: string, input: object): unknown;
}

/** The packages at the versions these tests were written against. */
export const LIGHT: readonly Install[] = [
  { packages: ['datasets==5.2.0', 'pyarrow==26.0.1', 'pandas==3.1.1'] },
  { packages: ['atif==1.7.0'], optional: 'atif' },
  { packages: ['transformers==5.23.0', 'jinja2==3.1.6'], optional: 'trl' },
  { packages: ['trl==1.16.0'], alone: true, optional: 'trl' },
  { packages: ['llamafactory==0.9.5'], alone: true, optional: 'llamafactory' },
];

/** verl asks for torch, which is large: only where REVERIE_TRAINER_READERS=1. */
export const TRAINERS: readonly Install[] = [
  { packages: ['datasets==5.2.0', 'pyarrow==26.0.1', 'pandas==3.1.1', 'transformers==5.10.0', 'jinja2==3.1.6'] },
  { packages: ['ray', 'pyvers', 'orjson', 'importlib_metadata', 'codetiming', 'hydra-core', 'psutil', 'packaging'] },
  { packages: ['verl==0.9.1', 'tensordict==0.10.0', 'peft', 'accelerate'], alone: true },
];

/**
 * A Python with these packages; the reason where there can be none.
 * `needsTorch`: takes that of the benchmarks where it is there, and installs it otherwise.
 */
export function pythonReaders(name: string, installs: readonly Install[], needsTorch = false): PythonReaders | string {
  const made = pythonPackages(name, installs, needsTorch ? provideTorch : undefined);
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

function provideTorch(folder: string, python: string): string | undefined {
  const version = execFileSync(python, ['-c', 'import sys; print("python%d.%d" % sys.version_info[:2])'])
    .toString()
    .trim();
  const packages = join(benchmarkTorch, version, 'site-packages');
  if (!existsSync(join(packages, 'torch'))) return installPackages(python, ['torch', 'numpy']);
  writeFileSync(join(folder, 'lib', version, 'site-packages', 'torch-of-benchmarks.pth'), `${packages}\n`);
  return undefined;
}
