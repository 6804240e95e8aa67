import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../../src/env/environments.js';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import type { Servable } from '../../../src/run/servable.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { ask, serveScenarios } from '../running-server.js';

const ROWS = 'application/vnd.reverie.rows';

let server: RunningServer;
let v1: string;

beforeAll(async () => {
  const short = await loadAnyScenario('pendulum', { set: ['env.maxEpisodeSteps=10'] });
  server = await serveScenarios([], {
    scenarios: [short, await loadAnyScenario('helpdesk')],
    limits: { slots: 40, slotWaitSeconds: 0 },
  });
  v1 = `${server.url}/v1`;
});
afterAll(() => server.stop(0));

async function opened(options: object): Promise<string> {
  const { status, body } = await ask(`${v1}/vector`, { env: 'pendulum', ...options });
  expect(status).toBe(201);
  return `${v1}/vector/${body.id}`;
}

const close = (vector: string) => ask(vector, undefined, 'DELETE');

async function post(url: string, type: string, body: string | Uint8Array): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': type } });
}

/** The frame's parts, read by its layout alone; or the code of what was refused. */
async function rowsIn(asked: Promise<Response>) {
  const reply = await asked;
  if (reply.status !== 200) throw ((await reply.json()) as { error: Error }).error;
  expect(reply.headers.get('content-type')).toBe(ROWS);
  const frame = Buffer.from(await reply.arrayBuffer());
  expect(frame.toString('latin1', 0, 4)).toBe('RVR2');
  const [n, d, k] = [4, 8, 12].map((at) => frame.readUInt32LE(at));
  let at = 16;
  const floats = (count: number, size: number) => {
    const rows = Array.from({ length: count }, (_, row) =>
      Array.from({ length: size }, (_, i) => frame.readFloatLE(at + 4 * (row * size + i))),
    );
    at += 4 * count * size;
    return rows;
  };
  const flags = () => {
    at += n;
    return Array.from(frame.subarray(at - n, at));
  };
  const rows = { obs: floats(n, d), reward: floats(n, 1).flat(), finalObs: floats(k, d) };
  const ends = { terminated: flags(), truncated: flags() };
  expect(frame.length).toBe(at);
  return { ...rows, ...ends };
}

const reset = (vector: string, body: object) =>
  rowsIn(post(`${vector}/reset`, 'application/json', JSON.stringify(body)));
const step = (vector: string, actions: readonly number[], requestId?: string) => {
  const query = requestId === undefined ? '' : `?request_id=${requestId}`;
  return rowsIn(post(`${vector}/step${query}`, ROWS, Buffer.from(Float32Array.from(actions).buffer)));
};
const refused = (code: string, message = '') => ({ code, message: expect.stringContaining(message) });

