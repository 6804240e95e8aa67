// Servers of somebody else's packages, in Python processes: started, killed, started again at the same address.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pythonEnvironment } from '../../../scripts/python-environments.mjs';

/** The Python of an environment; the reason where there is none, which is said once. */
export async function pythonOf(name: string): Promise<string | undefined> {
  const made = await pythonEnvironment(name);
  if (typeof made !== 'string') return made.python;
  console.warn(`Tests against "${name}" are skipped: ${made}`);
  return undefined;
}

/** A script of `fixtures` that starts servers as zygote.py says. */
export class PythonServers {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string>;
  private complaint = '';

  constructor(
    python: string,
    private readonly script: string,
  ) {
    const path = fileURLToPath(new URL(`./fixtures/${script}`, import.meta.url));
    const env = { ...process.env, PYTHONNOUSERSITE: '1', NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
    this.child = spawn(python, [path], { env });
    this.child.stderr.on('data', (data) => (this.complaint += data));
    this.lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
  }

  /** Answers the URL. @param words  which of the script's servers, and its settings */
  async start(words: string, port = '0'): Promise<string> {
    const url = (await this.told(`start ${port} ${words}`, 'URL '))!;
    await answering(url);
    return url;
  }

  /** Ends it at once, as a crash does. */
  async kill(url: string): Promise<void> {
    await this.told(`kill ${url}`, 'GONE ');
  }

  /** Another one at the same address, with nothing that the last one knew. */
  async restart(url: string, words: string): Promise<void> {
    await this.kill(url);
    await this.start(words, new URL(url).port);
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.stdin.end();
    await ended;
  }

  private async told(line: string, beginning: string): Promise<string | undefined> {
    this.child.stdin.write(`${line}\n`);
    for (;;) {
      const { value, done } = await this.lines.next();
      if (done === true) throw new Error(`${this.script} ended: ${this.complaint}`);
      if (value.startsWith(beginning)) return value.slice(beginning.length);
    }
  }
}

/** What listens does not yet answer. */
async function answering(url: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await fetch(url, { signal: AbortSignal.timeout(10_000) });
      return;
    } catch (error) {
      if (attempt > 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
