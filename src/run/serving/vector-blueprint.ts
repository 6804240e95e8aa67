// A vector environment, real or dreamt, as data that another thread can make it from.

import { type EnvSpec, makeEnvironment, type VectorEnvironment } from '../../env/index.js';
import type { VectorDynamics, WorldModelSnapshot } from '../../worldmodel/index.js';
import type { RunDevice } from '../device.js';

/** Structured-clonable. */
export type VectorBlueprint =
  | { readonly source: 'real'; readonly env: EnvSpec }
  | {
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
    };

/** Makes any number of environments of one blueprint; those of a dream share its model, which `close` closes. */
export interface VectorMaker {
  make(): Promise<VectorEnvironment>;
  close(): Promise<void>;
}

/**
 * @param wrap  puts something between the dreams and the model they share, e.g. what batches their steps
 * @throws as `makeEnvironment` and `loadWorldModel`
 */
export async function vectorMaker(
  blueprint: VectorBlueprint,
  wrap: (model: VectorDynamics) => VectorDynamics = (model) => model,
): Promise<VectorMaker> {
  if (blueprint.source === 'real') return { make: () => makeEnvironment(blueprint.env), close: async () => {} };
  // Real environments need no networks, nor their runtime.
  const { Dream, loadWorldModel } = await import('../../worldmodel/index.js');
  const { id, starts, maxEpisodeSteps, device } = blueprint;
  const model = wrap(await loadWorldModel(blueprint.model, { device }));
  return { make: async () => new Dream({ id, model, starts, maxEpisodeSteps }), close: () => model.close() };
}
