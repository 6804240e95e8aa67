// A broker for tests: the system's own redis-server, on a free port of the loopback, in a temporary folder.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface Broker {
  /** Of a queue of that name. */
  url(name: string): string;
  /** Where it keeps its files. */
  readonly folder: string;
  kill(): Promise<void>;
  /** Started again with what it had on disk. */
  revive(): Promise<void>;
  stop(): Promise<void>;
}

export type BrokerKind = 'redis';

/** Debian puts servers where a user's PATH does not look. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

function programOf(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Why it cannot be started, or undefined if it can. */
export function missingBroker(kind: BrokerKind): string | undefined {
  return programOf(`${kind}-server`) === undefined ? `${kind}-server is not installed` : undefined;
}

export async function startBroker(kind: BrokerKind): Promise<Broker> {
  const folder = mkdtempSync(join(tmpdir(), `reverie-${kind}-`));
  const port = await freePort();
  const args = redisArguments(port, folder);
  const start = async () => {
    const child = spawn(programOf(`${kind}-server`)!, args, { stdio: 'ignore' });
    await answering(port, child);
    return child;
  };
  let child = await start();
  return {
    folder,
    url: (name) => `${kind}://127.0.0.1:${port}/${name}`,
    kill: () => ended(child),
    revive: async () => {
      child = await start();
    },
    stop: async () => {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function redisArguments(port: number, folder: string): string[] {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  return ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...durable];
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

async function answering(port: number, child: ChildProcess): Promise<void> {
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`the broker ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.on('connect', () => answer(true));
    socket.on('error', () => answer(false));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}
