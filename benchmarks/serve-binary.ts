// What a batch of rows is worth: transitions a second of real pendulums over the native API. Ours: vector sessions of 64
// rows, flat frames over HTTP. Baseline: single steps in JSON, from as many sessions at once as one vector session has rows.
// Both ask the same server, a process of its own, from one undici pool, with enough requests under way to keep it busy.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type Dispatcher, Pool } from 'undici';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, ratioInterval } from './measure.js';
import type { ServerWish } from './serve-process.js';

const ROWS = 64;
/** Vector sessions that are stepped at once. */
const BATCHES = 4;
const FRAMES = 'application/vnd.reverie.rows';
const ACTIONS = new Float32Array(ROWS).fill(0.5);

interface Server {
  readonly process: ChildProcess;
  readonly pool: Pool;
  readonly url: string;
}

/** Answers a request, whole. */
type Ask = () => Promise<unknown>;

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 2 : 11;
  const requests = quick ? 100 : 1500;
  const server = await started();
  try {
    const vectors = await Promise.all(Array.from({ length: BATCHES }, () => openVector(server)));
    const sessions = await openSessions(server);
    const singles = sessions.map((id) => jsonStep(server, id));
    const frames = vectors.map((id) => vectorStep(server, id));
    const rates = await measurePaired({
      rounds,
      ours: () => rate(frames, requests, ROWS),
      baseline: () => rate(singles, requests / 10, 1),
      log,
    });
    const raw = {
      rows: ROWS,
      vectorSessions: BATCHES,
      framesTransitionsPerSecond: rates.ours,
      jsonSingleTransitionsPerSecond: rates.baseline,
      threads: 'one process of server, environments in its main thread; one process of client',
    };
    return { ...ratioInterval(rates), n: rounds, raw, versions: { fastify: '5.12.8' } };
  } finally {
    await server.pool.close();
    server.process.disconnect();
  }
}

/** Transitions a second while each of these asks as often, one request after the other. */
async function rate(asks: readonly Ask[], times: number, rows: number): Promise<number> {
  const began = performance.now();
  const repeated = async (ask: Ask) => {
    for (let i = 0; i < times; i++) await ask();
  };
  await Promise.all(asks.map(repeated));
  return (asks.length * times * rows) / ((performance.now() - began) / 1000);
}

async function started(): Promise<Server> {
  const child = fork(new URL('./serve-process.js', import.meta.url));
  child.send({ kind: 'ours', scenarios: ['pendulum'] } satisfies ServerWish);
  const [url] = (await once(child, 'message')) as [string];
  return { process: child, url, pool: new Pool(url, { connections: ROWS, pipelining: 1 }) };
}

async function openVector(server: Server): Promise<string> {
  const { id } = await posted(server, '/v1/vector', { num_envs: ROWS });
  const headers = { 'content-type': 'application/json' };
  const { body } = await server.pool.request({
    path: `/v1/vector/${id}/reset`,
    method: 'POST',
    headers,
    body: '{"seed":1}',
  });
  await body.arrayBuffer();
  return id;
}

async function openSessions(server: Server): Promise<string[]> {
  const { sessions } = await posted(server, '/v1/groups', { count: ROWS, seed: 1 });
  return sessions.map(({ id }: { id: string }) => id);
}

/** Ends and begins episodes as they come, as a learner does: one reset in 200 steps. */
function jsonStep(server: Server, session: string): Ask {
  const path = `/v1/sessions/${session}`;
  return async () => {
    const { truncated } = await posted(server, `${path}/step`, { action: [0.5] });
    if (truncated) await posted(server, `${path}/reset`, {});
  };
}

function vectorStep(server: Server, id: string): Ask {
  const [path, body] = [`/v1/vector/${id}/step`, Buffer.from(ACTIONS.buffer)];
  const request: Dispatcher.RequestOptions = { path, method: 'POST', headers: { 'content-type': FRAMES }, body };
  return async () => {
    const { statusCode, body: answer } = await server.pool.request(request);
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}: ${await answer.text()}`);
    return answer.arrayBuffer();
  };
}

// biome-ignore lint/suspicious/noExplicitAny: what the server answers
async function posted({ pool }: Server, path: string, body: object): Promise<any> {
  const headers = { 'content-type': 'application/json' };
  const { statusCode, body: answer } = await pool.request({
    path,
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  if (statusCode >= 300) throw new Error(`HTTP ${statusCode}: ${JSON.stringify(json)}`);
  return json;
}
