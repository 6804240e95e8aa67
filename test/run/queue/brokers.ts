// A broker for tests: the system's own redis-server, on a free port of the loopback, in a temporary folder.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { freePort } from '../../free-port.js';
import { temporaryFolder } from '../../temporary-folder.js';

export interface Broker {
  /** Of a queue of that name. */
  url(name: string): string;
  stop(): Promise<void>;
}

/** Debian puts servers where a user's PATH does not look. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

const PROGRAM = FOLDERS.map((folder) => join(folder, 'redis-server')).find((path) => existsSync(path));

/** Why it cannot be started, or undefined if it can. */
export const missingBroker = PROGRAM === undefined ? 'redis-server is not installed' : undefined;

export async function startBroker(): Promise<Broker> {
  const folder = temporaryFolder('redis');
  const port = await freePort();
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...durable];
  const child = spawn(PROGRAM!, args, { stdio: 'ignore' });
  await answering(port, child);
  return {
    url: (name) => `redis://127.0.0.1:${port}/${name}`,
    stop: () => ended(child),
  };
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
