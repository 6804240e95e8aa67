import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { type Answer, ask, serveScenarios } from '../running-server.js';

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

async function send(url: string, body: string | Uint8Array, headers: Record<string, string>): Promise<Buffer> {
  const reply = await fetch(url, { method: 'POST', body, headers });
  expect(reply.status).toBe(200);
  return Buffer.from(await reply.arrayBuffer());
}

/** The frame's parts, read by its layout alone. */
function readFrame(frame: Buffer) {
  expect(frame.toString('latin1', 0, 4)).toBe('RVR1');
  const [n, d, k, j] = [4, 8, 12, 16].map((at) => frame.readUInt32LE(at));
  let at = 20;
  const floats = (count: number) => {
    const values = Array.from({ length: count }, (_, i) => frame.readFloatLE(at + 4 * i));
    at += 4 * count;
    return values;
  };
  const bytes = (count: number) => {
    at += count;
    return Array.from(frame.subarray(at - count, at));
  };
  const arrays = { obs: floats(n * d), reward: floats(n), finalObs: floats(k * d) };
  const flags = { terminated: bytes(n), truncated: bytes(n), finalMask: bytes(n) };
  const json = j === 0 ? undefined : JSON.parse(frame.toString('utf8', at, at + j));
  expect(frame.length).toBe(at + j);
  return { n, d, k, ...arrays, ...flags, json };
}

const actions = (rows: number, value: number) => Buffer.from(new Float32Array(rows).fill(value).buffer);

describe('a vector session', () => {
  it('steps row i as a session of seed + i does', async () => {
    const vector = await opened({ num_envs: 3 });
    const first = (await ask(`${vector}/reset`, { seed: 7 })).body.obs;
    const then = (await ask(`${vector}/step`, { action: [[1], [-1], [0.5]] })).body;
    for (const [row, action] of [1, -1, 0.5].entries()) {
      const { body } = await ask(`${v1}/sessions`, { env: 'pendulum' });
      const start = (await ask(`${v1}/sessions/${body.id}/reset`, { seed: 7 + row })).body;
      expect(start.observation).toEqual(first[row]);
      const step = (await ask(`${v1}/sessions/${body.id}/step`, { action })).body;
      expect(step.observation).toEqual(then.obs[row]);
      expect(Math.fround(step.reward)).toBe(then.reward[row]);
      await ask(`${v1}/sessions/${body.id}`, undefined, 'DELETE');
    }
    expect(then).toMatchObject({ terminated: [false, false, false], final_obs: [null, null, null] });
    expect((await ask(vector)).body).toMatchObject({ num_envs: 3, obs_dim: 3, action_dim: 1, transitions: 3 });
    await ask(vector, undefined, 'DELETE');
  });

  it('says the same in JSON and a frame of rows, over HTTP and a WebSocket', async () => {
    const vector = await opened({ num_envs: 2 });
    const reset = () => ask(`${vector}/reset`, { seed: 1 });
    await reset();
    const json = (await ask(`${vector}/step`, { action: [1, 1] })).body;
    await reset();
    const frame = readFrame(await send(`${vector}/step`, actions(2, 1), { 'content-type': ROWS }));
    expect(frame).toMatchObject({ n: 2, d: 3, k: 0, obs: json.obs.flat(), reward: json.reward, terminated: [0, 0] });
    const accepted = { 'content-type': 'application/json', accept: ROWS };
    const again = readFrame(await send(`${vector}/reset`, '{"seed":1}', accepted));
    expect(again.obs).toEqual((await reset()).body.obs.flat());
    const rows = new WebSocket(`${vector.replace('http', 'ws')}/ws`);
    await once(rows, 'open');
    const reply = async (data: string | Buffer) => {
      rows.send(data);
      return (await once(rows, 'message')) as [Buffer, boolean];
    };
    expect(JSON.parse(String((await reply('{"type":"reset","seed":1}'))[0])).obs.flat()).toEqual(again.obs);
    expect(readFrame((await reply(actions(2, 1)))[0]).obs).toEqual(json.obs.flat());
    const [refused] = await reply('{"type":"dance"}');
    expect(JSON.parse(String(refused)).error.code).toBe('REQUEST_INVALID');
    rows.close();
    await once(rows, 'close');
    const socket = new WebSocket(`${vector.replace('http', 'ws')}/ws`);
    await once(socket, 'open');
    await ask(vector, undefined, 'DELETE');
    socket.send('{"type":"reset"}');
    expect(JSON.parse(String((await once(socket, 'message'))[0])).error.code).toBe('SESSION_UNKNOWN');
    socket.close();
    const late = new WebSocket(`${vector.replace('http', 'ws')}/ws`);
    const [, { statusCode }] = await once(late, 'unexpected-response');
    expect(statusCode).toBe(404);
    late.on('error', () => {});
    late.terminate();
  });
});

