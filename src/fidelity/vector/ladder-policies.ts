// The policies of a ladder: from chance to the best there is, chosen without a look at the simulation, so that it is not asked
// about policies it was picked for. They are plain data, so that what was found once acts the same in every thread and restart.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VectorEnvironment, VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { Acting, type Policy } from '../../core/policy.js';
import type { Rng } from '../../core/rng.js';
import { clipToSpace, rowSize } from '../../env/space-values.js';
import { RandomPolicy } from '../../rl/policies.js';

/** A small network: layers of [outputs, inputs + 1] weights, row-major, the last of each row a bias; tanh in between. */
export interface NetworkRecipe {
  readonly kind: 'network';
  readonly widths: readonly number[];
  readonly weights: readonly number[];
  /** Its outputs count by their sign alone: full force this way or that. */
  readonly bangBang?: boolean;
}

export type Recipe =
  | { readonly kind: 'random' }
  | { readonly kind: 'zero' }
  | { readonly kind: 'scripted' }
  /** The policy of `--checkpoint`, by its mode; with `realSteps` as it was after so many. */
  | { readonly kind: 'checkpoint'; readonly realSteps?: number }
  /** The planner of `--checkpoint`, in the world model of its own run. */
  | { readonly kind: 'planner' }
  | NetworkRecipe
  /** A random action with this probability, each step; else what `of` does. */
  | { readonly kind: 'mixed'; readonly epsilon: number; readonly of: Recipe };

export interface NamedRecipe {
  readonly name: string;
  readonly recipe: Recipe;
}

