// As dream.vs-ort, with the step computed by vector code of our own (`--device native`), one thread: the same noise, grouping and
// checks. The steps of a single row are waited for on the calling thread, as those of ONNX Runtime are.
// Beside it, `bf16VsFp32`: steps of the largest batch with factors in bfloat16 (`--precision bf16`) ÷ those in float32.

import { Rng } from '../src/core/rng.js';
import type { EnsembleModel } from '../src/worldmodel/ensemble/ensemble-model.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { againstOrt, headline, measurementOf } from './dream-vs-ort.js';
import { makeEnsemble, nativeOf, randomTransitions } from './ensemble-fixture.js';
import { measurePaired, type PairedRates } from './measure.js';

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const model = await makeEnsemble();
  const native = await nativeOf(model);
  const { rounds, ...comparison } = await againstOrt(context, model, native);
  const results = await headline(context, comparison);
  const coarse = await nativeOf(model, 1, 'bf16');
  results['bf16VsFp32'] = await between(context, { coarse, native, rows: comparison.large, rounds });
  await Promise.all([comparison.sessions.release(), native.close(), coarse.close(), model.close()]);
  return measurementOf(results, rounds, context.log);
}

interface Sides {
  readonly coarse: EnsembleModel;
  readonly native: EnsembleModel;
  readonly rows: number;
  readonly rounds: number;
}

/** Rows a second of both. */
async function between({ log }: BenchmarkContext, { coarse, native, rows, rounds }: Sides): Promise<PairedRates> {
  const { obs, action } = randomTransitions(rows, Rng.fromSeed(1));
  const rng = Rng.fromSeed(2);
  const rateOf = (stepped: EnsembleModel) => {
    const carry = stepped.begin(obs);
    return async () => {
      const start = performance.now();
      await stepped.imagine(carry, action, rng);
      return rows / ((performance.now() - start) / 1000);
    };
  };
  return measurePaired({ rounds, ours: rateOf(coarse), baseline: rateOf(native), log });
}
