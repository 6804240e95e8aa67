// Secrets that clients and operators hand over: in no log, no answer, no metric and no file, whatever goes wrong.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { sha256 } from '../../../src/core/canonical-json.js';
import { makeLog, type RunningServer } from '../../../src/serve/index.js';
import { recordingStream } from '../../run/streams.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { serveScenarios } from '../running-server.js';
import { postJson, send } from './raw-client.js';

const TOKEN = 'token-that-nobody-may-see';
const SECRETS = [
  TOKEN,
  'sk-of-a-client',
  'cookie-of-a-client',
  'password-in-a-form',
  'query-of-a-client',
  sha256(TOKEN),
];

const folder = temporaryFolder('secrets');
const log = recordingStream();
const answers: string[] = [];
let server: RunningServer;

beforeAll(async () => {
  server = await serveScenarios(['pendulum', 'helpdesk'], {
    folder,
    tokens: [{ owner: 'boss', operator: true, quota: {}, sha256: sha256(TOKEN) }],
    logger: makeLog({ to: log, level: 'debug' }),
  });
});
afterAll(() => server.stop(0));

function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const headers = {
  authorization: `Bearer ${TOKEN}`,
  'x-secrets': '{"api_key":"sk-of-a-client"}',
  'x-openai-api-key': 'sk-of-a-client',
  cookie: 'reverie=cookie-of-a-client',
};

describe('a secret', () => {
  it('goes through everything a client does', async () => {
    for (const { method, path } of server.routes.filter((route) => !route.path.endsWith('events'))) {
      const url = `${server.url}${path.replace(/:env\w*/g, 'helpdesk').replace(/:\w+|\*/g, 'x')}?key=query-of-a-client`;
      const body = method === 'POST' ? '{"env": 1, "secrets": {"api_key": "sk-of-a-client"}, "seed": "x"}' : undefined;
      const json = { ...headers, 'content-type': 'application/json' };
      answers.push((await send(url, { method, headers: json, body })).text);
      answers.push((await send(url, { method, headers: { ...json, authorization: `Bearer ${TOKEN}x` } })).text);
    }
    const { body } = await postJson(`${server.url}/v1/sessions`, { env: 'helpdesk' }, headers);
    for (const verb of ['reset', 'step']) {
      const turn = await postJson(
        `${server.url}/v1/sessions/${body.id}/${verb}`,
        verb === 'reset' ? {} : { action: {} },
        headers,
      );
      answers.push(turn.text);
    }
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`, { headers });
    await new Promise((resolve) => socket.on('open', resolve));
    socket.send('{"type":"reset"}');
    answers.push(await new Promise((resolve) => socket.on('message', (data) => resolve(String(data)))));
    socket.close();
    answers.push((await send(`${server.url}/metrics`, { headers })).text);
  });

  it('is in no answer, no log, no metric and no file', () => {
    const written = [log.text(), ...answers, ...filesBelow(folder).map((file) => readFileSync(file, 'latin1'))].join(
      '\n',
    );
    expect(answers.length).toBeGreaterThan(60);
    expect(log.text().split('\n').length).toBeGreaterThan(60);
    expect(written).toContain('reverie_build_info');
    for (const secret of SECRETS) expect(written.includes(secret), secret).toBe(false);
  });

  it('is taken out where something is logged whole', () => {
    const stream = recordingStream();
    const logger = makeLog({ to: stream, level: 'info' });
    logger.info({ headers, token: TOKEN, request: { headers }, llm: { apiKey: 'sk-of-a-client' } }, 'whole');
    logger.error({ err: Object.assign(new Error('failed'), { headers, values: { token: TOKEN } }) }, 'failed');
    for (const secret of SECRETS.slice(0, 3)) {
      expect(stream.text().replace(/"x-openai-api-key":"[^"]*"/g, ''), secret).not.toContain(secret);
    }
    expect(stream.text()).toContain('[secret]');
  });
});
