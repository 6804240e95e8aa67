// Training by vector code of our own (native/cuda/processor): all of a gradient step in one call, where a graph has hundreds of small
// nodes to hand out. Each trainer takes and answers what the graph of its spec does, as sums in another order come to; the same
// bytes on every processor.

import { loadAddon, nativeWidth, unshared } from './cuda.js';
import type { Feeds, MemberTrainingShape, RedqShape, SacShape } from './cuda-addon.js';
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

/** What gradient steps run on: ONNX Runtime, or vector code of our own, for what has it. */
export type TrainingDevice = 'cpu' | 'native';

type Arrays = Record<string, Float32Array>;

/**
 * Soft actor-critic.
 * @param spec what is fed; its body is not run
 * @throws DEVICE_UNAVAILABLE without the addon
 */
export function nativeSacTrainer(spec: TrainerSpec, shape: SacShape): Trainer {
  const width = nativeWidth();
  const learner = loadAddon().makeSac(shape, width);
  const metrics = ['criticLoss', 'policyLoss', 'alpha', 'entropy', 'q'];
  return trainerOf(spec, metrics, (run, result) =>
    loadAddon().runSac(learner, run.steps, result.state, unsharedOf(run.perStep) as Arrays, result.metrics),
  );
}

/** The critics of an ensemble, and their policy. See `nativeSacTrainer`. */
export function nativeRedqTrainers(
  specs: { readonly critics: TrainerSpec; readonly policy: TrainerSpec },
  shape: RedqShape,
): { critics: Trainer; policy: Trainer } {
  const learner = loadAddon().makeRedq(shape, nativeWidth());
  return {
    critics: trainerOf(specs.critics, ['criticLoss', 'q'], ({ steps, inputs, perStep }, { state, metrics }) =>
      loadAddon().runCritics(learner, steps, state, unsharedOf(inputs) as Arrays, unsharedOf(perStep), metrics),
    ),
    policy: trainerOf(
      specs.policy,
      ['policyLoss', 'alpha', 'entropy'],
      ({ steps, inputs, perStep }, { state, metrics }) =>
        loadAddon().runPolicy(learner, steps, state, unsharedOf(inputs) as Arrays, unsharedOf(perStep), metrics),
    ),
  };
}

/** A member of an ensemble. See `nativeSacTrainer`. */
export function nativeMemberTrainer(spec: TrainerSpec, shape: MemberTrainingShape): Trainer {
  const width = nativeWidth();
  const learner = loadAddon().makeMember(shape, width);
  return trainerOf(spec, ['nll'], (run, result) => {
    const rows = unsharedOf(run.inputs) as Arrays;
    return loadAddon().runMember(learner, run.steps, result.state, rows, unsharedOf(run.perStep), result.metrics);
  });
}

function trainerOf(
  spec: TrainerSpec,
  metrics: readonly string[],
  steps: (run: TrainerRun, result: TrainerResult) => Promise<void>,
): Trainer {
  return {
    run: async (run) => {
      requireSizes(spec, run);
      const result = {
        // To be changed by the steps.
        state: Object.fromEntries(Object.entries(run.state).map(([name, values]) => [name, values.slice()])),
        metrics: Object.fromEntries(metrics.map((name) => [name, new Float32Array(run.steps)])),
      };
      await steps(run, result);
      requireFiniteResult(spec, result);
      return result;
    },
    release: async () => {},
  };
}

function unsharedOf(feeds: TrainerRun['inputs'] = {}): Feeds {
  const unsharedValues = Object.entries(feeds).map(([name, values]) => {
    return [name, values instanceof Float32Array ? unshared(values) : values];
  });
  return Object.fromEntries(unsharedValues) as Feeds;
}

function requireSizes(spec: TrainerSpec, run: TrainerRun): void {
  requireFeeds(spec, run);
  for (const [name, shape] of Object.entries(spec.state)) {
    requireSize(spec, `state "${name}"`, run.state[name].length, shape);
  }
  for (const [name, { shape }] of Object.entries(spec.perStep ?? {})) {
    requireSize(spec, `step "${name}"`, run.perStep![name].length, [run.steps, ...shape]);
  }
}

function requireSize(spec: TrainerSpec, what: string, elements: number, shape: readonly number[]): void {
  if (elements === elementCount(shape)) return;
  throw feedMismatch(spec, `${elements} elements for ${what}`, `[${shape.join(', ')}]`);
}
