// An environment of which only some of the observation is shown: what a camera without a speedometer sees of a pendulum.
// For agents and models that have to remember.

import type {
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  SyncVectorEnvironment,
} from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { boxSpace } from './space-values.js';

/**
 * `environment` with the elements `hidden` of its observation left out. Its snapshots are those of the whole environment.
 * What was known exactly about reward and end is left out too, as it may depend on what is hidden.
 * @throws ENV_SPEC_INVALID for elements that are not there, or if none would be left
 */
export function hideElements(environment: SyncVectorEnvironment, hidden: readonly number[]): SyncVectorEnvironment {
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
    synchronous: true,
    observationSpace: boxSpace(
      shown.map((element) => space.low[element]),
      shown.map((element) => space.high[element]),
    ),
    actionSpace,
    maxEpisodeSteps,
    reset: (options?: ResetOptions): ResetResult<Float32Array> => seen(environment.reset(options)),
    step: (action: Float32Array): StepResult<Float32Array> => seen(environment.step(action)),
    snapshot: () => environment.snapshot(),
    restore: (snapshot, options?: RestoreOptions) => look(environment.restore(snapshot, options)),
    ...(environment.mark && { mark: () => environment.mark!() }),
    close: () => environment.close(),
  };
}
