// As dream.vs-mbrl, with the step computed by vector code of our own (`--device native`) and as many threads as PyTorch is given.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { againstMbrl, inThisThread } from './dream-vs-mbrl.js';
import { nativeOf } from './ensemble-fixture.js';

export function run(context: BenchmarkContext): Promise<Measurement> {
  return againstMbrl(context, async (model, batch, threads) => {
    const native = await nativeOf(model, threads);
    return { step: inThisThread(native, batch).step, close: () => native.close() };
  });
}