describe('a vector session', () => {
  it('steps row i as a session of seed + i does', async () => {
    const vector = await opened({ num_envs: 3 });
    const first = await reset(vector, { seed: 7 });
    const then = await step(vector, [1, -1, 0.5]);
    for (const [row, action] of [1, -1, 0.5].entries()) {
      const { body } = await ask(`${v1}/sessions`, { env: 'pendulum' });
      const start = (await ask(`${v1}/sessions/${body.id}/reset`, { seed: 7 + row })).body;
      expect(start.observation).toEqual(first.obs[row]);
      const one = (await ask(`${v1}/sessions/${body.id}/step`, { action })).body;
      expect(one.observation).toEqual(then.obs[row]);
      expect(Math.fround(one.reward)).toBe(then.reward[row]);
      await close(`${v1}/sessions/${body.id}`);
    }
    expect(then).toMatchObject({ terminated: [0, 0, 0], finalObs: [] });
    expect((await ask(vector)).body).toMatchObject({ num_envs: 3, obs_dim: 3, action_dim: 1, transitions: 3 });
    const again = await reset(vector, { seeds: [7, null, 9] });
    expect([again.obs[0], again.obs[2]]).toEqual([first.obs[0], first.obs[2]]);
    expect(again.obs[1]).not.toEqual(first.obs[1]);
    await close(vector);
  });

  it('begins an ended row anew in the next step or in the same', async () => {
    const [next, same] = [await opened({ num_envs: 2 }), await opened({ num_envs: 2, autoreset_mode: 'same_step' })];
    for (const vector of [next, same]) await reset(vector, { seed: 1 });
    for (let i = 0; i < 9; i++) for (const vector of [next, same]) await step(vector, [0, 0]);
    const [end, both] = [await step(next, [0, 0]), await step(same, [0, 0])];
    expect(end).toMatchObject({ truncated: [1, 1], terminated: [0, 0], finalObs: [] });
    // The action is ignored, so it may be anything.
    const start = await step(next, [99, 99]);
    expect(start).toMatchObject({ reward: [0, 0], truncated: [0, 0] });
    expect(both).toMatchObject({ truncated: [1, 1], reward: end.reward, finalObs: end.obs, obs: start.obs });
    await Promise.all([close(next), close(same)]);
  });

  it('takes a slot for each row, and gives them back', async () => {
    const vector = await opened({ num_envs: 40 });
    expect(server.sessions.counts.active).toBe(40);
    expect((await ask(`${v1}/vector`, { num_envs: 1 })).body.error.code).toBe('CAPACITY_REACHED');
    await close(vector);
    expect(server.sessions.counts.active).toBe(0);
    expect((await ask(vector)).body.error.code).toBe('SESSION_UNKNOWN');
  });

  it('answers a repeated request as before, and refuses another under its id', async () => {
    const vector = await opened({ num_envs: 2 });
    await reset(vector, { seed: 1 });
    const first = await step(vector, [0.5, 0], 'a');
    expect(await step(vector, [0.5, 0], 'a')).toEqual(first);
    expect((await ask(vector)).body.transitions).toBe(2);
    await expect(step(vector, [0, 0], 'a')).rejects.toMatchObject(refused('REQUEST_CONFLICT'));
    await expect(reset(vector, { request_id: 'a' })).rejects.toMatchObject(refused('REQUEST_CONFLICT'));
    await close(vector);
  });

  it('gives its slots back even where an environment fails as it is closed', async () => {
    const failing: Servable = {
      ...server.sessions.environments.get('pendulum')!,
      ...{ name: 'failing', blueprint: undefined, close: async () => {} },
      make: async () => {
        const close = () => Promise.reject(new Error('no'));
        return Object.assign(await makeEnvironment({ id: 'pendulum' }), { close });
      },
    };
    const own = await serveScenarios([], { environments: [failing] });
    const { body } = await ask(`${own.url}/v1/vector`, { env: 'failing', num_envs: 2 });
    expect(own.sessions.counts.active).toBe(2);
    expect((await close(`${own.url}/v1/vector/${body.id}`)).status).toBe(500);
    expect(own.sessions.counts.active).toBe(0);
    await own.stop(0);
  });

  it('takes no step that is wrong anywhere', async () => {
    const vector = await opened({ num_envs: 2 });
    await expect(step(vector, [0, 0])).rejects.toMatchObject(refused('ENV_NOT_RESET'));
    await reset(vector, { seed: 1 });
    await expect(step(vector, [0, 99])).rejects.toMatchObject(refused('ACTION_OUT_OF_SPACE', 'row 1'));
    await expect(step(vector, [0])).rejects.toMatchObject(refused('REQUEST_INVALID', '4 bytes'));
    const asJson = rowsIn(post(`${vector}/step`, 'application/json', '{"action":[0,0]}'));
    await expect(asJson).rejects.toMatchObject(refused('REQUEST_INVALID'));
    await expect(reset(vector, { seeds: [1] })).rejects.toMatchObject(refused('REQUEST_INVALID', 'seeds'));
    expect((await ask(vector)).body.transitions).toBe(0);
    expect((await ask(`${v1}/vector`, { env: 'helpdesk', num_envs: 1 })).body.error.code).toBe('ENV_NOT_VECTOR');
    await close(vector);
  });
});
