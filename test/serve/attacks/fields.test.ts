// Requests that name files and addresses: no field of any route is taken for one, so nothing is read and nothing fetched.

import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { RunningServer } from '../../../src/serve/index.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { serveScenarios } from '../running-server.js';
import { postJson, type RawAnswer, send } from './raw-client.js';

const CANARY = 'canary-that-no-answer-may-hold';
const folder = temporaryFolder('fields');
const runs = join(folder, 'runs');
const canary = join(folder, 'canary.yaml');

let server: RunningServer;
let listener: Server;
let fetched: string[];
let addresses: string[];
let paths: string[];

beforeAll(async () => {
  mkdirSync(join(runs, 'one'), { recursive: true });
  writeFileSync(canary, `name: ${CANARY}\n`);
  symlinkSync(canary, join(runs, 'one', 'run.json'));
  linkSync(canary, join(runs, 'one', 'linked.yaml'));
  fetched = [];
  listener = createServer((request, reply) => {
    fetched.push(request.url!);
    reply.writeHead(302, { location: '/redirected' }).end(CANARY);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  // Ways to write 127.0.0.1 that resolvers and URL parsers take, and a URL that an SDK could be given.
  const hosts = ['127.0.0.1', 'localhost', '0x7f000001', '[::ffff:7f00:1]'];
  addresses = [
    ...hosts.map((host) => `http://${host}:${port}/v1`),
    `http://169.254.169.254@127.0.0.1:${port}/`,
    `//127.0.0.1:${port}/`,
  ];
  paths = [
    canary,
    `file://${canary}`,
    '../canary.yaml',
    '..%2fcanary.yaml',
    '%2e%2e/canary.yaml',
    '..\\canary.yaml',
    'one/run.json',
    'one/linked.yaml',
    `one/../../canary.yaml`,
  ];
  server = await serveScenarios(['pendulum', 'helpdesk'], { runs });
});
afterAll(async () => {
  await server.stop(0);
  await new Promise((resolve) => listener.close(resolve));
});

/** Names under which protocols and SDKs carry models, files and callbacks. */
const NAMES = `
  model url base_url api_base endpoint host path file folder scenario checkpoint data data_path image callback redirect
  domain env task snapshot id sid name llm secrets task_spec config split uri resource episode_id
`
  .trim()
  .split(/\s+/);

const unharmed = ({ status, text }: RawAnswer) => status !== 500 && !text.includes(CANARY);

function urlOf(path: string, value: string): string {
  return `${server.url}${path.replace(/:env\w*/g, 'helpdesk').replace(/:\w+|\*/g, encodeURIComponent(value))}`;
}

describe('an address or a path', () => {
  it('in any field of any route is refused or not looked at', async () => {
    const posts = server.routes.filter(({ method }) => method === 'POST');
    expect(posts.length).toBeGreaterThan(15);
    for (const { path } of posts) {
      for (const value of [addresses[0], canary]) {
        const body = Object.fromEntries(NAMES.map((name) => [name, value]));
        expect(await postJson(urlOf(path, 'x'), body), path).toSatisfy(unharmed);
        for (const wrapped of [{ action: body }, { ...body, input: body, data: body, type: 'reset' }]) {
          expect(await postJson(urlOf(path, 'x'), wrapped), path).toSatisfy(unharmed);
        }
      }
    }
  });

  it('in a path or a query is no more', async () => {
    for (const { path } of server.routes.filter(({ method, path: at }) => method === 'GET' && !at.endsWith('events'))) {
      for (const value of [paths[0], paths[3], addresses[0]]) {
        const query = new URLSearchParams(Object.fromEntries(NAMES.map((name) => [name, value]))).toString();
        expect(await send(`${urlOf(path, value)}?${query}`), `${path} ${value}`).toSatisfy(unharmed);
      }
    }
  });

  it('leads out of no folder of files', async () => {
    const out = ['../', '..%2f', '%2e%2e%2f', '..%5c', '%252e%252e%252f'];
    for (const up of out) {
      for (const root of ['/web/', '/web/api/', '/']) {
        const { status, text } = await send(`${server.url}${root}${up.repeat(8)}etc/passwd`);
        expect([status >= 400, text.includes('root:')]).toEqual([true, false]);
      }
    }
    for (const path of paths) {
      const given = encodeURIComponent(path);
      for (const route of ['run', 'report', 'episode', 'curves']) {
        const answer = await send(`${server.url}/web/api/${route}?path=${given}&run=${given}&at=0`);
        expect(answer, `${route} ${path}`).toSatisfy(unharmed);
      }
    }
  });

  it('in a frame is no more', async () => {
    const frames = addresses.flatMap((value) => [
      { type: 'reset', data: Object.fromEntries(NAMES.map((name) => [name, value])) },
      { type: 'reset', data: { task: value } },
      { type: 'step', data: { type: 'call_tool', tool_name: value, arguments: { url: value } } },
      { type: 'mcp', data: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: value } } },
      {
        type: 'mcp',
        data: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: value, arguments: { uri: value } } },
      },
    ]);
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`);
    await new Promise((resolve) => socket.on('open', resolve));
    for (const frame of frames) {
      const answer = new Promise<string>((resolve) => socket.once('message', (data) => resolve(String(data))));
      socket.send(JSON.stringify(frame));
      expect(await answer).not.toContain(CANARY);
    }
    socket.close();
  });

  it('was never asked', () => {
    expect(fetched).toEqual([]);
  });

  it('would have been seen', async () => {
    await fetch(addresses[0], { redirect: 'manual' });
    expect(fetched).toEqual(['/v1']);
  });
});
