// How dreaming scales with workers: branched rollouts of a sampled SAC policy in the ensemble of MBPO (7 members, 5 elites,
// 4 x 200, HalfCheetah's shape: 17 observed values, 6 actions), one elite a row. Two pools of the same kind take turns.
// `raw.coresBusy` is processor time over wall time, of both: what runs beside one worker already (the thread that joins the rows, the
// garbage collector) is no worker's to speed up. `raw.bound` is what there could be at most: cores over those that one worker has busy.

import { Rng } from '../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../src/env/space-values.js';
import { allocateBatch } from '../src/replay/columns.js';
import type { TransitionBatch } from '../src/replay/transition.js';
import { makeSac } from '../src/rl/soft-actor-critic.js';
import type { FrozenRolloutRequest } from '../src/synth/rollout/plan.js';
import { RolloutPool } from '../src/synth/rollout/pool.js';
import type { ModelPlace } from '../src/worldmodel/dynamics.js';
import { fitEnsemble } from '../src/worldmodel/ensemble/fit.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { measurePaired, median, ratioInterval } from './measure.js';
import type { PeakThreads } from './peak-threads.js';

const OBS_DIM = 17;
const ACTION_DIM = 6;
const HORIZON = 5;
const SPACES = {
  observationSpace: unboundedSpace(OBS_DIM),
  actionSpace: boxSpace(new Array(ACTION_DIM).fill(-1), new Array(ACTION_DIM).fill(1)),
};

export function run(context: BenchmarkContext): Promise<Measurement> {
  return measureWorkers(context, {});
}

/**
 * Where the model runs is the same for both pools.
 * @param peaks  measured beside them, in place of the two cores that the bound takes for granted otherwise
 */
export async function measureWorkers(
  { quick, log }: BenchmarkContext,
  place: ModelPlace,
  peaks?: PeakThreads,
): Promise<Measurement> {
  const starts = quick ? 2_048 : 40_960;
  const rounds = quick ? 2 : 11;
  const one = new WatchedPool(new RolloutPool({ workers: 1, ...place }));
  const two = new WatchedPool(new RolloutPool({ workers: 2, ...place }));
  const scalings: number[] = [];
  try {
    log('fitting a small model of made-up data');
    const request = await prepare(starts);
    const rates = await measurePaired({
      rounds,
      ours: () => two.rateOf(request),
      baseline: async () => {
        if (peaks) scalings.push(await peaks.scaling());
        return one.rateOf(request);
      },
      log,
    });
    const raw = {
      twoWorkersTransitionsPerSecond: rates.ours,
      oneWorkerTransitionsPerSecond: rates.baseline,
      coresBusy: { two: two.coresBusy, one: one.coresBusy },
      ...(peaks && { multiplyAddScaling: scalings }),
      // What is measured above two of two cores is noise.
      bound: Math.min(2, ...(peaks ? [median(scalings)] : [])) / median(one.coresBusy),
      starts,
      horizon: HORIZON,
      chunkSize: request.chunkSize,
    };
    log(`medians: two ${Math.round(median(rates.ours))}, one ${Math.round(median(rates.baseline))} transitions/s`);
    log(`at most ${raw.bound.toFixed(2)} times as many`);
    return { ...ratioInterval(rates), n: rounds, raw };
  } finally {
    await Promise.all([one.close(), two.close()]);
  }
}

/** A pool, and how busy the processor was with each of its jobs. */
class WatchedPool {
  /** Of its jobs so far, the uncounted first one included. */
  readonly coresBusy: number[] = [];

  constructor(private readonly pool: RolloutPool) {}

  /** Transitions per second of wall time, from the request to the merged batch. */
  async rateOf(request: FrozenRolloutRequest): Promise<number> {
    const before = process.cpuUsage();
    const began = performance.now();
    const { batch } = await this.pool.branchedRollouts(request);
    const milliseconds = performance.now() - began;
    const { user, system } = process.cpuUsage(before);
    this.coresBusy.push((user + system) / 1000 / milliseconds);
    return batch.rows / (milliseconds / 1000);
  }

  close(): Promise<void> {
    return this.pool.close();
  }
}

async function prepare(rows: number): Promise<FrozenRolloutRequest> {
  const rng = Rng.fromSeed(0);
  // The weights' values do not matter to the time a step takes, so the fit may be short.
  const { model } = await fitEnsemble(madeUpData(4_000, rng), SPACES, { maxEpochs: 1 }, { rng: rng.split('fit') });
  const sac = await makeSac({}, SPACES, rng.split('sac'));
  const request = {
    model: model.snapshot(),
    policy: sac.policySnapshot(),
    starts: rng.split('obs').fillNormal(new Float32Array(rows * OBS_DIM)),
    startIds: Float64Array.from({ length: rows }, (_, row) => row),
    horizon: HORIZON,
    chunkSize: 512,
    propagation: 'ts1' as const,
    rng: rng.split('rollouts'),
  };
  await Promise.all([model.close(), sac.close()]);
  return request;
}

/** A damped linear system with noise. */
function madeUpData(rows: number, rng: Rng): TransitionBatch {
  const batch = allocateBatch(rows, OBS_DIM, ACTION_DIM);
  rng.fillNormal(batch.obs);
  rng.fillUniform(batch.action, -1, 1);
  const noise = rng.fillNormal(new Float32Array(rows * OBS_DIM));
  for (let i = 0; i < batch.nextObs.length; i++) {
    const row = Math.floor(i / OBS_DIM);
    const push = batch.action[row * ACTION_DIM + (i % ACTION_DIM)];
    batch.nextObs[i] = 0.9 * batch.obs[i] + 0.1 * push + 0.05 * noise[i];
    batch.reward[row] -= batch.nextObs[i] ** 2;
  }
  return batch;
}
