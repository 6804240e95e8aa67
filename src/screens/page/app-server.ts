// The server of an application: started for one page of it, on a free port of this machine, with data of its own, and gone with the page.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiledUrl } from '../../core/threads.js';
import type { AppSpec } from './page-browser.js';

const KEEPER = fileURLToPath(compiledUrl(import.meta.url, './app-keeper.js'));

/** For an application to answer, on a machine that is busy. */
const START_MS = 60_000;
const POLL_MS = 50;
/** Characters of what it wrote that an error tells. */
const MOST_TOLD = 400;

export class AppServer {
  private told = '';

  private constructor(
    /** Without a slash at the end. */
    readonly url: string,
    /** Where its data lies; gone with it. */
    readonly folder: string,
    private readonly keeper: ChildProcess,
  ) {
    for (const stream of [keeper.stdout!, keeper.stderr!])
      stream.on('data', (part) => {
        this.told = `${this.told}${part}`.slice(-MOST_TOLD);
      });
  }

  /** @throws Error with what it wrote, where it ends or does not answer in time */
  static async start({ name, command, files, path }: AppSpec): Promise<AppServer> {
    const folder = await mkdtemp(join(tmpdir(), 'reverie-app-'));
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    const port = await freePort();
    const words = command.map((word) => word.replaceAll('{port}', String(port)).replaceAll('{data}', folder));
    const keeper = spawn(process.execPath, [KEEPER, folder, ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
    const server = new AppServer(`http://127.0.0.1:${port}`, folder, keeper);
    const until = performance.now() + START_MS;
    while (!(await isAnswering(`${server.url}${path}`))) {
      if (!server.hasEnded && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        continue;
      }
      const why = server.hasEnded ? 'ended as it started' : `did not answer within ${START_MS / 1000} s`;
      await server.stop();
      throw new Error(`${name} ${why}: ${server.told.trim() || 'it wrote nothing'}`);
    }
    return server;
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const gone = new Promise((resolve) => this.keeper.once('exit', resolve));
    this.keeper.stdin!.end();
    await gone;
  }

  private get hasEnded(): boolean {
    return this.keeper.exitCode !== null || this.keeper.signalCode !== null;
  }
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url, { redirect: 'manual' });
    await reply.body?.cancel();
    return reply.status < 500;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}
