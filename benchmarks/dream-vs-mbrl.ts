// A step of the learned dynamics as MBPO takes it (one random elite a row, sampled) against mbrl-lib's ModelEnv on PyTorch,
// CPU, with the number of threads that serves it best, and as many workers of ours. ModelEnv wants a multiple of five rows:
// no B = 1.

import { availableParallelism } from 'node:os';
import { Rng } from '../src/core/rng.js';
import type { TransitionBatch } from '../src/replay/transition.js';
import type { EnsembleModel } from '../src/worldmodel/ensemble/ensemble-model.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import {
  ACTION_DIM,
  ELITES,
  HIDDEN,
  MEMBERS,
  makeEnsemble,
  OBS_DIM,
  randomTransitions,
  startTorch,
} from './ensemble-fixture.js';
import { measurePaired, median, type PairedRates, ratioInterval } from './measure.js';
import { StepWorkers } from './step-workers.js';

/** Steps a batch as often as it is told to, with some threads. */
export interface Stepper {
  step(steps: number): Promise<void>;
  close(): Promise<void>;
}

export type OpenStepper = (model: EnsembleModel, batch: TransitionBatch, threads: number) => Promise<Stepper>;

export function run(context: BenchmarkContext): Promise<Measurement> {
  return againstMbrl(context, async (model, batch, threads) => {
    return threads > 1 ? StepWorkers.start(model, batch, threads) : inThisThread(model, batch);
  });
}

export function inThisThread(model: EnsembleModel, { obs, action }: TransitionBatch): Stepper {
  const rng = Rng.fromSeed(2);
  const carry = model.begin(obs);
  const step = async (steps: number) => {
    for (let i = 0; i < steps; i++) await model.imagine(carry, action, rng);
  };
  return { step, close: async () => {} };
}

export async function againstMbrl({ quick, root, log }: BenchmarkContext, open: OpenStepper): Promise<Measurement> {
  const rounds = quick ? 2 : 9;
  const peer = await startTorch(root, log);
  const model = await makeEnsemble();
  try {
    const shape = { obs_dim: OBS_DIM, action_dim: ACTION_DIM, hidden: HIDDEN[0], layers: HIDDEN.length };
    const versions = await peer.call<Record<string, string>>('setup_dream', {
      ...shape,
      members: MEMBERS,
      elites: ELITES,
    });
    const measure = async (rows: number, steps: number): Promise<PairedRates & { threads: number }> => {
      const batch = randomTransitions(rows, Rng.fromSeed(1));
      const theirs = async (threads: number) =>
        (rows * steps) / (await peer.call<number>('dream', { rows, steps, threads }));
      await theirs(1);
      // On a single core two threads could only win by chance.
      const threads = availableParallelism() >= 2 && (await theirs(2)) > (await theirs(1)) ? 2 : 1;
      log(`${rows} rows; PyTorch with ${threads} thread(s)`);
      const stepper = await open(model, batch, threads);
      const ours = async () => {
        const start = performance.now();
        await stepper.step(steps);
        return (rows * steps) / ((performance.now() - start) / 1000);
      };
      const rates = await measurePaired({ rounds, ours, baseline: () => theirs(threads), log });
      await stepper.close();
      return { ...rates, threads };
    };
    const thousand = await measure(1000, quick ? 3 : 100);
    const headline = await measure(quick ? 5000 : 100_000, quick ? 1 : 2);
    log(`ratio at 1000 rows: ${median(thousand.ours) / median(thousand.baseline)}`);
    const raw = { rowsPerSecond: { b1000: thousand, b100000: headline }, ratioAt1000: ratioInterval(thousand) };
    return { ...ratioInterval(headline), n: rounds, raw, versions };
  } finally {
    await Promise.all([peer.close(), model.close()]);
  }
}
