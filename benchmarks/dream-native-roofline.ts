// How near a step by vector code (`--device native`, one thread) comes to what a core can do at most: multiply-adds a second
// of whole steps (noise, activations, grouping and checks included, counted as nothing) ÷ those of a loop of the same
// instructions that touches no memory. Both take turns, for each width of vectors that the processor has but the plain one.

import { Rng } from '../src/core/rng.js';
import { nativePeak, nativeWidths } from '../src/nn/cuda.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { makeEnsemble, nativeOf, productsOfRow, randomTransitions } from './ensemble-fixture.js';
import { measurePaired, median, type PairedRates, ratioInterval } from './measure.js';

/** Half a second of the loop. */
const PEAK_ROUNDS = 5e7;

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 2 : 11;
  const rows = quick ? 2000 : 100_000;
  const model = await makeEnsemble();
  const { obs, action } = randomTransitions(rows, Rng.fromSeed(1));
  const measured: Record<string, PairedRates> = {};
  const before = process.env['REVERIE_NATIVE_WIDTH'];
  try {
    for (const width of nativeWidths().slice(0, -1)) {
      process.env['REVERIE_NATIVE_WIDTH'] = width;
      const native = await nativeOf(model);
      const carry = native.begin(obs);
      const rng = Rng.fromSeed(2);
      const ours = async () => {
        const began = performance.now();
        await native.imagine(carry, action, rng);
        return (rows * productsOfRow()) / ((performance.now() - began) / 1000);
      };
      const baseline = () => nativePeak(width, quick ? PEAK_ROUNDS / 100 : PEAK_ROUNDS);
      measured[width] = await measurePaired({ rounds, ours, baseline, log });
      log(`${width}: ${(2e-9 * median(measured[width].ours)).toFixed(1)} GFLOP/s`);
      await native.close();
    }
  } finally {
    if (before === undefined) delete process.env['REVERIE_NATIVE_WIDTH'];
    else process.env['REVERIE_NATIVE_WIDTH'] = before;
    await model.close();
  }
  const best = Object.values(measured)[0];
  if (best === undefined) throw new Error('This processor has no vectors that native code is written for.');
  const shares = Object.fromEntries(Object.entries(measured).map(([width, rates]) => [width, ratioInterval(rates)]));
  return { ...ratioInterval(best), n: rounds, raw: { multiplyAddsPerSecond: measured, shares, rows } };
}
