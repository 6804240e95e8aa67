// What a call of a language model costs this process, next to a bare loop over an undici pool that sends the same
// requests: 2,000 episodes at once against a server that answers at once, in a process of its own. Below 1 is cheaper.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { makeLanguageModel, type ServedModel } from '../src/llm/served-model.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { MAX_TOKENS, SCHEMA, stepMessages } from './llm-overhead-work.js';
import { measurePaired, median, ratioInterval } from './measure.js';

/** Asks for one step of one episode. */
type Client = (episode: number, step: number) => Promise<unknown>;

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const work = { episodes: quick ? 100 : 2000, steps: 5, rounds: quick ? 3 : 11 };
  const server = fork(new URL('./llm-server-process.js', import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), 'reverie-llm-overhead-'));
  const [url] = (await once(server, 'message')) as [string];
  const config = { provider: 'openai-compatible', url, model: 'test-model' } as const;
  const pool = new Pool(new URL(url).origin, { connections: 2048, pipelining: 1 });
  const live = await makeLanguageModel(config);
  const recording = await makeLanguageModel(config, { cacheFolder: folder });
  try {
    let first = 0;
    const costOf = async (client: Client): Promise<number> => {
      // Steps of their own in every round, or a cache would answer.
      first += work.steps;
      return cpuMilliseconds(client, work, first);
    };
    const bare = () => costOf(bareClient(pool, new URL(url).pathname));
    const plain = await measurePaired({ rounds: work.rounds, ours: () => costOf(client(live)), baseline: bare, log });
    log('the same with a cache that keeps every reply');
    const kept = await measurePaired({
      rounds: work.rounds,
      ours: () => costOf(client(recording)),
      baseline: bare,
      log,
    });
    const raw = {
      oursCpuMillisecondsPerRequest: plain.ours,
      bareCpuMillisecondsPerRequest: plain.baseline,
      recording: {
        ratio: ratioInterval(kept),
        oursCpuMillisecondsPerRequest: median(kept.ours),
        bareCpuMillisecondsPerRequest: median(kept.baseline),
      },
      rssMegabytes: process.memoryUsage().rss / 2 ** 20,
      ...work,
    };
    return { ...ratioInterval(plain), n: work.rounds, raw, versions: { undici: '7.30.2' } };
  } finally {
    await Promise.all([live.close(), recording.close(), pool.close()]);
    server.disconnect();
    await rm(folder, { recursive: true, force: true });
  }
}

function client(model: ServedModel): Client {
  return (episode, step) =>
    model.chat({ messages: stepMessages(episode, step), schema: SCHEMA, seed: episode, maxTokens: MAX_TOKENS });
}

function bareClient(pool: Pool, basePath: string): Client {
  const headers = { 'content-type': 'application/json' };
  const format = { type: 'json_schema', json_schema: { name: SCHEMA.name, strict: true, schema: SCHEMA.schema } };
  return async (episode, step) => {
    const body = JSON.stringify({
      model: 'test-model',
      temperature: 0,
      max_tokens: MAX_TOKENS,
      seed: episode,
      stream: false,
      messages: stepMessages(episode, step),
      response_format: format,
    });
    const reply = await pool.request({ method: 'POST', path: `${basePath}/chat/completions`, headers, body });
    return reply.body.json();
  };
}

interface Work {
  readonly episodes: number;
  readonly steps: number;
}

/** Milliseconds of this process's CPU for a request, all threads and garbage collection included. */
async function cpuMilliseconds(client: Client, { episodes, steps }: Work, first: number): Promise<number> {
  const before = process.cpuUsage();
  const episode = async (index: number): Promise<void> => {
    for (let step = 0; step < steps; step++) await client(index, first + step);
  };
  await Promise.all(Array.from({ length: episodes }, (_, index) => episode(index)));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (episodes * steps);
}
