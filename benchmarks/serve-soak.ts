// Does a server hold for long? 2,000 sessions live episodes over OpenEnv's WebSocket for half an hour, while threads that
// hold their environments are killed at random and clients come and go. Every answer is compared, as it comes, with what
// the same actions give in an environment of the client's own. The value is how much the server's memory grew.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Rng } from '../src/core/rng.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { mean } from './measure.js';
import type { ServerMemory, ServerRequest, ServerWish } from './serve-process.js';
import { type SoakCounts, SoakSession, soakTwins } from './serve-soak-session.js';

const WORKERS = 2;
/** Of these, every twentieth is of the help desk. */
const SESSIONS = 2000;
const MINUTES = 30;
/**
 * Of the time: before memory is looked at, and the stretches at both ends that are compared. An episode of pendulum lasts
 * seven minutes here, and what is kept of one belongs to a session.
 */
const WARM_UP = 1 / 3;
const STRETCH = 1 / 10;
/** Between looks at the memory. */
const SAMPLE_SECONDS = 5;
const QUICK_SAMPLE_SECONDS = 1;
const KILL_SECONDS = 20;

interface Sample {
  readonly seconds: number;
  readonly rssMegabytes: number;
  readonly heapMegabytes: number;
}

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const minutes = quick ? 0.3 : Number(process.env['REVERIE_SOAK_MINUTES'] ?? MINUTES);
  const count = quick ? 40 : SESSIONS;
  const server = fork(new URL('./serve-process.js', import.meta.url));
  const url = await ask<string>(server, {
    kind: 'ours',
    scenarios: ['pendulum', 'helpdesk'],
    workers: WORKERS,
    slots: count,
  });
  const twins = await soakTwins();
  try {
    const counts: SoakCounts = { steps: 0, episodes: 0, reconnects: 0, disagreements: [] };
    const until = performance.now() + minutes * 60_000;
    const sessions = Array.from({ length: count }, (_, i) => new SoakSession(i, url, twins, counts));
    const lives = Promise.all(sessions.map((session) => session.live(until)));
    const every = quick ? QUICK_SAMPLE_SECONDS : SAMPLE_SECONDS;
    const samples = await watched(server, { until, every }, counts, log);
    await lives;
    if (counts.disagreements.length > 0) {
      const [first] = counts.disagreements;
      throw new Error(`${counts.disagreements.length} answers differ from the sequential model: ${first}`);
    }
    const { restarts } = await ask<ServerMemory>(server, { kind: 'memory' });
    return result(samples, counts, { minutes, sessions: count, workers: WORKERS, workersKilled: sum(restarts) });
  } finally {
    await twins.close();
    server.disconnect();
  }
}

/** Looks at the server's memory now and then, and kills one of its threads at a random moment of every stretch of time. */
async function watched(
  server: ChildProcess,
  { until, every }: { readonly until: number; readonly every: number },
  counts: SoakCounts,
  log: (line: string) => void,
): Promise<Sample[]> {
  const rng = Rng.fromSeed(7).split('soak');
  const started = performance.now();
  const samples: Sample[] = [];
  let nextKill = rng.uniform() * KILL_SECONDS;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(every * 1000, until - performance.now())));
    const seconds = (performance.now() - started) / 1000;
    const { rssBytes, heapBytes } = await ask<ServerMemory>(server, { kind: 'memory' });
    samples.push({ seconds, rssMegabytes: rssBytes / 2 ** 20, heapMegabytes: heapBytes / 2 ** 20 });
    if (seconds >= nextKill) {
      await ask(server, { kind: 'restart', worker: rng.int(WORKERS) });
      nextKill += 2 * KILL_SECONDS * rng.uniform();
    }
    if (samples.length % 12 === 0) {
      const { steps, disagreements } = counts;
      log(
        `${Math.round(seconds)} s: ${Math.round(rssBytes / 2 ** 20)} MB, ${steps} steps, ${disagreements.length} disagree`,
      );
    }
  }
  return samples;
}

function result(samples: readonly Sample[], counts: SoakCounts, facts: Readonly<Record<string, number>>): Measurement {
  const end = samples.at(-1)!.seconds;
  const between = (from: number, to: number) =>
    mean(samples.filter(({ seconds }) => seconds >= from * end && seconds <= to * end).map((one) => one.rssMegabytes));
  const before = between(WARM_UP, WARM_UP + STRETCH);
  const after = between(1 - STRETCH, 1);
  const value = (100 * (after - before)) / before;
  const { disagreements, ...lived } = counts;
  const rss = { beforeMegabytes: before, afterMegabytes: after };
  const raw = { ...facts, ...lived, disagreements: disagreements.length, rss, samples };
  return { value, low: value, high: value, n: 1, raw };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** One question at a time. */
async function ask<R>(server: ChildProcess, request: ServerWish | ServerRequest): Promise<R> {
  server.send(request);
  const [answer] = await once(server, 'message');
  return answer as R;
}
