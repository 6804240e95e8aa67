// A Python process to measure against within the same run: pinned packages in a virtual environment of its own, a
// script of `benchmarks/peers/`, and one JSON object a line each way. The script loads `peer.py` for its side.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type ReverieError, reverieError } from '../src/core/errors.js';

const execute = promisify(execFile);

export interface PythonPeerOptions {
  /** Of the peer; its environment is `benchmarks/.cache/venv-<name>`. */
  readonly name: string;
  /** Pinned, as pip takes them: `cpprb==11.0.0`. */
  readonly requirements: readonly string[];
  /** Further arguments of `pip install`, such as `--index-url`. */
  readonly pipArguments?: readonly string[];
  /** File name in `benchmarks/peers/`. */
  readonly script: string;
  readonly root: string;
  /** Environment variables of the peer, such as `OMP_NUM_THREADS`. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly log?: (line: string) => void;
}

export class PythonPeer {
  private readonly process: ChildProcess;
  private readonly answers: AsyncIterator<string>;
  private readonly options: PythonPeerOptions;
  private errors = '';

  private constructor(process: ChildProcess, options: PythonPeerOptions) {
    this.process = process;
    this.options = options;
    this.answers = createInterface(process.stdout!)[Symbol.asyncIterator]();
    process.stderr!.on('data', (chunk) => {
      this.errors = (this.errors + chunk).slice(-2000);
    });
  }

  /** Installs what is missing and starts the script. Throws ENV_UNUSABLE if that cannot be done. */
  static async start(options: PythonPeerOptions): Promise<PythonPeer> {
    const python = await installed(options);
    const script = join(options.root, 'benchmarks', 'peers', options.script);
    const child = spawn(python, ['-u', script], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...options.environment },
    });
    // A peer that died is reported by the answer that does not come.
    child.stdin.on('error', () => undefined);
    return new PythonPeer(child, options);
  }

  /** Sends one request and waits for its answer. Throws ENV_UNUSABLE if the peer fails or dies. */
  async call<T>(method: string, parameters: Readonly<Record<string, unknown>> = {}): Promise<T> {
    this.process.stdin!.write(`${JSON.stringify({ method, ...parameters })}\n`);
    const { value, done } = await this.answers.next();
    if (done) throw failed(this.options, `it ended during "${method}". ${this.errors.trim()}`);
    const { result, error } = JSON.parse(value) as { result?: T; error?: string };
    if (error !== undefined) throw failed(this.options, error);
    return result as T;
  }

  async close(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const closed = once(this.process, 'close');
    this.process.stdin!.end();
    await closed;
  }
}

/** Path of the environment's Python, made if it is missing or its requirements changed. */
async function installed(options: PythonPeerOptions): Promise<string> {
  const { name, requirements, pipArguments = [], root, log } = options;
  const cache = join(root, 'benchmarks', '.cache');
  const folder = join(cache, `venv-${name}`);
  const python = process.platform === 'win32' ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python');
  const stamp = join(folder, 'installed.json');
  const wanted = JSON.stringify({ requirements, pipArguments });
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return python;
  try {
    log?.(`installing ${requirements.join(', ')}`);
    await mkdir(cache, { recursive: true });
    await rm(folder, { recursive: true, force: true });
    await execute('python3', ['-m', 'venv', folder]);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...pipArguments];
    await execute(python, [...install, ...requirements], { maxBuffer: 1 << 26 });
    await writeFile(stamp, wanted);
    return python;
  } catch (error) {
    throw failed(options, lastLine(error));
  }
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).split('\n').at(-1)!;
}

function failed({ name, requirements }: PythonPeerOptions, problem: string): ReverieError {
  return reverieError('ENV_UNUSABLE', {
    problem: `The peer "${name}" cannot take part: ${problem}`,
    hint: `It needs python3 (3.10 or newer) with venv, and pip able to install ${requirements.join(', ')}.`,
  });
}
