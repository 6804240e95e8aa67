// Training of soft actor-critic by vector code of our own (native/cuda/processor): all of a gradient step in one call, where a graph
// has some three hundred small nodes to hand out.

import { loadAddon, nativeWidth, unshared } from './cuda.js';
import type { SacShape } from './cuda-addon.js';
import { elementCount } from './tensor.js';
import {
  feedMismatch,
  requireFeeds,
  requireFiniteResult,
  type Trainer,
  type TrainerResult,
  type TrainerRun,
  type TrainerSpec,
} from './trainer.js';

const METRICS = ['criticLoss', 'policyLoss', 'alpha', 'entropy', 'q'];

/**
 * A trainer that takes and answers what one of `spec` does, as sums in another order come to; the same bytes on every processor.
 * @param spec what is fed; its body is not run
 * @throws NATIVE_UNAVAILABLE without the addon
 */
export function nativeSacTrainer(spec: TrainerSpec, shape: SacShape): Trainer {
  const width = nativeWidth();
  const learner = loadAddon().makeSac(shape, width);
  return {
    run: async (run) => {
      requireSizes(spec, run);
      const result = emptyResult(run);
      await loadAddon().runSac(learner, run.steps, result.state, unsharedFeeds(run), result.metrics);
      requireFiniteResult(spec, result);
      return result;
    },
    release: async () => {},
  };
}

/** Copies of what was fed, to be changed by the steps. */
function emptyResult({ state, steps }: TrainerRun): TrainerResult {
  return {
    state: Object.fromEntries(Object.entries(state).map(([name, values]) => [name, Float32Array.from(values)])),
    metrics: Object.fromEntries(METRICS.map((name) => [name, new Float32Array(steps)])),
  };
}

function unsharedFeeds({ perStep = {} }: TrainerRun): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(perStep).map(([name, values]) => [name, unshared(values as Float32Array)]));
}

function requireSizes(spec: TrainerSpec, run: TrainerRun): void {
  requireFeeds(spec, run);
  for (const [name, shape] of Object.entries(spec.state)) {
    requireSize(spec, `state "${name}"`, run.state[name], shape);
  }
  for (const [name, { shape }] of Object.entries(spec.perStep ?? {})) {
    requireSize(spec, `step "${name}"`, run.perStep![name], [run.steps, ...shape]);
  }
}

function requireSize(spec: TrainerSpec, what: string, values: unknown, shape: readonly number[]): void {
  const size = elementCount(shape);
  if (values instanceof Float32Array && values.length === size) return;
  const problem = values instanceof Float32Array ? `${values.length} elements for ${what}` : `no float32 for ${what}`;
  throw feedMismatch(spec, problem, `float32[${shape.join(', ')}]`);
}
