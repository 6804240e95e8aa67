// An environment of Python's Gymnasium as one of ours. Its state cannot be read, so an episode is what brings it back, in a new process
// as well.

import { ReplayedEnvironment } from '../replayed/replayed-environment.js';
import { rowSize } from '../space-values.js';
import type { GymnasiumSpec } from './python-process.js';
import { type Place, placeFor } from './shared-process.js';

/** @throws ENV_UNUSABLE, GYMNASIUM_MISSING, GYMNASIUM_IMPORT, GYMNASIUM_UNKNOWN, GYMNASIUM_SPACE, GYMNASIUM_TIMEOUT */
export async function openGymnasium(spec: GymnasiumSpec): Promise<ReplayedEnvironment> {
  const form = (told: Place['spaces']) => ({ size: rowSize(told.observation), dtype: told.dtype });
  const { timeoutSeconds: _, ...configuration } = spec;
  return new ReplayedEnvironment(
    { id: spec.id, configuration: JSON.stringify(configuration) },
    await placeFor(spec, form),
  );
}
