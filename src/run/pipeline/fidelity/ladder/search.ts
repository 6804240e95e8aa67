// Policies that a short search in the real environment improves: rungs between chance and skill for any environment, found
// without a look at the dream. Cross-entropy method on linear policies (Szita & Lőrincz 2006, Neural Computation 18).

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VectorEnvironment } from '../../../../env/index.js';
import { rowSize } from '../../../../env/index.js';
import type { Rng } from '../../../../rng.js';
import { networkAction } from './actors.js';
import { headsOf, type NetworkRecipe, type Normaliser, weightCount } from './recipes.js';

export interface SearchOptions {
  readonly generations: number;
  readonly population: number;
  readonly elites: number;
  /** Of each candidate. */
  readonly episodes: number;
  /** Steps of an episode at most. */
  readonly maxSteps: number;
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

export interface SearchResult {
  /** Mean of the elites after each generation. */
  readonly means: readonly NetworkRecipe[];
  readonly realSteps: number;
}

/** Every candidate of a generation lives the same episodes. */
export async function searchLinear(
  env: VectorEnvironment,
  normaliser: Normaliser,
  options: SearchOptions,
): Promise<SearchResult> {
  const { generations, population, elites, rng, signal } = options;
  const widths = [rowSize(env.observationSpace), headsOf(env.actionSpace)];
  const size = weightCount(widths);
  let mean: Float64Array = new Float64Array(size);
  let spread: Float64Array = new Float64Array(size).fill(1);
  const means: NetworkRecipe[] = [];
  let realSteps = 0;
  for (let generation = 0; generation < generations; generation++) {
    const stream = rng.split('generation', generation);
    const rated: { weights: Float64Array; total: number }[] = [];
    for (let i = 0; i < population; i++) {
      signal?.throwIfAborted();
      const noise = stream.split('candidate', i).fillNormal(new Float64Array(size));
      const weights = noise.map((value, j) => mean[j] + spread[j] * value);
      const recipe: NetworkRecipe = { kind: 'network', widths, weights: Array.from(weights) };
      const { total, steps } = await rate(env, recipe, normaliser, stream, options);
      rated.push({ weights, total });
      realSteps += steps;
    }
    const best = rated.sort((a, b) => b.total - a.total).slice(0, elites);
    mean = mean.map((_, j) => best.reduce((sum, { weights }) => sum + weights[j], 0) / elites);
    spread = spreadOf(best, mean, 0.5 / (generation + 1));
    means.push({ kind: 'network', widths, weights: Array.from(mean) });
  }
  return { means, realSteps };
}

/** Sum of returns over the generation's episodes. */
async function rate(
  env: VectorEnvironment,
  recipe: NetworkRecipe,
  normaliser: Normaliser,
  generation: Rng,
  { episodes, maxSteps }: SearchOptions,
): Promise<{ total: number; steps: number }> {
  let total = 0;
  let steps = 0;
  for (let episode = 0; episode < episodes; episode++) {
    const seed = generation.split('episode', episode).uint32();
    const lived = await tryOut(env, recipe, normaliser, seed, maxSteps);
    total += lived.total;
    steps += lived.steps;
    // An environment that never waits would keep signals from running.
    await nextTurn();
  }
  return { total, steps };
}

/** Standard deviation of the elites; `floor` keeps the search from freezing early. */
function spreadOf(best: readonly { weights: Float64Array }[], mean: Float64Array, floor: number): Float64Array {
  return mean.map((centre, j) => {
    const variance = best.reduce((sum, { weights }) => sum + (weights[j] - centre) ** 2, 0) / best.length;
    return Math.sqrt(variance) + floor;
  });
}

async function tryOut(
  env: VectorEnvironment,
  recipe: NetworkRecipe,
  normaliser: Normaliser,
  seed: number,
  maxSteps: number,
): Promise<{ total: number; steps: number }> {
  let { observation } = await env.reset({ seed });
  let total = 0;
  let steps = 0;
  for (let ended = false; !ended && steps < maxSteps; steps++) {
    const result = await env.step(networkAction(env.actionSpace, recipe, normaliser, observation));
    total += result.reward;
    ended = result.terminated || result.truncated;
    observation = result.observation;
  }
  return { total, steps };
}
