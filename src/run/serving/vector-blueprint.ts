// A vector environment, real or dreamt, as data that another thread makes it from.

import type { VectorEnvironment } from '../../core/environment.js';
import type { EnvSpec } from '../../env/env-spec.js';
import { makeEnvironment } from '../../env/make-environment.js';
import type { WorldModelSnapshot } from '../../worldmodel/dynamics.js';
import type { RunDevice } from '../device.js';
import type { Blueprint, EnvironmentMaker, MakerThread } from './blueprint.js';

export type VectorBlueprint = Blueprint & (RealBlueprint | DreamBlueprint);

interface RealBlueprint {
  readonly source: 'real';
  readonly env: EnvSpec;
}

interface DreamBlueprint {
  readonly source: 'dream';
  /** The environment it is a dream of. */
  readonly of: EnvSpec;
  readonly id: string;
  readonly model: WorldModelSnapshot;
  /** What the model runs on; the processor unless given. */
  readonly device?: RunDevice;
  /** Rows [n, obsDim] to start from. */
  readonly starts: Float32Array;
  readonly maxEpisodeSteps?: number;
  /** As `rollout.range` of a scenario: where an episode leaves what the model was shown. */
  readonly range?: number | null;
}

/**
 * Dreams of one blueprint share their model.
 * @param thread  `batched` is put between the dreams and their model; nothing is, unless given
 * @throws as `makeEnvironment` and `loadWorldModel`
 */
export async function vectorMaker(
  blueprint: VectorBlueprint,
  { batched = (model) => model }: Partial<MakerThread> = {},
): Promise<EnvironmentMaker<VectorEnvironment>> {
  if (blueprint.source === 'real') return { make: () => makeEnvironment(blueprint.env), close: async () => {} };
  // Real environments need no networks, nor their runtime.
  const { Dream } = await import('../../worldmodel/dream.js');
  const { loadWorldModel } = await import('../../worldmodel/kinds.js');
  const { id, starts, maxEpisodeSteps, range, device } = blueprint;
  const model = batched(await loadWorldModel(blueprint.model, { device }));
  return { make: async () => new Dream({ id, model, starts, maxEpisodeSteps, range }), close: () => model.close() };
}
