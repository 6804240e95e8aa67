// A step of the learned dynamics as MBPO takes it (one random elite a row, sampled) against mbrl-lib's ModelEnv on PyTorch,
// CPU, with the number of threads that serves it best: ours by ONNX Runtime in one thread, or by vector code in as many. ModelEnv wants a
// multiple of five rows: no B = 1.

import { availableParallelism } from 'node:os';
import { Rng } from '../src/core/rng.js';
import type { BenchmarkContext, BenchmarkModule, Measurement } from './benchmark.js';
import {
  ACTION_DIM,
  ELITES,
  HIDDEN,
  MEMBERS,
  makeEnsemble,
  nativeOf,
  OBS_DIM,
  randomTransitions,
  startTorch,
} from './ensemble-fixture.js';
import { measurePaired, median, type PairedRates, ratioInterval } from './measure.js';

export const onRuntime: BenchmarkModule = { run: (context) => againstMbrl(context, false) };
/** By vector code, with as many threads as PyTorch is given. */
export const native: BenchmarkModule = { run: (context) => againstMbrl(context, true) };

async function againstMbrl({ quick, root, log }: BenchmarkContext, isNative: boolean): Promise<Measurement> {
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
      const own = isNative ? await nativeOf(model, threads) : model;
      const [rng, carry] = [Rng.fromSeed(2), own.begin(batch.obs)];
      const ours = async () => {
        const start = performance.now();
        for (let i = 0; i < steps; i++) await own.imagine(carry, batch.action, rng);
        return (rows * steps) / ((performance.now() - start) / 1000);
      };
      const rates = await measurePaired({ rounds, ours, baseline: () => theirs(threads), log });
      if (isNative) await own.close();
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