describe('the end of an episode', () => {
  const until = async (vector: string, steps: number): Promise<Answer> => {
    let last: Answer | undefined;
    for (let i = 0; i < steps; i++) last = await ask(`${vector}/step`, { action: [0, 0] });
    return last!;
  };

  it('is followed by a step that resets (next_step)', async () => {
    const vector = await opened({ num_envs: 2 });
    await ask(`${vector}/reset`, { seed: 1 });
    const end = (await until(vector, 10)).body;
    expect(end).toMatchObject({ truncated: [true, true], terminated: [false, false], final_obs: [null, null] });
    // The action is ignored, so it may be anything.
    const start = (await ask(`${vector}/step`, { action: [99, 99] })).body;
    expect(start).toMatchObject({ reward: [0, 0], truncated: [false, false] });
    expect(start.obs).not.toEqual(end.obs);
    await ask(vector, undefined, 'DELETE');
  });

  it('begins anew in the same step, its last observation apart (same_step)', async () => {
    const [same, next] = [await opened({ num_envs: 2, autoreset_mode: 'same_step' }), await opened({ num_envs: 2 })];
    for (const vector of [same, next]) await ask(`${vector}/reset`, { seed: 1 });
    await until(same, 9);
    const frame = readFrame(await send(`${same}/step`, actions(2, 0), { 'content-type': ROWS }));
    const end = (await until(next, 10)).body;
    const start = (await ask(`${next}/step`, { action: [0, 0] })).body;
    expect(frame).toMatchObject({ k: 2, truncated: [1, 1], finalMask: [1, 1], json: { final_info: [{}, {}] } });
    expect(frame.finalObs).toEqual(end.obs.flat());
    expect(frame.obs).toEqual(start.obs.flat());
    expect(frame.reward).toEqual(end.reward);
    for (const vector of [same, next]) await ask(vector, undefined, 'DELETE');
  });

  it('waits for a reset of those rows (disabled)', async () => {
    const vector = await opened({ num_envs: 2, autoreset_mode: 'disabled' });
    await ask(`${vector}/reset`, { seed: 1 });
    await until(vector, 5);
    const mixed = (await ask(`${vector}/reset`, { reset_mask: [true, false] })).body.obs;
    const end = (await until(vector, 5)).body;
    expect(end.truncated).toEqual([false, true]);
    const refused = await ask(`${vector}/step`, { action: [0, 0] });
    expect(refused.body.error).toMatchObject({ code: 'ENV_NOT_RESET', message: expect.stringContaining('row 1') });
    const begun = (await ask(`${vector}/reset`, { reset_mask: [false, true], seeds: [null, 5] })).body.obs;
    expect(begun[0]).toEqual(end.obs[0]);
    expect(begun[1]).not.toEqual(mixed[1]);
    expect((await ask(`${vector}/step`, { action: [0, 0] })).status).toBe(200);
    await ask(vector, undefined, 'DELETE');
  });
});

describe('a vector session takes', () => {
  it('a repeated request once', async () => {
    const vector = await opened({ num_envs: 2 });
    await ask(`${vector}/reset`, { seed: 1 });
    const first = (await ask(`${vector}/step`, { action: [1, 1], request_id: 'a' })).body;
    expect((await ask(`${vector}/step`, { action: [1, 1], request_id: 'a' })).body).toEqual(first);
    const frame = await send(`${vector}/step?request_id=a`, actions(2, 1), { 'content-type': ROWS });
    expect(readFrame(frame).obs).toEqual(first.obs.flat());
    expect((await ask(vector)).body.transitions).toBe(2);
    await ask(vector, undefined, 'DELETE');
  });

  it('a slot for each row, and gives them back', async () => {
    const vector = await opened({ num_envs: 40 });
    expect(server.sessions.counts.active).toBe(40);
    expect((await ask(`${v1}/vector`, { num_envs: 1 })).body.error.code).toBe('CAPACITY_REACHED');
    await ask(vector, undefined, 'DELETE');
    expect(server.sessions.counts.active).toBe(0);
    expect((await ask(vector)).body.error.code).toBe('SESSION_UNKNOWN');
  });

  it('no step that is wrong anywhere', async () => {
    const vector = await opened({ num_envs: 2, infos: true });
    expect((await ask(`${vector}/step`, { action: [0, 0] })).body.error.code).toBe('ENV_NOT_RESET');
    const before = (await ask(`${vector}/reset`, { seed: 1 })).body;
    expect(before.infos).toEqual([{}, {}]);
    const outside = (await ask(`${vector}/step`, { action: [0, 99] })).body.error;
    expect(outside).toMatchObject({ code: 'ACTION_OUT_OF_SPACE', message: expect.stringContaining('row 1') });
    for (const action of [[0], [[0, 0]], [[0], [0, 0]]]) {
      expect((await ask(`${vector}/step`, { action })).body.error.code).toBe('REQUEST_INVALID');
    }
    const post = async (type: string, body: Uint8Array) => {
      const reply = await fetch(`${vector}/step`, { method: 'POST', headers: { 'content-type': type }, body });
      return ((await reply.json()) as { error: { code: string } }).error.code;
    };
    expect(await post(ROWS, Buffer.alloc(7))).toBe('REQUEST_INVALID');
    expect((await ask(`${vector}/reset`, { reset_mask: [true] })).body.error.message).toMatch(/reset_mask/);
    expect((await ask(vector)).body.transitions).toBe(0);
    expect((await ask(`${v1}/vector`, { env: 'helpdesk', num_envs: 1 })).body.error.code).toBe('ENV_NOT_VECTOR');
    await ask(vector, undefined, 'DELETE');
  });
});
