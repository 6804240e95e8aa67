// How good a policy is, for real or in a dream: whole episodes with seeds of their own.

import type { VectorEnvironment } from '../core/environment.js';
import type { Policy } from '../core/policy.js';
import { Acting } from '../core/policy.js';
import { Rng } from '../core/rng.js';
import { mean, sampleDeviation } from '../core/statistics.js';

export interface EvaluateOptions {
  readonly episodes: number;
  /** Episode i resets with seed + i and acts from a stream of (seed, i): episodes do not depend on one another. */
  readonly seed: number;
  /** Act by the policy's mode; default true. */
  readonly deterministic?: boolean;
  /** Ends episodes of environments without a clock; default: the environment's own, or 10,000. */
  readonly maxEpisodeSteps?: number;
  readonly signal?: AbortSignal;
}

export interface Evaluation {
  /** Per episode: undiscounted return, and steps lived. */
  readonly returns: Float64Array;
  readonly lengths: Uint32Array;
  readonly meanReturn: number;
  /** Sample standard deviation over episodes; 0 for one. */
  readonly stdReturn: number;
  /** Episodes ended by `maxEpisodeSteps` alone. */
  readonly cut: number;
}

/**
 * Runs `episodes` episodes. A factory's environment is closed afterwards; a given one is left open, mid-episode.
 * Throws what the environment throws, and the signal's reason when aborted.
 */
export async function evaluatePolicy(
  env: VectorEnvironment | (() => VectorEnvironment | Promise<VectorEnvironment>),
  policy: Policy,
  options: EvaluateOptions,
): Promise<Evaluation> {
  const own = typeof env === 'function';
  const target = own ? await env() : env;
  try {
    return await evaluateOn(target, policy, options);
  } finally {
    if (own) await target.close();
  }
}

async function evaluateOn(env: VectorEnvironment, policy: Policy, options: EvaluateOptions): Promise<Evaluation> {
  const returns = new Float64Array(options.episodes);
  const lengths = new Uint32Array(options.episodes);
  let cut = 0;
  for (let i = 0; i < options.episodes; i++) {
    const episode = await runEpisode(env, policy, i, options);
    returns[i] = episode.reward;
    lengths[i] = episode.steps;
    if (!episode.ended) cut++;
  }
  return { returns, lengths, cut, ...spread(returns) };
}

async function runEpisode(env: VectorEnvironment, policy: Policy, index: number, options: EvaluateOptions) {
  const rng = Rng.fromSeed(options.seed).split('episode', index);
  const deterministic = options.deterministic ?? true;
  const limit = options.maxEpisodeSteps ?? env.maxEpisodeSteps ?? 10_000;
  const acting = new Acting(policy, 1);
  let { observation } = await env.reset({ seed: options.seed + index });
  let reward = 0;
  let steps = 0;
  let ended = false;
  while (!ended && steps < limit) {
    options.signal?.throwIfAborted();
    const { action } = await acting.act(observation, rng, { deterministic });
    const result = await env.step(action);
    reward += result.reward;
    steps++;
    ended = result.terminated || result.truncated;
    observation = result.observation;
  }
  return { reward, steps, ended };
}

/** Returns and lengths of a handful of episodes, in a few numbers. */
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
    ...spread(values),
    minReturn: Math.min(...values),
    maxReturn: Math.max(...values),
    meanLength: mean(lengths),
  };
}

function spread(returns: ArrayLike<number>): { meanReturn: number; stdReturn: number } {
  return { meanReturn: mean(returns), stdReturn: sampleDeviation(returns) };
}
