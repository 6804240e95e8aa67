// The spread of a model that can only be sampled, as the one Gaussian it is taken for.

import type { Carry } from '../core/dynamics.js';
import { Rng } from '../core/rng.js';
import type { Forecast, VectorDynamics } from './dynamics.js';

/** Samples that a spread is estimated from: known to about 9 %. */
const SAMPLES = 64;
/** Where clipping leaves no spread at all, a likelihood still has to exist. */
const LEAST_STD = 1e-9;

/** One Gaussian about what the model says without noise. The noise is that of one stream, whatever is asked. */
export async function sampledForecast<C extends Carry>(
  model: VectorDynamics<C>,
  carry: C,
  action: Float32Array,
): Promise<Forecast> {
  const rng = Rng.fromSeed(0).split('forecast');
  const { observation: mean } = await model.imagine(carry, action, rng, { deterministic: true });
  const squares = new Float64Array(mean.length);
  for (let sample = 0; sample < SAMPLES; sample++) {
    const { observation } = await model.imagine(carry, action, rng);
    for (let i = 0; i < squares.length; i++) squares[i] += (observation[i] - mean[i]) ** 2;
  }
  const std = Float32Array.from(squares, (sum) => Math.max(Math.sqrt(sum / SAMPLES), LEAST_STD));
  return { components: 1, mean, std };
}
