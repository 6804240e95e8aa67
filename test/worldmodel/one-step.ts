// One step from given observations: begin, then imagine.

import type { Carry, ImagineOptions, Rngs } from '../../src/core/dynamics.js';
import type { VectorDynamics } from '../../src/worldmodel/dynamics.js';
import type { VectorPrediction } from '../../src/worldmodel/memoryless.js';

export async function oneStep(
  model: VectorDynamics,
  obs: Float32Array,
  action: Float32Array,
  rngs: Rngs,
  options?: ImagineOptions,
): Promise<VectorPrediction> {
  return predictionOf(await model.imagine(await model.begin(obs, rngs), action, rngs, options));
}

/** What was imagined, without the memory of it. */
export function predictionOf(imagined: Awaited<ReturnType<VectorDynamics<Carry>['imagine']>>): VectorPrediction {
  const { observation: nextObs, reward, terminated, disagreement } = imagined;
  return { nextObs, reward, terminated, disagreement };
}
