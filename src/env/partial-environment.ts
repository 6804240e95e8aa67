// Environments whose observation is not the whole state: some elements hidden, as a camera without a speedometer sees a pendulum, or the last
// few observations side by side, by which what is hidden can often be told.

import { packFloats, unpackFloats } from '../core/dynamics.js';
import type { Awaitable, ResetOptions, SyncVectorEnvironment, VectorEnvironment } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { boxSpace } from './space-values.js';

/**
 * `environment` with the elements `hidden` of its observation left out. Its snapshots are those of the whole environment.
 * What was known exactly about reward and end is left out too, as it may depend on what is hidden.
 * @throws ENV_SPEC_INVALID for elements that are not there, or if none would be left
 */
export function hideElements(environment: SyncVectorEnvironment, hidden: readonly number[]): SyncVectorEnvironment;
export function hideElements(environment: VectorEnvironment, hidden: readonly number[]): VectorEnvironment;
export function hideElements(environment: VectorEnvironment, hidden: readonly number[]): VectorEnvironment {
  const space = environment.observationSpace;
  const size = space.type === 'box' ? space.low.length : 1;
  const wrong = hidden.find((element) => !Number.isInteger(element) || element < 0 || element >= size);
  const shown = Array.from({ length: size }, (_, element) => element).filter((element) => !hidden.includes(element));
  if (space.type !== 'box' || wrong !== undefined || shown.length === 0) {
    const asked = wrong === undefined ? `all ${size} elements` : `element ${wrong} of ${size}`;
    throw reverieError('ENV_SPEC_INVALID', { problem: `"hide" names ${asked} of the observation.` });
  }
  const look = (whole: Float32Array) => Float32Array.from(shown, (element) => whole[element]);
  return seenThrough(environment, {
    id: `${environment.id} without ${hidden.join(', ')}`,
    observationSpace: boxSpace(
      shown.map((element) => space.low[element]),
      shown.map((element) => space.high[element]),
    ),
    first: look,
    next: look,
    restore: (snapshot, options) => once(environment.restore(snapshot, options), look),
  });
}

/**
 * `environment` that shows its last `count` observations side by side, the newest last; those before an episode's first are the first
 * again. For models and learners without a memory, where one observation does not tell all. What was known exactly is left out.
 * @throws ENV_SPEC_INVALID for observations that are no box
 */
export function stackObservations(environment: SyncVectorEnvironment, count: number): SyncVectorEnvironment;
export function stackObservations(environment: VectorEnvironment, count: number): VectorEnvironment;
export function stackObservations(environment: VectorEnvironment, count: number): VectorEnvironment {
  const space = environment.observationSpace;
  if (space.type !== 'box')
    throw reverieError('ENV_SPEC_INVALID', { problem: '"stack" is for observations in a box.' });
  const width = space.low.length;
  const times = <T>(values: readonly T[]) => Array.from({ length: count }, () => values).flat();
  let shown: Float32Array = new Float32Array(count * width);
  const first = (observation: Float32Array) => {
    shown = Float32Array.from({ length: count * width }, (_, i) => observation[i % width]);
    return shown;
  };
  const next = (observation: Float32Array) => {
    const moved = new Float32Array(count * width);
    moved.set(shown.subarray(width), 0);
    moved.set(observation, (count - 1) * width);
    shown = moved;
    return shown;
  };
  return seenThrough(environment, {
    id: `${environment.id}, ${count} stacked`,
    observationSpace: boxSpace(times(space.low), times(space.high)),
    first,
    next,
    snapshot: () =>
      once(environment.snapshot(), ({ env, state }) => ({ env, state: { state, shown: packFloats(shown) } })),
    restore: ({ env, state: stacked }, options) => {
      const { state, shown: packed } = stacked as { readonly state: unknown; readonly shown: string };
      return once(environment.restore({ env, state }, options), () => {
        shown = unpackFloats(packed);
        return shown;
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
  });
}

type Own = Pick<VectorEnvironment, 'id' | 'observationSpace' | 'restore'> & Partial<VectorEnvironment>;

/** `environment` with what is shown first and after a step changed, and `own` in place of what it has itself. */
function seenThrough(
  environment: VectorEnvironment,
  { first, next, ...own }: Own & { readonly [When in 'first' | 'next']: (observation: Float32Array) => Float32Array },
): VectorEnvironment {
  const through =
    (look: (observation: Float32Array) => Float32Array) =>
    <T extends { readonly observation: Float32Array }>(result: T): T => ({
      ...result,
      observation: look(result.observation),
    });
  const { family, actionSpace, maxEpisodeSteps } = environment;
  return {
    family,
    ...(environment.synchronous && { synchronous: true as const }),
    actionSpace,
    maxEpisodeSteps,
    reset: (options?: ResetOptions) => once(environment.reset(options), through(first)),
    step: (action: Float32Array) => once(environment.step(action), through(next)),
    snapshot: () => environment.snapshot(),
    ...(environment.mark && { mark: () => environment.mark!() }),
    close: () => environment.close(),
    ...own,
  };
}

/** At once where the answer is there, so that what is synchronous stays so. */
function once<A, B>(answer: Awaitable<A>, use: (answer: A) => B): Awaitable<B> {
  return answer instanceof Promise ? answer.then(use) : use(answer);
}
