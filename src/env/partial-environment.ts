// An environment of which only some of the observation is shown: what a camera without a speedometer sees of a pendulum.
// For agents and models that have to remember.

import type {
  Awaitable,
  ResetOptions,
  RestoreOptions,
  SyncVectorEnvironment,
  VectorEnvironment,
} from '../core/environment.js';
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
  const seen = <T extends { readonly observation: Float32Array }>(result: T): T => ({
    ...result,
    observation: look(result.observation),
  });
  const { id, actionSpace, maxEpisodeSteps } = environment;
  return {
    id: `${id} without ${hidden.join(', ')}`,
    family: environment.family,
    ...(environment.synchronous && { synchronous: true as const }),
    observationSpace: boxSpace(
      shown.map((element) => space.low[element]),
      shown.map((element) => space.high[element]),
    ),
    actionSpace,
    maxEpisodeSteps,
    reset: (options?: ResetOptions) => once(environment.reset(options), seen),
    step: (action: Float32Array) => once(environment.step(action), seen),
    snapshot: () => environment.snapshot(),
    restore: (snapshot, options?: RestoreOptions) => once(environment.restore(snapshot, options), look),
    ...(environment.mark && { mark: () => environment.mark!() }),
    close: () => environment.close(),
  };
}

/** At once where the answer is there, so that what is synchronous stays so. */
function once<A, B>(answer: Awaitable<A>, use: (answer: A) => B): Awaitable<B> {
  return answer instanceof Promise ? answer.then(use) : use(answer);
}
