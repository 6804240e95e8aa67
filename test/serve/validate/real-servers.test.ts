// Scenarios whose real environment somebody else serves, served by us in turn and validated: each check goes through two servers, and
// ends, whatever protocol stands between them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, type ValidationReport, validateUrl } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';

const LIGHT = { steps: 4, tasks: 1 };
const named = ({ checks }: ValidationReport, status: string) =>
  checks.filter((check) => check.status === status).map(({ name, detail }) => `${name}: ${detail}`);

let folder: string;
let far: RunningServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-far-'));
  far = await serveScenarios(['helpdesk'], { real: true });
});
afterAll(async () => {
  await far.stop(0);
  rmSync(folder, { recursive: true, force: true });
});

/** A way to that server that can go silent: connections stay, and no byte passes any more. */
async function wayThatFails() {
  const sockets: Socket[] = [];
  let isSilent = false;
  const way = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    if (isSilent) return;
    const onward = connect(Number(new URL(far.url).port), '127.0.0.1');
    sockets.push(onward.on('error', () => {}));
    socket.on('data', (bytes) => isSilent || onward.write(bytes)).on('close', () => onward.destroy());
    onward.on('data', (bytes) => isSilent || socket.write(bytes)).on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(way.address() as AddressInfo).port}`,
    fall: () => {
      isSilent = true;
    },
    stop: () => {
      way.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Serves a scenario on that server, and validates it. */
async function validated(name: string, domain: object, before = () => {}): Promise<ValidationReport> {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, JSON.stringify({ family: 'tools', name, domain, agent: { kind: 'random', steps: 4 } }));
  const near = await serveScenarios([path], { real: true });
  before();
  try {
    return await validateUrl(`${near.url}/envs/${name}`, LIGHT);
  } finally {
    await near.stop(0);
  }
}

// One that falls silent mostly waits: beside the others.
describe.concurrent('a scenario on a server of', () => {
  it.each([
    ['openenv', () => ({ openenv: `${far.url}/envs/helpdesk`, taskLimit: 2 })],
    ['ors', () => ({ ors: far.url, environment: 'helpdesk', taskLimit: 2 })],
    ['mcp', () => ({ mcp: `${far.url}/mcp/helpdesk?split=train&index=0&seed=1` })],
  ])(
    '%s is as sound as that server',
    async (name, domain) => {
      const report = await validated(`far-${name}`, domain());
      expect(named(report, 'failed')).toEqual([]);
      const passed = report.checks.filter(({ status }) => status === 'passed').map(({ name: check }) => check);
      expect(passed).toEqual(expect.arrayContaining(['determinism', 'concurrency']));
    },
    60_000,
  );

  it('openenv that falls silent is told of, check by check', async () => {
    const way = await wayThatFails();
    try {
      const limits = { taskLimit: 1, timeoutSeconds: 1, patienceSeconds: 0 };
      const report = await validated('far-silent', { openenv: `${way.url}/envs/helpdesk`, ...limits }, way.fall);
      const failed = named(report, 'failed');
      expect(failed.join('\n')).toMatch(/determinism: .*(did not answer|no answer|within)/);
    } finally {
      way.stop();
    }
  }, 180_000);
});
