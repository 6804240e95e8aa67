// How good a policy is, in any environment: whole episodes with seeds of their own.

import type { VectorEnvironment } from '../core/environment.js';
import { Acting, type Policy } from '../core/policy.js';
import { Rng } from '../core/rng.js';
import { mean, sampleDeviation } from '../core/statistics.js';

interface EvaluateOptions {
  readonly episodes: number;
  /** Episode i resets with seed + i and acts from a stream of (seed, i): episodes do not depend on one another. */
  readonly seed: number;
  /** Act by the policy's mode; default true. */
  readonly deterministic?: boolean;
  /** Ends episodes of environments without a clock; default: the environment's own, or 10,000. */
  readonly maxEpisodeSteps?: number;
  readonly signal?: AbortSignal;
}

/** Runs `episodes` episodes. Throws what the environment throws, and the signal's reason when aborted. */
export async function evaluatePolicy(
  env: VectorEnvironment,
  policy: Policy,
  { episodes, seed, deterministic = true, maxEpisodeSteps = env.maxEpisodeSteps ?? 10_000, signal }: EvaluateOptions,
): Promise<ReturnSummary & { readonly returns: Float64Array; readonly lengths: Uint32Array }> {
  const returns = new Float64Array(episodes);
  const lengths = new Uint32Array(episodes);
  for (let episode = 0; episode < episodes; episode++) {
    const rng = Rng.fromSeed(seed).split('episode', episode);
    const acting = new Acting(policy, 1);
    let { observation } = await env.reset({ seed: seed + episode });
    for (let ended = false; !ended && lengths[episode] < maxEpisodeSteps; lengths[episode]++) {
      signal?.throwIfAborted();
      const { action } = await acting.act(observation, rng, { deterministic });
      const result = await env.step(action);
      returns[episode] += result.reward;
      ended = result.terminated || result.truncated;
      observation = result.observation;
    }
  }
  return { returns, lengths, ...summariseReturns(returns, lengths) };
}

/** Undiscounted returns, and steps, of a handful of episodes, in a few numbers. */
export interface ReturnSummary {
  readonly episodes: number;
  readonly meanReturn: number;
  /** Sample standard deviation over episodes; 0 for one. */
  readonly stdReturn: number;
  readonly minReturn: number;
  readonly maxReturn: number;
  readonly meanLength: number;
}

export function summariseReturns(returns: ArrayLike<number>, lengths: ArrayLike<number>): ReturnSummary {
  const values = Array.from(returns);
  return {
    episodes: values.length,
    meanReturn: mean(values),
    stdReturn: sampleDeviation(values),
    minReturn: values.reduce((least, value) => Math.min(least, value), Infinity),
    maxReturn: values.reduce((most, value) => Math.max(most, value), -Infinity),
    meanLength: mean(lengths),
  };
}
