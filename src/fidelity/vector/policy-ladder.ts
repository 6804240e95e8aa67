// Which policies a ladder has: from chance to the best there is, chosen without a look at the dream, so that the dream is not
// asked about policies it was picked for.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VectorEnvironment } from '../../core/environment.js';
import type { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/space-values.js';
import { RandomPolicy } from '../../rl/policies.js';
import {
  headsOf,
  type Ladder,
  type NamedRecipe,
  type NetworkRecipe,
  type Normaliser,
  networkAction,
  type Recipe,
  randomNetwork,
  scriptFor,
  weightCount,
} from './ladder-policies.js';

export interface LadderOptions {
  /** Rungs; at least 8 are needed to speak of rank. More where more policies were kept on the way. */
  readonly policies: number;
  /** Whether there is a checkpoint. */
  readonly hasCheckpoint: boolean;
  /** Whether its learner plans: a rung of its own. */
  readonly hasPlanner?: boolean;
  /** Real steps after which it was kept on the way, ascending: each is a rung. */
  readonly earlier?: readonly number[];
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

const NORMALISER_STEPS = 1000;
const SEARCH = { generations: 8, population: 10, elites: 3, episodes: 2, maxSteps: 500 } as const;
/** Generations after which the search is stopped for a rung, those first that tell most where a ladder is short. */
const RUNGS = [8, 3, 5, 1] as const;
/** Shares of random actions. */
const MIXTURES = [0.5, 0.25, 0.75, 0.1, 0.9] as const;

/** Throws SCENARIO_UNFIT for an action box without finite bounds. */
export async function planLadder(env: VectorEnvironment, options: LadderOptions): Promise<Ladder> {
  const normaliser = await normaliserOf(env, options.rng.split('normaliser'));
  return options.hasCheckpoint ? trainedLadder(env, normaliser, options) : searchedLadder(env, normaliser, options);
}

function trainedLadder(
  env: VectorEnvironment,
  normaliser: Normaliser,
  { policies: wanted, earlier = [], hasPlanner = false, rng }: LadderOptions,
): Ladder {
  const rungs = [...fixed(), ...keptOnTheWay(earlier), ...(hasPlanner ? [PLANNER] : []), CHECKPOINT];
  const all = [
    ...rungs,
    ...mixtures('checkpoint', CHECKPOINT.recipe, MIXTURES),
    ...scripted(env.id),
    ...blindPolicies(env, rng.split('blind'), wanted),
  ];
  const way = earlier.length === 0 ? '' : `, as it was at ${earlier.length} times on the way`;
  const planner = hasPlanner ? ` ${PLANNER_NOTE}` : '';
  const note = `The ladder: the checkpoint${way}, mixed with random actions to several shares, and policies that know nothing.${planner}`;
  return {
    policies: all.slice(0, Math.max(wanted, rungs.length)),
    normaliser,
    realSteps: NORMALISER_STEPS,
    notes: [note],
  };
}

async function searchedLadder(
  env: VectorEnvironment,
  normaliser: Normaliser,
  { policies: wanted, rng, signal }: LadderOptions,
): Promise<Ladder> {
  const search = await searchLinear(env, normaliser, { ...SEARCH, rng: rng.split('search'), signal });
  const found = RUNGS.map((generations): NamedRecipe => {
    const name = `searched, ${generations} generation${generations === 1 ? '' : 's'}`;
    return { name, recipe: search.means[generations - 1] };
  });
  const known = scripted(env.id);
  const first = known.length > 0 ? 1 : 3;
  const blind = blindPolicies(env, rng.split('blind'), wanted);
  const best = [...fixed(), ...known, ...found.slice(0, first), ...blind.slice(0, 3)];
  const policies = [...best, ...found.slice(first), ...blind.slice(3)].slice(0, wanted);
  const realSteps = NORMALISER_STEPS + search.realSteps;
  const note = `The ladder: random, scripted where a controller is known, drawn at random, and found by a search of ${search.realSteps} real steps; none was chosen by the dream. Give --checkpoint to have a trained policy in it.`;
  return { policies, normaliser, realSteps, notes: [note] };
}

function fixed(): NamedRecipe[] {
  return [
    { name: 'random', recipe: { kind: 'random' } },
    { name: 'zero action', recipe: { kind: 'zero' } },
  ];
}

const PLANNER: NamedRecipe = { name: 'planner', recipe: { kind: 'planner' } };
const PLANNER_NOTE =
  "The planner plans at every step in the model of the checkpoint's run; where that is the model judged here, its optimism is what planning takes advantage of. The checkpoint is what it taught.";
const CHECKPOINT: NamedRecipe = { name: 'checkpoint', recipe: { kind: 'checkpoint' } };

function keptOnTheWay(steps: readonly number[]): NamedRecipe[] {
  return steps.map((realSteps) => ({
    name: `after ${realSteps.toLocaleString('en')} steps`,
    recipe: { kind: 'checkpoint', realSteps },
  }));
}

function scripted(environment: string): NamedRecipe[] {
  if (scriptFor(environment) === undefined) return [];
  return [
    { name: 'scripted', recipe: { kind: 'scripted' } },
    ...mixtures('scripted', { kind: 'scripted' }, MIXTURES.slice(0, 3)),
  ];
}

function mixtures(name: string, of: Recipe, shares: readonly number[]): NamedRecipe[] {
  return shares.map((epsilon) => ({
    name: `${name}, ${Math.round(100 * epsilon)} % random`,
    recipe: { kind: 'mixed', epsilon, of },
  }));
}

/** Policies that know nothing of the task, each of another kind in turn. */
function blindPolicies(env: VectorEnvironment, rng: Rng, count: number): NamedRecipe[] {
  const ends = [rowSize(env.observationSpace), headsOf(env.actionSpace)];
  return Array.from({ length: count }, (_, i): NamedRecipe => {
    const stream = rng.split(i);
    const number = Math.floor(i / 3) + 1;
    if (i % 3 === 0) return { name: `bang-bang ${number}`, recipe: randomNetwork(ends, stream, true) };
    if (i % 3 === 1) return { name: `linear ${number}`, recipe: randomNetwork(ends, stream) };
    return { name: `network ${number}`, recipe: randomNetwork([ends[0], 16, ends[1]], stream) };
  });
}

/** From real steps with random actions. */
async function normaliserOf(env: VectorEnvironment, rng: Rng): Promise<Normaliser> {
  const policy = new RandomPolicy(env.actionSpace);
  const rows: Float32Array[] = [];
  let observation: Float32Array | undefined;
  for (let i = 0; i < NORMALISER_STEPS; i++) {
    observation ??= (await env.reset({ seed: rng.split('reset', i).uint32() })).observation;
    rows.push(observation);
    const result = await env.step(policy.act(observation, 1, rng).action);
    observation = result.terminated || result.truncated ? undefined : result.observation;
  }
  const mean = Array.from(rows[0], (_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
  const std = mean.map((centre, j) => {
    const deviation = Math.sqrt(rows.reduce((sum, row) => sum + (row[j] - centre) ** 2, 0) / rows.length);
    return deviation < 1e-6 ? 1 : deviation;
  });
  return { mean, std };
}

// Policies that a short search in the real environment improves: rungs between chance and skill for any environment, found
// without a look at the dream. Cross-entropy method on linear policies (Szita & Lőrincz 2006, Neural Computation 18).

interface SearchOptions {
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

interface SearchResult {
  /** Mean of the elites after each generation. */
  readonly means: readonly NetworkRecipe[];
  readonly realSteps: number;
}

/** Every candidate of a generation lives the same episodes. */
async function searchLinear(
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
