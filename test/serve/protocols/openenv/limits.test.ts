// Time and slots, with an environment that takes as long as a test wants.

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import type { SessionLimits } from '../../../../src/serve/core/limits.js';
import { Sessions } from '../../../../src/serve/core/sessions.js';
import { makeApp } from '../../../../src/serve/http/app.js';
import type { HttpLimits } from '../../../../src/serve/http/requests.js';
import { openEnvRoutes } from '../../../../src/serve/protocols/openenv.js';
import { barrier, type Hindrance, servedCounter } from '../../core/doubles.js';
import { FramesClient } from './frames-client.js';

const servers: { readonly app: FastifyInstance; readonly sessions: Sessions }[] = [];

afterEach(async () => {
  for (const { app, sessions } of servers.splice(0)) {
    await sessions.drain(0);
    await app.close();
  }
});

async function serving(hinder?: Hindrance, limits: Partial<SessionLimits> = {}, http: Partial<HttpLimits> = {}) {
  const sessions = new Sessions([servedCounter({ hinder })], { limits: { stepSeconds: 0.2, ...limits } });
  const app = await makeApp({ sessions, protocols: [openEnvRoutes], version: '1', limits: http });
  servers.push({ app, sessions });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, sessions };
}

const reset = { type: 'reset', data: { seed: 1 } };
const step = (message: string) => ({ type: 'step', data: { message } });

it('a step that takes too long is answered in time, counts for nothing, and no late reply follows', async () => {
  const { wait, open } = barrier();
  // It does not stop when it is told to.
  const { url } = await serving((what, action) => (what === 'step' && action === 'add 1' ? wait() : undefined));
  const client = await FramesClient.connect(url);
  await client.ask(reset);
  const late = await client.ask(step('add 1'));
  expect(late).toMatchObject({ type: 'error', data: { code: 'EXECUTION_ERROR', reason: 'STEP_DEADLINE' } });
  expect(late.data.message).toMatch(/^Step deadline exceeded after [\d.]+ s; state unchanged\./);
  open();
  const { data } = await client.ask(step('add 7'));
  expect(data.reward).toBe(7);
  expect((await client.ask({ type: 'state' })).data).toMatchObject({ step_count: 1, return: 7 });
  expect(client.unread).toBe(0);
  await client.leave();
});

it('a server that is full says so after the wait, in the words of the reference, and the connection goes on', async () => {
  const { url } = await serving(undefined, { slots: 1, slotWaitSeconds: 0 });
  const [first, second] = [await FramesClient.connect(url), await FramesClient.connect(url)];
  await first.ask(reset);
  expect((await second.ask(reset)).data).toEqual({
    message: 'Server at capacity: 1/1 sessions active. Cannot accept new connections.',
    code: 'CAPACITY_REACHED',
    active_sessions: 1,
    max_sessions: 1,
  });
  expect((await second.ask({ type: 'state' })).data.step_count).toBe(0);
  await first.leave();
  await expect.poll(async () => (await second.ask(reset)).type).toBe('observation');
  await second.leave();
});

it('frames are held to the limits that the server was given', async () => {
  const { url } = await serving(undefined, {}, { jsonDepth: 2 });
  const client = await FramesClient.connect(url);
  const { data } = await client.ask({ type: 'reset', data: { seed: 1, task: { id: 'x' } } });
  expect(data).toMatchObject({ code: 'INVALID_JSON', message: expect.stringContaining('2 levels') });
  expect((await client.ask(reset)).type).toBe('observation');
  await client.leave();
});

it('a session that was closed says so to the next message, and only then closes the connection', async () => {
  const { url, sessions } = await serving();
  const client = await FramesClient.connect(url);
  await client.ask(reset);
  await sessions.close(sessions.list()[0].id, sessions.list()[0].owner);
  expect((await client.ask(step('add 1'))).data).toMatchObject({ code: 'SESSION_ERROR', reason: 'SESSION_GONE' });
  expect(await client.closed).toBe(1000);
});