/** Mean and standard deviation of each element, so that weights mean the same in every environment. */
export interface Normaliser {
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export interface Ladder {
  readonly policies: readonly NamedRecipe[];
  readonly normaliser: Normaliser;
  readonly notes: readonly string[];
}

/** obs [obsDim] to an action within the space; all its randomness comes from `rng`. */
export type Actor = (obs: Float32Array, rng: Rng) => Float32Array | Promise<Float32Array>;

/** What `--checkpoint` names. */
export interface TrainedPolicies {
  readonly last: Policy;
  /** By real steps: as it was on the way. */
  readonly earlier: ReadonlyMap<number, Policy>;
  /** Where its learner plans. */
  readonly planner?: Policy;
}

interface ActorParts {
  readonly env: Pick<VectorEnvironment, 'id' | 'actionSpace'>;
  readonly normaliser: Normaliser;
  readonly trained?: TrainedPolicies;
}

/**
 * Acts in one episode, a row at a time; all randomness is from the row's own stream, so that a policy draws the same noise for
 * real and in the simulation. Throws SCENARIO_UNFIT for an action box without finite bounds.
 */
export function actorOf(recipe: Recipe, parts: ActorParts): Actor {
  const { actionSpace } = parts.env;
  const act = bareActor(recipe, parts);
  return async (obs, rng) => clipToSpace(actionSpace, await act(obs, rng));
}

function bareActor(recipe: Recipe, parts: ActorParts): Actor {
  const { env, normaliser, trained } = parts;
  switch (recipe.kind) {
    case 'random':
      return randomActor(env.actionSpace);
    case 'zero':
      return () => fromHeads(env.actionSpace, new Float64Array(headsOf(env.actionSpace)));
    case 'scripted':
      return SCRIPTS[env.id];
    case 'checkpoint':
      return trainedActor(
        recipe.realSteps === undefined ? trained?.last : trained?.earlier.get(recipe.realSteps),
        env.id,
      );
    case 'planner':
      return trainedActor(trained?.planner, env.id);
    case 'network':
      return (obs) => networkAction(env.actionSpace, recipe, normaliser, obs);
    case 'mixed':
      return mixedActor(recipe.epsilon, bareActor(recipe.of, parts), randomActor(env.actionSpace));
  }
}

function randomActor(space: VectorSpace): Actor {
  const policy = new RandomPolicy(space);
  return (obs, rng) => policy.act(obs, 1, rng).action;
}

function trainedActor(policy: Policy | undefined, env: string): Actor {
  if (policy === undefined) {
    throw reverieError('INPUT_NEEDED', {
      problem: `This needs a policy for ${env}, and --checkpoint was not given.`,
      hint: `Give --checkpoint FOLDER: one that holds a policy for ${env}, or a run that does.`,
    });
  }
  const acting = new Acting(policy, 1);
  return async (obs, rng) => (await acting.act(obs, rng, { deterministic: true })).action;
}

/** Both policies draw from streams of their own, so that whether an action was random changes no later draw. */
function mixedActor(epsilon: number, inner: Actor, random: Actor): Actor {
  return (obs, rng) => {
    const isRandom = rng.uniform() < epsilon;
    const own = rng.split('action', rng.uint32());
    return isRandom ? random(obs, own) : inner(obs, own);
  };
}

/** Outputs a network needs to choose an action: one an element, or one a choice. */
export function headsOf(space: VectorSpace): number {
  return space.type === 'discrete' ? space.n : rowSize(space);
}

/** Outputs to an action: squashed into the box, or the choice with the highest. */
export function fromHeads(space: VectorSpace, heads: Float64Array): Float32Array {
  if (space.type === 'discrete') return Float32Array.of(space.start + heads.indexOf(Math.max(...heads)));
  return Float32Array.from(heads, (value, i) => {
    const [low, high] = [space.low[i] ?? -1, space.high[i] ?? 1];
    return (low + high) / 2 + ((high - low) / 2) * Math.tanh(value);
  });
}

function networkAction(
  space: VectorSpace,
  { widths, weights, bangBang }: NetworkRecipe,
  { mean, std }: Normaliser,
  obs: Float32Array,
): Float32Array {
  let layer = Float64Array.from(obs, (value, i) => Math.min(Math.max((value - mean[i]) / std[i], -10), 10));
  let at = 0;
  for (let depth = 1; depth < widths.length; depth++) {
    const next = new Float64Array(widths[depth]);
    for (let i = 0; i < next.length; i++) {
      let sum = weights[at + layer.length];
      for (let j = 0; j < layer.length; j++) sum += weights[at + j] * layer[j];
      next[i] = depth + 1 < widths.length ? Math.tanh(sum) : sum;
      at += layer.length + 1;
    }
    layer = next;
  }
  return fromHeads(space, bangBang ? layer.map((value) => (value < 0 ? -20 : 20)) : layer);
}

/** Weights drawn so that a layer's outputs are about as large as its inputs. */
function randomNetwork(widths: readonly number[], rng: Rng, bangBang = false): NetworkRecipe {
  const weights = widths.slice(1).flatMap((outputs, layer) => {
    const inputs = widths[layer] + 1;
    return Array.from({ length: outputs * inputs }, () => rng.normal() / Math.sqrt(inputs));
  });
  return { kind: 'network', widths, weights, ...(bangBang ? { bangBang } : {}) };
}

/** Controllers written by hand for environments whose physics is well known: a rung near the top that needs no training. */
const SCRIPTS: Readonly<Record<string, Actor>> = {
  /**
   * Swings up by pumping energy, then holds upright by proportional-derivative control (Åström & Furuta 2000, Automatica 36).
   * Gymnasium's pendulum: mass and length 1, gravity 10, torque within 2, and as a rod a third of the inertia of a point.
   */
  pendulum: ([cos, sin, speed]) => {
    const angle = Math.atan2(sin, cos);
    const energy = speed ** 2 / 6 + 5 * (cos - 1);
    const isNear = cos > 0.9 && Math.abs(speed) < 2.5;
    const torque = isNear ? -10 * angle - 2 * speed : -2 * energy * Math.sign(speed || 1);
    return Float32Array.of(Math.min(Math.max(torque, -2), 2));
  },
  /** Pushes to where the pole is falling, with a slight pull back to the middle. */
  cartpole: ([x, xDot, angle, angleDot]) => Float32Array.of(angle + 0.5 * angleDot + 0.05 * x + 0.1 * xDot > 0 ? 1 : 0),
};

interface LadderOptions {
  /** Rungs; at least 8 are needed to speak of rank. More where more policies were kept on the way. */
  readonly policies: number;
  readonly trained?: TrainedPolicies;
  readonly rng: Rng;
}

const NORMALISER_STEPS = 1000;
/** Generations after which the search is stopped for a rung, those first that tell most where a ladder is short. */
const RUNGS = [8, 3, 5, 1] as const;
/** Shares of random actions. */
const MIXTURES = [0.5, 0.25, 0.75, 0.1, 0.9] as const;
const PLANNER_NOTE =
  " The planner plans at every step in the model of the checkpoint's run; where that is the model judged here, its optimism is what planning takes advantage of. The checkpoint is what it taught.";

/** Throws SCENARIO_UNFIT for an action box without finite bounds. */
export async function planLadder(env: VectorEnvironment, options: LadderOptions): Promise<Ladder> {
  const { policies: wanted, trained, rng } = options;
  const normaliser = await normaliserOf(env, rng.split('normaliser'));
  const fixed: NamedRecipe[] = [
    { name: 'random', recipe: { kind: 'random' } },
    { name: 'zero action', recipe: { kind: 'zero' } },
  ];
  const known: NamedRecipe[] = Object.hasOwn(SCRIPTS, env.id)
    ? [{ name: 'scripted', recipe: { kind: 'scripted' } }, ...mixtures('scripted', MIXTURES.slice(0, 3))]
    : [];
  const blind = blindPolicies(env, rng.split('blind'), wanted);
  if (trained === undefined) {
    const search = await searchLinear(env, normaliser, rng.split('search'));
    const found = RUNGS.map((generations): NamedRecipe => {
      const name = `searched, ${generations} generation${generations === 1 ? '' : 's'}`;
      return { name, recipe: search.means[generations - 1] };
    });
    const first = known.length > 0 ? 1 : 3;
    const all = [
      ...fixed,
      ...known,
      ...found.slice(0, first),
      ...blind.slice(0, 3),
      ...found.slice(first),
      ...blind.slice(3),
    ];
    const note = `The ladder: random, scripted where a controller is known, drawn at random, and found by a search of ${search.realSteps} real steps; none was chosen by the simulation. Give --checkpoint to have a trained policy in it.`;
    return { policies: all.slice(0, wanted), normaliser, notes: [note] };
  }
  const rungs: NamedRecipe[] = [
    ...fixed,
    ...Array.from(
      trained.earlier.keys(),
      (realSteps): NamedRecipe => ({
        name: `after ${realSteps.toLocaleString('en')} steps`,
        recipe: { kind: 'checkpoint', realSteps },
      }),
    ),
    ...(trained.planner === undefined ? [] : [{ name: 'planner', recipe: { kind: 'planner' } } as const]),
    { name: 'checkpoint', recipe: { kind: 'checkpoint' } },
  ];
  const all = [...rungs, ...mixtures('checkpoint', MIXTURES), ...known, ...blind];
  const { size } = trained.earlier;
  const way = size === 0 ? '' : `, as it was at ${size} times on the way`;
  const planner = trained.planner === undefined ? '' : PLANNER_NOTE;
  const note = `The ladder: the checkpoint${way}, mixed with random actions to several shares, and policies that know nothing.${planner}`;
  return { policies: all.slice(0, Math.max(wanted, rungs.length)), normaliser, notes: [note] };
}

function mixtures(kind: 'checkpoint' | 'scripted', shares: readonly number[]): NamedRecipe[] {
  return shares.map((epsilon) => ({
    name: `${kind}, ${Math.round(100 * epsilon)} % random`,
    recipe: { kind: 'mixed', epsilon, of: { kind } },
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

const SEARCH = { generations: 8, population: 10, elites: 3, episodes: 2, maxSteps: 500 } as const;

/**
 * A short search in the real environment: rungs between chance and skill for any environment, found without a look at the
 * simulation. Cross-entropy method on linear policies (Szita & Lőrincz 2006, Neural Computation 18), every candidate of a
 * generation in the same episodes. Answers the mean of the elites after each generation.
 */
async function searchLinear(
  env: VectorEnvironment,
  normaliser: Normaliser,
  rng: Rng,
): Promise<{ readonly means: readonly NetworkRecipe[]; readonly realSteps: number }> {
  const widths = [rowSize(env.observationSpace), headsOf(env.actionSpace)];
  const size = widths[1] * (widths[0] + 1);
  const recipe = (weights: Float64Array): NetworkRecipe => ({ kind: 'network', widths, weights: Array.from(weights) });
  let mean: Float64Array = new Float64Array(size);
  let spread: Float64Array = new Float64Array(size).fill(1);
  const means: NetworkRecipe[] = [];
  let realSteps = 0;
  for (let generation = 0; generation < SEARCH.generations; generation++) {
    const stream = rng.split('generation', generation);
    const rated: { weights: Float64Array; total: number }[] = [];
    for (let i = 0; i < SEARCH.population; i++) {
      const noise = stream.split('candidate', i).fillNormal(new Float64Array(size));
      const weights = noise.map((value, j) => mean[j] + spread[j] * value);
      let total = 0;
      for (let episode = 0; episode < SEARCH.episodes; episode++) {
        const seed = stream.split('episode', episode).uint32();
        const tried = await tryOut(env, recipe(weights), normaliser, seed);
        total += tried.total;
        realSteps += tried.steps;
        // An environment that never waits would keep signals from running.
        await nextTurn();
      }
      rated.push({ weights, total });
    }
    const best = rated.sort((a, b) => b.total - a.total).slice(0, SEARCH.elites);
    mean = mean.map((_, j) => best.reduce((sum, { weights }) => sum + weights[j], 0) / SEARCH.elites);
    // The floor keeps the search from freezing early.
    spread = mean.map((centre, j) => {
      const variance = best.reduce((sum, { weights }) => sum + (weights[j] - centre) ** 2, 0) / best.length;
      return Math.sqrt(variance) + 0.5 / (generation + 1);
    });
    means.push(recipe(mean));
  }
  return { means, realSteps };
}

async function tryOut(
  env: VectorEnvironment,
  recipe: NetworkRecipe,
  normaliser: Normaliser,
  seed: number,
): Promise<{ total: number; steps: number }> {
  let { observation } = await env.reset({ seed });
  let total = 0;
  let steps = 0;
  for (let ended = false; !ended && steps < SEARCH.maxSteps; steps++) {
    const result = await env.step(networkAction(env.actionSpace, recipe, normaliser, observation));
    total += result.reward;
    ended = result.terminated || result.truncated;
    observation = result.observation;
  }
  return { total, steps };
}
