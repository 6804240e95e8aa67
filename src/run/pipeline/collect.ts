// `reverie collect`: real episodes with a random or a trained policy, kept as a replay snapshot.

import { join } from 'node:path';
import { Collector, type EpisodeSummary } from '../../algorithms/index.js';
import { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { makeEnvironment, type Policy, rowSize, type VectorEnvironment } from '../../env/index.js';
import { ReplayBuffer } from '../../replay/index.js';
import { RandomPolicy } from '../../rl/index.js';
import { type CollectResult, interrupted, type JobContext } from '../job.js';
import { learnerFor } from './given-parts.js';
import { findInput, requireInput } from './inputs.js';

/** Steps between looks at the progress bar and Ctrl-C. */
const STRETCH = 250;

/** Restartable rather than resumable: recording goes at the speed of physics, and starts anew after a kill. */
export async function collectJob(context: JobContext): Promise<CollectResult> {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const { policy, close } = await actor(context, env);
  try {
    const { buffer, episodes } = await record(context, env, policy);
    const data = join(context.out, 'data');
    await buffer.save(data);
    if (context.signal.aborted) interrupted();
    return {
      job: 'collect',
      family: 'vector',
      wallSeconds: context.metrics.wallSeconds,
      data,
      transitions: buffer.size,
      episodes: episodes.length,
      meanReturn: episodes.length > 0 ? mean(episodes.map((episode) => episode.return)) : null,
    };
  } finally {
    await close();
    await env.close();
  }
}

async function record(context: JobContext, env: VectorEnvironment, policy: Policy) {
  const { collect, name } = context.scenario.config;
  const root = Rng.fromSeed(context.seed);
  const rng = root.split('collect');
  const collector = new Collector(env, name, root.split('episodes'), context.seed);
  const buffer = new ReplayBuffer({
    capacity: collect.steps,
    obsDim: rowSize(env.observationSpace),
    actionDim: rowSize(env.actionSpace),
    source: 'real',
  });
  const episodes: EpisodeSummary[] = [];
  const phase = context.progress.phase('collect', collect.steps, 'real steps');
  while (buffer.size < collect.steps && !context.signal.aborted) {
    const lived = await collector.collect(policy, Math.min(STRETCH, collect.steps - buffer.size), rng, context.signal);
    buffer.append(lived.batch, lived.provenance);
    for (const episode of lived.episodes)
      context.metrics.write({ kind: 'episode', realSteps: buffer.size, ...episode });
    episodes.push(...lived.episodes);
    phase.set(
      buffer.size,
      lived.episodes.length > 0 ? `return ${lived.episodes.at(-1)!.return.toFixed(1)}` : undefined,
    );
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }
  phase.end();
  return { buffer, episodes };
}

async function actor(
  context: JobContext,
  env: VectorEnvironment,
): Promise<{ policy: Policy; close: () => Promise<void> }> {
  const { config } = context.scenario;
  const wanted = config.collect.policy === 'checkpoint' || findInput(context.inputs, 'checkpoint') !== undefined;
  if (!wanted) return { policy: new RandomPolicy(env.actionSpace), close: async () => {} };
  const { learner } = await learnerFor(env, requireInput(context.inputs, 'checkpoint'));
  return { policy: learner.policy(), close: () => learner.close() };
}
