// `reverie synth`: transitions simulated in a world model from recorded states, as a replay snapshot and as datasets.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { PolicySnapshot } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/environments.js';
import { rowSize } from '../../env/space-values.js';
import type { ReplayBuffer } from '../../replay/buffer.js';
import type { SavedTransitions } from '../../replay/snapshot.js';
import { RandomPolicy } from '../../rl/policy-net.js';
import { transitionExports } from '../../synth/export/transition-exports.js';
import { type Drawn, drawnStarts, type FrozenRolloutRequest } from '../../synth/rollout/plan.js';
import { RolloutPool } from '../../synth/rollout/pool.js';
import { saveRollouts, synthesizeToJournal } from '../../synth/synthesize.js';
import { tryModel } from '../../training/model-trial.js';
import { planDream } from '../../training/settings.js';
import type { StoredDynamics } from '../../worldmodel/dynamics.js';
import { observedRange } from '../../worldmodel/seen-range.js';
import { deviceText, rolloutWorkers } from '../device.js';
import { vectorSet } from '../evaluation-set.js';
import { formatCount, formatRate } from '../format.js';
import type { JobContext } from '../job.js';
import { publish } from '../report-page.js';
import { findInput, learnerFor, modelFor, recordsOf, requireInput } from './inputs.js';

/** Resumable: finished chunks are in the journal, and the same bytes come out however often it was stopped. */
export async function synthJob(context: JobContext) {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  let model: StoredDynamics | undefined;
  try {
    model = await modelFor(env, requireInput(context.inputs, 'model'));
    return await synthesized(context, env, model);
  } finally {
    await model?.close();
    await env.close();
  }
}

async function synthesized(context: JobContext, env: VectorEnvironment, model: StoredDynamics) {
  const { scenario, metrics, device } = context;
  metrics.rewind();
  const { rollout, synth } = scenario.config;
  const policy = await actor(context, env);
  const { horizon, disagreementLimit, range, propagation, chunkRows } = rollout;
  const evaluationSet = await vectorSet(context, {
    policies: { agent: policy.version, dream: model.modelVersion },
    given: ['data'],
    settings: {
      ...{ horizon, disagreementLimit, range, propagation, chunkRows },
      ...{ starts: synth.starts, episodes: synth.episodes },
    },
  });
  const real = await recordsOf(env, requireInput(context.inputs, 'data'));
  const asked = await requestOf(context, env, real, model);
  const workers = rolloutWorkers(context, asked.starts.rows * asked.horizon);
  const pool = new RolloutPool({ workers, device });
  try {
    const { rollouts, perSecond } = await simulate(context, pool, { ...asked, model: model.snapshot(), policy });
    const { counts } = rollouts;
    const data = join(context.out, 'data');
    const phase = context.progress.phase('save', counts.rows, 'transitions');
    const dims = { obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) };
    const onRows = (rows: number) => phase.set(rows);
    const saved = await saveRollouts(rollouts, { folder: data, ...dims, signal: context.signal, onRows });
    phase.end();
    const datasets = await exportTransitions(saved, env, context).finally(() => saved.close());
    metrics.write({ kind: 'dream', ...counts, transitionsPerSecond: perSecond });
    const rows = [
      ['simulated', `${formatCount(counts.rows)} transitions, ${formatRate(perSecond, 'transitions')}`],
      ['cut short', `${formatCount(counts.doubted)} branches, by disagreement or beyond the range of the records`],
      ['model', model.modelVersion.slice(0, 12)],
      ['data', data],
      ...datasets.map((path) => ['dataset', path] as const),
    ] as const;
    const title = `Synthetic transitions: ${scenario.config.name}`;
    return {
      ...{ job: 'synth', family: 'vector', wallSeconds: metrics.wallSeconds, evaluationSet, data, datasets },
      ...{ modelVersion: model.modelVersion, device: deviceText(device), transitions: counts.rows },
      ...{ truncatedByDoubt: counts.doubted, transitionsPerSecond: perSecond },
      report: await publish(context, { title, blocks: [{ kind: 'facts', rows }] }, evaluationSet),
    };
  } finally {
    await pool.close();
  }
}

/** Who acts: a policy of a checkpoint, or chance. */
async function actor({ inputs }: JobContext, env: VectorEnvironment): Promise<PolicySnapshot> {
  const checkpoint = findInput(inputs, 'checkpoint');
  if (checkpoint === undefined) return new RandomPolicy(env.actionSpace).snapshot();
  const { learner } = await learnerFor(env, checkpoint);
  if ('planner' in learner && learner.gradientSteps === 0)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `"${checkpoint}" is a planner's, whose policy was never taught: in a model it acts by its policy alone.`,
      hint: 'Train for more real steps than train.initialRandomSteps, with rl.distilUpdates above 0.',
    });
  const snapshot = learner.policySnapshot();
  await learner.close();
  return snapshot;
}

