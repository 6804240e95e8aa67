// What sessions cost: requests a second of POST /v1/sessions/:id/step on a real pendulum, next to bare fastify which
// checks the same body and answers a payload of the same shape, without an environment. Each server a process of its own;
// both get the same requests from one undici pool. Raw: steps a second over OpenEnv's WebSocket, and of bare `ws`.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, median, ratioInterval } from './measure.js';
import type { ServerWish } from './serve-process.js';
import { closeSockets, openSockets, socketSteps } from './serve-sockets.js';

const SESSIONS = 64;
const ACTION = JSON.stringify({ action: [0.5] });
const HEADERS = { 'content-type': 'application/json' };
/** Steps of pendulum before its clock ends an episode. */
const EPISODE = 200;

interface Server {
  readonly process: ChildProcess;
  readonly pool: Pool;
  readonly url: string;
}

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 3 : 11;
  const ours = await started({ kind: 'ours', scenarios: ['pendulum'] });
  const sessions = await opened(ours);
  const [first] = sessions;
  await reset(ours, first);
  const payload = await json(ours, `/v1/sessions/${first}/step`, ACTION);
  const bare = await started({ kind: 'bare', payload });
  try {
    const rates = await measurePaired({
      rounds,
      ours: () => rate(ours, sessions, quick ? 20 : EPISODE, true),
      baseline: () => rate(bare, sessions, quick ? 20 : EPISODE, false),
      log,
    });
    const sockets = await webSocketRates(ours.url, quick);
    log(`OpenEnv's WebSocket: ${Math.round(median(sockets))} steps/s`);
    const raw = {
      sessions: SESSIONS,
      oursRequestsPerSecond: rates.ours,
      bareRequestsPerSecond: rates.baseline,
      webSocketStepsPerSecond: sockets,
      answerBytes: JSON.stringify(payload).length,
      threads: 'one process a server, environments in worker threads as by default; one process of client',
    };
    return { ...ratioInterval(rates), n: rounds, raw, versions: { fastify: '5.12.8' } };
  } finally {
    for (const { process, pool } of [ours, bare]) {
      await pool.close();
      process.disconnect();
    }
  }
}

async function started(wish: ServerWish): Promise<Server> {
  const child = fork(new URL('./serve-process.js', import.meta.url));
  child.send(wish);
  const [url] = (await once(child, 'message')) as [string];
  return { process: child, url, pool: new Pool(url, { connections: SESSIONS, pipelining: 1 }) };
}

async function opened(server: Server): Promise<string[]> {
  const open = async () => ((await json(server, '/v1/sessions', '{}')) as { id: string }).id;
  return Promise.all(Array.from({ length: SESSIONS }, open));
}

function reset(server: Server, session: string): Promise<unknown> {
  return json(server, `/v1/sessions/${session}/reset`, '{"seed":1}');
}

/** Requests a second while every session lives one episode. Resets are not counted. */
async function rate(server: Server, sessions: readonly string[], steps: number, resets: boolean): Promise<number> {
  if (resets) await Promise.all(sessions.map((session) => reset(server, session)));
  const started = performance.now();
  const episode = async (session: string) => {
    for (let step = 0; step < steps; step++) await json(server, `/v1/sessions/${session}/step`, ACTION);
  };
  await Promise.all(sessions.map(episode));
  return (sessions.length * steps) / ((performance.now() - started) / 1000);
}

async function json({ pool }: Server, path: string, body: string): Promise<unknown> {
  const reply = await pool.request({ method: 'POST', path, body, headers: HEADERS });
  const answer = await reply.body.json();
  if (reply.statusCode >= 400) throw new Error(`${path} answered ${reply.statusCode}: ${JSON.stringify(answer)}`);
  return answer;
}

async function webSocketRates(url: string, quick: boolean): Promise<number[]> {
  const sockets = await openSockets(url, SESSIONS);
  try {
    const rates: number[] = [];
    for (let round = 0; round < (quick ? 1 : 7); round++) rates.push(await socketSteps(sockets, quick ? 20 : EPISODE));
    return rates;
  } finally {
    closeSockets(sockets);
  }
}
