// As dream.vs-ort, with the step computed by vector code of our own (`--device native`), one thread: the same noise, grouping and
// checks. The steps of a single row are waited for on the calling thread, as those of ONNX Runtime are.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { againstOrt, headline, measurementOf } from './dream-vs-ort.js';
import { makeEnsemble, nativeOf } from './ensemble-fixture.js';

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const model = await makeEnsemble();
  const native = await nativeOf(model);
  const { rounds, ...comparison } = await againstOrt(context, model, native);
  const results = await headline(context, comparison);
  await Promise.all([comparison.sessions.release(), native.close(), model.close()]);
  return measurementOf(results, rounds, context.log);
}
