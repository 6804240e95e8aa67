// `reverie collect` and `reverie eval` of numbers: real episodes of a random or a trained policy. What is recorded is a replay snapshot, and
// what there is of it is saved every few seconds, so that a recording that was stopped or killed resumes to the same bytes:
//
//   checkpoint/recording.json  episodes so far, where the environment, the policy's stream and the metrics are; sealed
//   checkpoint/real/           the rows so far, a replay snapshot like any other

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { VectorEnvironment } from '../../core/environment.js';
import { recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import type { Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { makeEnvironment } from '../../env/environments.js';
import { rowSize } from '../../env/space-values.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { evaluatePolicy, summariseReturns } from '../../rl/evaluate.js';
import { RandomPolicy } from '../../rl/policy-net.js';
import {
  Collector,
  type CollectorState,
  type EpisodeSummary,
  type Recording,
  type RecordingPorts,
  record,
} from '../../training/collector.js';
import { vectorSet } from '../evaluation-set.js';
import { formatCount, formatNumber, formatSpread, quoted } from '../format.js';
import type { JobContext } from '../job.js';
import type { MetricsMark } from '../metrics.js';
import { publish } from '../report-page.js';
import { readSealed } from '../run-folder.js';
import { written } from './checkpoint.js';
import { type Agent, agentFor, findInput, requireInput } from './inputs.js';

/** Milliseconds between checkpoints, or more: all rows are written each time, and that may take a twentieth of the time. */
const CHECKPOINT_MS = 5_000;
const TIMES_A_SAVE = 20;

const recordingSchema = z.strictObject({
  format: z.literal('reverie-recording'),
  formatVersion: z.literal(1),
  collector: written<CollectorState>(),
  rng: written<ReturnType<Rng['state']>>(),
  episodes: z.array(written<EpisodeSummary>()),
  metrics: written<MetricsMark>(),
});

export type CollectResult = Awaited<ReturnType<typeof collectJob>>;

export async function collectJob(context: JobContext) {
  const { scenario, metrics, out, progress, inputs } = context;
  const { config, folder } = scenario;
  const { steps } = config.collect;
  const env = await makeEnvironment(config.env, { folder });
  let agent: Agent | undefined;
  try {
    const isRandom = config.collect.policy === 'random' && findInput(inputs, 'checkpoint') === undefined;
    agent = isRandom ? undefined : await agentFor(env, requireInput(inputs, 'checkpoint'));
    const policy = agent?.policy ?? new RandomPolicy(env.actionSpace);
    const evaluationSet = await vectorSet(context, { policies: { agent: policy.version }, settings: { steps } });
    const checkpoint = join(out, 'checkpoint');
    const bar = progress.phase('collect', steps, 'real steps');
    const recording = await begun(context, env, policy, checkpoint);
    bar.set(recording.buffer.size);
    await record(recording, steps, recordingPorts(context, checkpoint, bar));
    const { buffer, episodes } = recording;
    const data = join(out, 'data');
    await buffer.save(data);
    bar.end();
    const meanReturn = episodes.length > 0 ? mean(episodes.map((episode) => episode.return)) : null;
    const rows = [
      ['recorded', `${formatCount(buffer.size)} real transitions, ${formatCount(episodes.length)} whole episodes`],
      ['mean return', meanReturn === null ? 'no episode ended' : formatNumber(meanReturn)],
      ['data', data],
      ['next', `reverie fit --data ${quoted(data)}`],
    ] as const;
    const shown = { title: `Records: ${config.name}`, blocks: [{ kind: 'facts', rows } as const] };
    const report = await publish(context, shown, evaluationSet);
    // All of it is in `data` now, and told.
    await rm(checkpoint, { recursive: true, force: true });
    return {
      ...{ job: 'collect', family: 'vector', wallSeconds: metrics.wallSeconds, evaluationSet, data },
      ...{ transitions: buffer.size, episodes: episodes.length, meanReturn, report },
    };
  } finally {
    await agent?.close();
    await env.close();
  }
}

/** A recording that begins, or the one that was saved. @throws CHECKPOINT_CORRUPT */
async function begun(
  { scenario, seed, metrics, resume, log }: JobContext,
  env: VectorEnvironment,
  policy: Policy,
  folder: string,
): Promise<Recording> {
  const { collect, name } = scenario.config;
  // Not the episodes of a training run of the same seed: what is collected may be what a model is judged by.
  const root = Rng.fromSeed(seed).split('collect');
  const collector = new Collector(env, name, root.split('episodes'), seed);
  if (!resume || !(await recoverFolder(folder))) {
    metrics.rewind();
    const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
    const buffer = new ReplayBuffer({ capacity: collect.steps, obsDim, actionDim, source: 'real' });
    return { collector, policy, rng: root.split('actions'), buffer, episodes: [] };
  }
  const saved = readSealed(join(folder, 'recording.json'), recordingSchema);
  const buffer = await ReplayBuffer.load(join(folder, 'real'), { capacity: collect.steps });
  await collector.restore(saved.collector);
  metrics.rewind(saved.metrics);
  log(`Resuming after ${buffer.size} real steps.`);
  return { collector, policy, rng: Rng.fromState(saved.rng), buffer, episodes: saved.episodes };
}

/** The bar, the journal of metrics, and checkpoints. */
function recordingPorts(
  { signal, metrics }: JobContext,
  folder: string,
  bar: { set(done: number, note?: string): void },
): RecordingPorts {
  const save = async ({ collector, rng, buffer, episodes }: Recording) => {
    const manifest: z.input<typeof recordingSchema> = {
      ...{ format: 'reverie-recording', formatVersion: 1, collector: await collector.state(), rng: rng.state() },
      ...{ episodes: [...episodes], metrics: metrics.mark() },
    };
    await replaceFolderAtomic(folder, async (temporary) => {
      await buffer.save(join(temporary, 'real'));
      await writeFile(join(temporary, 'recording.json'), sealedText(manifest));
    });
  };
  let dueAt = performance.now() + CHECKPOINT_MS;
  return {
    signal,
    tell: (event) => metrics.write(event),
    checkpoint: async (recording, isLast) => {
      const last = recording.episodes.at(-1);
      bar.set(recording.buffer.size, last && `last return ${last.return.toFixed(1)}`);
      const started = performance.now();
      if (!isLast && !signal.aborted && started < dueAt) return;
      await save(recording);
      signal.throwIfAborted();
      const took = performance.now() - started;
      dueAt = performance.now() + Math.max(CHECKPOINT_MS, TIMES_A_SAVE * took);
    },
  };
}

export async function evalJob(context: JobContext) {
  const { scenario, seed, signal, metrics, progress } = context;
  metrics.rewind();
  const settings = scenario.config.eval;
  const { episodes, deterministic } = settings;
  const checkpoint = requireInput(context.inputs, 'checkpoint');
  const env = await makeEnvironment(scenario.config.env, { folder: scenario.folder });
  let agent: Agent | undefined;
  try {
    agent = await agentFor(env, checkpoint);
    const evaluationSet = await vectorSet(context, { policies: { agent: agent.policy.version }, settings });
    const phase = progress.phase('evaluate', episodes, 'episodes');
    const returns: number[] = [];
    const lengths: number[] = [];
    const seeds = Rng.fromSeed(seed).split('eval');
    for (let episode = 0; episode < episodes; episode++) {
      signal.throwIfAborted();
      const options = { episodes: 1, seed: seeds.split('episode', episode).uint32(), deterministic };
      const one = await evaluatePolicy(env, agent.policy, options);
      returns.push(one.returns[0]);
      lengths.push(one.lengths[0]);
      metrics.write({ kind: 'episode', episode, return: one.returns[0], length: one.lengths[0] });
      phase.set(episode + 1, `last return ${one.returns[0].toFixed(1)}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    phase.end();
    const summary = summariseReturns(returns, lengths);
    const { meanReturn, stdReturn, minReturn, maxReturn, meanLength } = summary;
    const spread = `${formatSpread(meanReturn, stdReturn, episodes)} over ${episodes} real episodes`;
    const rows = [
      ['return', `${spread}, ${formatNumber(minReturn)} to ${formatNumber(maxReturn)}`],
      ['mean length', `${formatNumber(meanLength)} steps`],
    ] as const;
    const shown = { title: `Evaluation: ${scenario.config.name}`, blocks: [{ kind: 'facts', rows } as const] };
    const report = await publish(context, shown, evaluationSet);
    const { wallSeconds } = metrics;
    return { job: 'eval', family: 'vector', wallSeconds, evaluationSet, checkpoint, returns, ...summary, report };
  } finally {
    await agent?.close();
    await env.close();
  }
}