async function requestOf(context: JobContext, env: VectorEnvironment, real: ReplayBuffer, model: StoredDynamics) {
  const { rollout, synth, name } = context.scenario.config;
  const { seed } = context;
  const rng = Rng.fromSeed(seed).split('synth');
  const { horizon, disagreementLimit } = await limits(context, real, model, rng);
  return {
    starts: drawnStarts(real, synth.starts, rng.split('starts')),
    horizon: synth.episodes ? episodeSteps(env) : horizon,
    ...{ propagation: rollout.propagation, disagreementLimit, chunkSize: rollout.chunkRows },
    range: observedRange(real.rows(), real.obsDim, rollout.range),
    ...{ rng: rng.split('rollouts'), scenario: name, seed },
  };
}

/** Horizon and limit of disagreement as they are given, or as far as the model stays near the records. */
async function limits({ scenario, log }: JobContext, real: ReplayBuffer, model: StoredDynamics, rng: Rng) {
  const { rollout, synth } = scenario.config;
  const isOpen = !synth.episodes && (rollout.horizon === 'auto' || rollout.disagreementLimit === 'auto');
  const trial = isOpen ? await tryModel(model, real, { from: 0, rng }) : undefined;
  // Whole episodes are whole, unless a limit is asked for.
  const isWhole = synth.episodes && rollout.disagreementLimit === 'auto';
  const asked = isWhole ? { ...rollout, disagreementLimit: null } : rollout;
  const { horizon, disagreementLimit, reasons } = planDream(asked, 1, { trial }, real.inserted);
  const limit = `a limit of disagreement of ${disagreementLimit ?? 'none'}`;
  if (isOpen) log(`${horizon} simulated steps (${reasons['rollout.horizon']}), ${limit}.`);
  // Without a limit, disagreement is still what the confidence of a row is made of.
  const unlimited = (model.opinions ?? 1) > 1 ? Number.POSITIVE_INFINITY : undefined;
  return { horizon, disagreementLimit: disagreementLimit ?? unlimited };
}

/** Length of a whole episode. @throws SCENARIO_INVALID for an environment without a clock */
function episodeSteps(env: VectorEnvironment): number {
  if (env.maxEpisodeSteps !== undefined) return env.maxEpisodeSteps;
  const problem = 'synth.episodes is true, but the environment has no clock that would end an episode.';
  throw reverieError('SCENARIO_INVALID', { path: env.id, problem });
}

async function simulate(context: JobContext, pool: RolloutPool, request: Drawn<FrozenRolloutRequest>) {
  const phase = context.progress.phase('dream', null, 'transitions');
  const started = performance.now();
  let resumedChunks = 0;
  let resumedRows = 0;
  const rollouts = await synthesizeToJournal(
    { ...request, pool, journal: join(context.out, 'journal') },
    {
      signal: context.signal,
      onResume: ({ chunks }) => {
        resumedChunks = chunks;
      },
      onProgress: ({ chunksDone, chunks, rows }) => {
        if (chunksDone <= resumedChunks) resumedRows = rows;
        phase.set(rows, `chunk ${chunksDone} of ${chunks}`);
      },
    },
  );
  phase.end();
  const seconds = (performance.now() - started) / 1000;
  return { rollouts, perSecond: (rollouts.counts.rows - resumedRows) / seconds };
}

/** Writes the datasets that the scenario asks for below the run's folder; answers their paths. */
async function exportTransitions(
  saved: SavedTransitions,
  env: VectorEnvironment,
  { scenario: { config, hash }, signal, seed, out, progress }: JobContext,
): Promise<string[]> {
  const written: string[] = [];
  for (const format of config.synth.export) {
    const { target = format, make } = transitionExports.get(format);
    const path = join(out, 'datasets', target);
    const phase = progress.phase(`export ${format}`, saved.rows, 'transitions');
    // What an interrupted run left there is not whole.
    rmSync(path, { recursive: true, force: true });
    const write = await make();
    await write(saved, {
      ...{ path, signal, onRows: (rows: number) => phase.set(rows) },
      ...{ scenario: config.name, scenarioHash: hash, seed, env: config.env, spaces: env },
    });
    phase.end();
    written.push(path);
  }
  return written;
}
