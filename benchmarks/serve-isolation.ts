// What a rule that loops costs others: the time of a pendulum session's steps over HTTP while a session of a world of tools on
// the same server runs into a rule that never ends, again and again, next to the same steps while nobody else asks anything.
// One server with its defaults, in a process of its own; rounds of the two take turns.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { Pool } from 'undici';
import { spinningWorld } from '../test/serve/hosts/spinning-world.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, measurePaired, median } from './measure.js';
import type { ServerWish } from './serve-process.js';

const HEADERS = { 'content-type': 'application/json' };
const ACTION = JSON.stringify({ action: [0.5] });
const SPIN = JSON.stringify({ action: { tool_calls: [{ name: 'spin', arguments: {} }] } });
/** Steps of pendulum before its clock ends an episode. */
const EPISODE = 200;

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const [rounds, episodes] = quick ? [2, 1] : [11, 10];
  const loadBefore = loadavg()[0];
  const server = await started();
  try {
    const [pendulum, spinning] = [await server.opened('pendulum'), await server.opened('spinning')];
    await server.post(`${spinning}/reset`, '{}');
    const spins: number[] = [];
    const quiet: Percentiles[] = [];
    const beside: Percentiles[] = [];
    const steps = () => percentilesOf(server, pendulum, episodes);
    await measurePaired({
      rounds,
      ours: async () => {
        const end = loop(server, spinning, spins);
        beside.push(await steps());
        await end();
        return beside.at(-1)!.p99;
      },
      baseline: async () => {
        quiet.push(await steps());
        return quiet.at(-1)!.p99;
      },
      log: (line) => log(`${line} ms`),
    });
    // The first of each is not counted.
    const [with_, without] = [beside.slice(1), quiet.slice(1)];
    const ratios = with_.map(({ p99 }, round) => p99 / without[round].p99);
    const raw = {
      stepsARound: episodes * EPISODE,
      besideLoopMs: with_,
      aloneMs: without,
      spinMs: spins,
      loadAverageBefore: loadBefore,
      notes: loadBefore > availableParallelism() / 2 ? [`other work kept the machine busy: load ${loadBefore}`] : [],
    };
    return { ...bootstrap(ratios, median), n: rounds, raw };
  } finally {
    await server.close();
  }
}

type Server = Awaited<ReturnType<typeof started>>;

async function started() {
  const child = fork(new URL('./serve-process.js', import.meta.url));
  child.send({ kind: 'ours', scenarios: ['pendulum', spinningWorld()] } satisfies ServerWish);
  const [url] = (await once(child, 'message')) as [string];
  const pool = new Pool(url, { connections: 2, pipelining: 1 });
  const post = async (path: string, body: string) => {
    const reply = await pool.request({ method: 'POST', path, body, headers: HEADERS });
    return { status: reply.statusCode, body: (await reply.body.json()) as Record<string, unknown> };
  };
  const opened = async (env: string) => {
    const { body } = await post('/v1/sessions', JSON.stringify({ env }));
    return `/v1/sessions/${body.id}`;
  };
  const close = async () => {
    await pool.close();
    child.disconnect();
  };
  return { post, opened, close };
}

/** Has the rule loop until what is answered is called, and has ended then. */
function loop({ post }: Server, session: string, milliseconds: number[]): () => Promise<void> {
  let isWanted = true;
  const looping = (async () => {
    while (isWanted) {
      const began = performance.now();
      const { status } = await post(`${session}/step`, SPIN);
      if (status !== 422) throw new Error(`a rule that never ends was answered ${status}`);
      milliseconds.push(performance.now() - began);
    }
  })();
  return () => {
    isWanted = false;
    return looping;
  };
}

/** Of the times of single steps, in milliseconds. */
interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
}

async function percentilesOf({ post }: Server, session: string, episodes: number): Promise<Percentiles> {
  const times: number[] = [];
  for (let episode = 0; episode < episodes; episode++) {
    await post(`${session}/reset`, '{"seed":1}');
    for (let step = 0; step < EPISODE; step++) {
      const began = performance.now();
      const { status } = await post(`${session}/step`, ACTION);
      if (status !== 200) throw new Error(`a step was answered ${status}`);
      times.push(performance.now() - began);
    }
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))];
  return { p50: at(0.5), p99: at(0.99), longest: at(1) };
}
