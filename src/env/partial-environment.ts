// Environments that show the last few observations side by side, by which what a single one hides can often be told.

import { z } from 'zod';
import { packFloats, unpackFloats } from '../core/dynamics.js';
import type { Awaitable, SyncVectorEnvironment, VectorEnvironment } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { boxSpace, describeSpace, fromSnapshot } from './space-values.js';

/**
 * `environment` that shows its last `count` observations side by side, the newest last; those before an episode's first are the first
 * again. For models and learners without a memory, where one observation does not tell all. What was known exactly is left out.
 * @throws ENV_SPEC_INVALID for observations that are no box
 */
export function stackObservations(environment: SyncVectorEnvironment, count: number): SyncVectorEnvironment;
export function stackObservations(environment: VectorEnvironment, count: number): VectorEnvironment;
export function stackObservations(environment: VectorEnvironment, count: number): VectorEnvironment {
  const { id, observationSpace: space, family, actionSpace, maxEpisodeSteps, stepSeconds } = environment;
  const problem = `"stack" is for observations in a box, and "${id}" shows a ${describeSpace(space)}; leave it out.`;
  if (space.type !== 'box') throw reverieError('ENV_SPEC_INVALID', { problem });
  const width = space.low.length;
  const times = <T>(values: readonly T[]) => Array.from({ length: count }, () => values).flat();
  const row = z.string().transform(unpackFloats);
  const schema = z.strictObject({ state: z.unknown(), shown: row.refine(({ length }) => length === count * width) });
  let shown: Float32Array = new Float32Array(count * width);
  const show = <T>(result: T, stacked: Float32Array): T => {
    shown = stacked;
    return { ...result, observation: shown.slice() };
  };
  return {
    // By which settings name it.
    ...{ id, family },
    ...(environment.synchronous && { synchronous: true as const }),
    observationSpace: boxSpace(times(space.low), times(space.high)),
    actionSpace,
    maxEpisodeSteps,
    stepSeconds,
    reset: (options) =>
      once(environment.reset(options), (result) => show(result, Float32Array.from(times([...result.observation])))),
    step: (action) =>
      once(environment.step(action), (result) =>
        show(result, Float32Array.from([...shown.subarray(width), ...result.observation])),
      ),
    snapshot: () =>
      once(environment.snapshot(), ({ env, state }) => ({ env, state: { state, shown: packFloats(shown) } })),
    restore: (snapshot, options) => {
      const saved = fromSnapshot(snapshot, id, (stacked) => schema.parse(stacked));
      return once(environment.restore({ env: snapshot.env, state: saved.state }, options), () => {
        shown = saved.shown;
        return shown.slice();
      });
    },
    ...(environment.mark && {
      mark: () => {
        const [takeBack, before] = [environment.mark!(), shown];
        return () => {
          takeBack();
          shown = before;
        };
      },
    }),
    close: () => environment.close(),
  };
}

/** At once where the answer is there, so that what is synchronous stays so. */
function once<A, B>(answer: Awaitable<A>, use: (answer: A) => B): Awaitable<B> {
  return answer instanceof Promise ? answer.then(use) : use(answer);
}
