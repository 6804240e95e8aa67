// `reverie synth`: transitions dreamt in a world model from recorded states, as a replay snapshot and as datasets.

import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { requirePanel } from '../../core/evaluation-set.js';
import type { PolicySnapshot } from '../../core/policy.js';
import { WorkerPool } from '../../core/pool.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { rowSize } from '../../env/space-values.js';
import type { ReplayBuffer } from '../../replay/buffer.js';
import type { SavedTransitions } from '../../replay/snapshot.js';
import { RandomPolicy } from '../../rl/random-policy.js';
import { transitionExports } from '../../synth/export/transition-exports.js';
import type { Drawn, FrozenRolloutRequest } from '../../synth/rollout/plan.js';
import { RolloutPool } from '../../synth/rollout/pool.js';
import { drawnStarts } from '../../synth/rollout/starts.js';
import { type JournalledRollouts, saveRollouts, synthesizeToJournal } from '../../synth/synthesize.js';
import { planDream } from '../../training/dream-plan.js';
import type { StoredDynamics } from '../../worldmodel/dynamics.js';
import { loadWorldModel } from '../../worldmodel/kinds.js';
import { tryModel } from '../../worldmodel/model-trial.js';
import { deviceText } from '../device.js';
import { interrupted, type JobContext, type SynthResult } from '../job.js';
import { wantedPanel } from '../wanted-panel.js';
import { withTrustedHorizon } from './fidelity/auto-horizon.js';
import { learnerFor, recordsOf } from './given-parts.js';
import { findInput, requireInput } from './inputs.js';
import { synthPanel } from './vector-panels.js';

/** A job of fewer transitions is over before threads have started. */
const ROWS_WORTH_THREADS = 100_000;

/** Resumable: finished chunks are in the journal, and the same bytes come out however often it was stopped. */
export async function synthJob(asked: JobContext): Promise<SynthResult> {
  const context = await withTrustedHorizon(asked, asked.scenario.config.synth.episodes ? [] : ['horizon']);
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const model = await loadWorldModel(requireInput(context.inputs, 'model'));
  try {
    return await synthesized(context, env, model);
  } catch (error) {
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await model.close();
    await env.close();
  }
}

async function synthesized(context: JobContext, env: VectorEnvironment, model: StoredDynamics): Promise<SynthResult> {
  const policy = await actor(context, env);
  const panel = await synthPanel(context, policy.version, model.modelVersion);
  requirePanel(panel, wantedPanel(context));
  const real = await recordsOf(env, requireInput(context.inputs, 'data'));
  const asked = await requestOf(context, env, real, model);
  const workers = workersFor(context, asked.starts.rows * asked.horizon);
  const pool = new RolloutPool({ workers, device: context.device });
  // With a device chunks are lived in this thread; the rest is work for others all the same.
  const threads = context.device ? new WorkerPool({ workers }) : pool.pool;
  try {
    const request = { ...asked, model: model.snapshot(), policy };
    const started = performance.now();
    const { rollouts, resumedRows } = await dream(context, pool, request);
    const seconds = (performance.now() - started) / 1000;
    const rate = (rollouts.counts.rows - resumedRows) / seconds;
    return { ...(await keep(context, env, threads, rollouts, rate, model.modelVersion)), panel };
  } finally {
    if (threads !== pool.pool) await threads.close();
    await pool.close();
  }
}

/** Threads for so many rows: those that were asked for, else the cores there are; of many, one is left to the thread that writes. */
function workersFor({ workers, isAutoWorkers }: JobContext, rows: number): number {
  if (!isAutoWorkers) return workers;
  const cores = availableParallelism();
  return rows < ROWS_WORTH_THREADS ? 0 : Math.min(cores, Math.max(2, cores - 1));
}

async function requestOf(context: JobContext, env: VectorEnvironment, real: ReplayBuffer, model: StoredDynamics) {
  const { rollout, synth, name } = context.scenario.config;
  const rng = Rng.fromSeed(context.seed).split('synth');
  const { horizon, disagreementLimit } = await settleRollout(context, real, model, rng);
  return {
    starts: drawnStarts(real, synth.starts, rng.split('starts'), model.context),
    horizon: synth.episodes ? episodeSteps(env) : horizon,
    propagation: rollout.propagation,
    disagreementLimit,
    chunkSize: rollout.chunkRows,
    rng: rng.split('rollouts'),
    scenario: name,
    seed: context.seed,
  };
}

