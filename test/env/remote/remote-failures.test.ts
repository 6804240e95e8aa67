// What goes wrong between an environment and its server: nothing happens twice, and each failure says where and what to do.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReverieError } from '../../../src/core/errors.js';
import { type RemoteVectorEnvironment, remoteEnvironment } from '../../../src/env/remote/remote-environment.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { ask, serveScenarios } from '../../serve/running-server.js';
import { flakyProxy, toyServer } from './flaky-proxy.js';

let server: RunningServer;
let card: Record<string, unknown>;

beforeAll(async () => {
  server = await serveScenarios(['pendulum']);
  [card] = (await ask(`${server.url}/v1/environments`)).body.environments;
});
afterAll(() => server.stop(0));

const PUSH = Float32Array.of(0.5);

async function opened(url: string, timeoutSeconds?: number): Promise<RemoteVectorEnvironment> {
  return (await remoteEnvironment(url, { timeoutSeconds })) as RemoteVectorEnvironment;
}

async function episode(env: RemoteVectorEnvironment): Promise<unknown[]> {
  const seen: unknown[] = [[...(await env.reset({ seed: 4 })).observation]];
  for (let i = 0; i < 6; i++) {
    const { observation, reward } = await env.step(PUSH);
    seen.push([...observation, reward]);
  }
  const snapshot = await env.snapshot();
  seen.push([...(await env.restore(snapshot))]);
  return seen;
}

async function failure(work: Promise<unknown>): Promise<ReverieError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ReverieError);
  return error as ReverieError;
}

describe('an answer that is lost', () => {
  it('is asked for again, and nothing happens twice', async () => {
    const proxy = await flakyProxy(server.url, (path, n) => n % 2 === 1 && path !== '/v1/environments');
    const flaky = await opened(proxy.url);
    const steady = await opened(server.url);
    expect(await episode(flaky)).toEqual(await episode(steady));
    expect(proxy.lost()).toBeGreaterThan(5);
    const sessions = (await ask(`${server.url}/v1/sessions`)).body.sessions as { step_count: number; status: string }[];
    expect(sessions.filter(({ status }) => status === 'running').map((one) => one.step_count)).toEqual([6, 6]);
    await flaky.close();
    await steady.close();
    await proxy.close();
  });
});

describe('a server', () => {
  it('that is not there is named', async () => {
    const toy = await toyServer(() => {});
    await toy.close();
    const error = await failure(opened(toy.url));
    expect([error.code, error.message.includes(toy.url)]).toEqual(['SERVER_UNREACHABLE', true]);
    expect(error.hint).toContain('reverie serve');
  });

  it('that is silent is given up', async () => {
    const silent = await toyServer((request, response) => {
      if (request.url === '/v1/environments') response.end(JSON.stringify({ environments: [card] }));
      else if (request.url === '/v1/sessions') response.end(JSON.stringify({ id: 'one' }));
    });
    const env = await opened(silent.url, 0.2);
    const error = await failure(env.reset({ seed: 1 }));
    expect(error.code).toBe('REMOTE_TIMEOUT');
    expect(error.message).toBe(`The server at ${silent.url} did not answer within 0.2 s: POST /v1/sessions/one/reset.`);
    await env.close();
    await silent.close();
  });

  it.each([
    ['no JSON', 200, '<html>', 'SERVER_FAULT'],
    ['no environment', 200, '{"environments":[]}', 'SERVER_FAULT'],
    ['a redirect', 302, '', 'SERVER_FAULT'],
    [
      'an error of ours',
      503,
      '{"error":{"code":"SERVER_DRAINING","message":"It ends.","hint":"Ask another one."}}',
      'REMOTE_REFUSED',
    ],
  ])('that answers %s is told so', async (_, status, body, code) => {
    const toy = await toyServer((_request, response) => response.writeHead(status, { location: '/' }).end(body));
    const error = await failure(opened(toy.url));
    expect([error.code, error.message.includes(toy.url)]).toEqual([code, true]);
    if (code === 'REMOTE_REFUSED') expect(error.hint).toBe('Ask another one.');
    await toy.close();
  });

  it.each([
    ['an observation of text', { observation: 'here' }],
    ['no reward, and no verdict', { reward: null }],
  ])('that answers a step with %s is told so, and the episode is lost', async (_, wrong) => {
    const turn = { observation: [1, 0, 0], reward: 1, terminated: false, truncated: false, info: {} };
    const toy = await toyServer((request, response) => {
      const { url = '' } = request;
      const body =
        url === '/v1/environments' ? { environments: [card] } : url === '/v1/sessions' ? { id: 'one' } : turn;
      response.end(JSON.stringify(url.endsWith('/step') ? { ...turn, ...wrong } : body));
    });
    const env = await opened(toy.url);
    await env.reset({ seed: 1 });
    expect((await failure(env.step(PUSH))).code).toBe('SERVER_FAULT');
    expect((await failure(env.step(PUSH))).code).toBe('ENV_NOT_RESET');
    await env.close();
    await toy.close();
  });
});

describe('a refusal', () => {
  it('says what the server said, and changes nothing', async () => {
    const env = await opened(server.url);
    await env.reset({ seed: 1 });
    const snapshot = await env.snapshot();
    const unknown = { ...snapshot, state: { snapshot: 'none', memory: null } };
    const error = await failure(env.restore(unknown));
    expect(error.code).toBe('REMOTE_REFUSED');
    expect(error.message).toContain('SNAPSHOT_UNKNOWN');
    expect((await env.step(PUSH)).truncated).toBe(false);
    const damaged = await failure(env.restore({ ...snapshot, state: 7 }));
    expect(damaged.code).toBe('SNAPSHOT_MISMATCH');
    await env.close();
  });

  it('here comes before one there: addresses', async () => {
    for (const url of ['localhost:8000', 'ftp://host']) {
      expect((await failure(opened(url))).code).toBe('REMOTE_URL_INVALID');
    }
  });
});