/** Horizon and limit as they are given, or as far as the model stays near the records. */
async function settleRollout(context: JobContext, real: ReplayBuffer, model: StoredDynamics, rng: Rng) {
  const { rollout, synth } = context.scenario.config;
  const isOpen = !synth.episodes && (rollout.horizon === 'auto' || rollout.disagreementLimit === 'auto');
  const trial = isOpen && model.context === 0 ? await tryModel(model, real, { from: 0, rng }) : undefined;
  // Whole episodes are whole, unless a limit is asked for.
  const asked =
    synth.episodes && rollout.disagreementLimit === 'auto' ? { ...rollout, disagreementLimit: null } : rollout;
  const { horizon, disagreementLimit, reasons } = planDream(asked, 1, { trial }, real.inserted);
  if (isOpen) {
    const limit =
      disagreementLimit === null ? 'no limit of disagreement' : `a limit of disagreement of ${disagreementLimit}`;
    context.log(`${horizon} dreamt steps (${reasons['rollout.horizon']}), ${limit}.`);
  }
  return { horizon, disagreementLimit: disagreementLimit ?? undefined };
}

/** Length of a whole episode. @throws SCENARIO_INVALID for an environment without a clock */
function episodeSteps(env: VectorEnvironment): number {
  if (env.maxEpisodeSteps !== undefined) return env.maxEpisodeSteps;
  const problem = 'synth.episodes is true, but the environment has no clock that would end an episode.';
  throw reverieError('SCENARIO_INVALID', { path: env.id, problem });
}

async function dream(context: JobContext, pool: RolloutPool, request: Drawn<FrozenRolloutRequest>) {
  const phase = context.progress.phase('dream', null, 'transitions');
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
  return { rollouts, resumedRows };
}

async function keep(
  context: JobContext,
  env: VectorEnvironment,
  pool: WorkerPool,
  rollouts: JournalledRollouts,
  transitionsPerSecond: number,
  modelVersion: string,
): Promise<Omit<SynthResult, 'panel'>> {
  const { counts } = rollouts;
  const { signal } = context;
  const data = join(context.out, 'data');
  const phase = context.progress.phase('save', counts.rows, 'transitions');
  const dims = { obsDim: rowSize(env.observationSpace), actionDim: rowSize(env.actionSpace) };
  const onRows = (rows: number) => phase.set(rows);
  const saved = await saveRollouts(rollouts, { folder: data, ...dims, pool, signal, onRows });
  phase.end();
  const datasets = await exportTransitions(saved, env, pool, context).finally(() => saved.close());
  context.metrics.write({ kind: 'dream', ...counts, transitionsPerSecond });
  return {
    job: 'synth',
    family: 'vector',
    wallSeconds: context.metrics.wallSeconds,
    data,
    datasets,
    modelVersion,
    device: deviceText(context.device),
    transitions: counts.rows,
    truncatedByDoubt: counts.doubted,
    transitionsPerSecond,
  };
}

async function actor(context: JobContext, env: VectorEnvironment): Promise<PolicySnapshot> {
  const checkpoint = findInput(context.inputs, 'checkpoint');
  if (checkpoint === undefined) return new RandomPolicy(env.actionSpace).snapshot();
  const { learner } = await learnerFor(env, checkpoint);
  const snapshot = learner.policySnapshot();
  await learner.close();
  return snapshot;
}

// Dreamt transitions as datasets that other tools read, in the formats the scenario asks for.

/** Writes the datasets below the run's folder; answers their paths. */
async function exportTransitions(
  saved: SavedTransitions,
  env: VectorEnvironment,
  pool: WorkerPool,
  context: JobContext,
): Promise<string[]> {
  const { config, hash } = context.scenario;
  const { signal, seed } = context;
  const written: string[] = [];
  for (const format of config.synth.export) {
    const { target = format, make } = transitionExports.get(format);
    const path = join(context.out, 'datasets', target);
    const phase = context.progress.phase(`export ${format}`, saved.rows, 'transitions');
    // What an interrupted run left there is not whole.
    rmSync(path, { recursive: true, force: true });
    const write = await make();
    await write(saved, {
      ...{ path, pool, signal, onRows: (rows: number) => phase.set(rows) },
      ...{ scenario: config.name, scenarioHash: hash, seed, env: config.env, spaces: env },
    });
    phase.end();
    written.push(path);
  }
  return written;
}
