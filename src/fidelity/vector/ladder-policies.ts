// Policies of a ladder as plain data, so that what was found once acts the same in every thread and after every restart.

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

/** obs [obsDim] to an action within the space; all its randomness comes from `rng`. */
export type Actor = (obs: Float32Array, rng: Rng) => Float32Array | Promise<Float32Array>;

/** With the real steps that making it took. */
export interface Ladder {
  readonly policies: readonly NamedRecipe[];
  readonly normaliser: Normaliser;
  readonly realSteps: number;
  readonly notes: readonly string[];
}

/** Outputs a network needs to choose an action: one an element, or one a choice. */
export function headsOf(space: VectorSpace): number {
  return space.type === 'discrete' ? space.n : rowSize(space);
}

/** Weights of a network of these widths. */
export function weightCount(widths: readonly number[]): number {
  return widths.slice(1).reduce((sum, outputs, layer) => sum + outputs * (widths[layer] + 1), 0);
}

/** Weights drawn so that a layer's outputs are about as large as its inputs. */
export function randomNetwork(widths: readonly number[], rng: Rng, bangBang = false): NetworkRecipe {
  const weights = widths.slice(1).flatMap((outputs, layer) => {
    const inputs = widths[layer] + 1;
    return Array.from({ length: outputs * inputs }, () => rng.normal() / Math.sqrt(inputs));
  });
  return { kind: 'network', widths, weights, ...(bangBang ? { bangBang } : {}) };
}

/** What a network answers to one row. */
export function networkOutput({ widths, weights }: NetworkRecipe, input: Float64Array): Float64Array {
  let layer = input;
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
  return layer;
}

// Controllers written by hand for environments whose physics is well known: a rung near the top that needs no training.

/**
 * Swings up by pumping energy, then holds upright by proportional-derivative control (Åström & Furuta 2000, Automatica 36).
 * Gymnasium's pendulum: mass and length 1, gravity 10, torque within 2, and as a rod a third of the inertia of a point.
 */
const pendulum: Actor = (obs) => {
  const [cos, sin, speed] = obs;
  const angle = Math.atan2(sin, cos);
  const energy = speed ** 2 / 6 + 5 * (cos - 1);
  const isNear = cos > 0.9 && Math.abs(speed) < 2.5;
  const torque = isNear ? -10 * angle - 2 * speed : -2 * energy * Math.sign(speed || 1);
  return Float32Array.of(Math.min(Math.max(torque, -2), 2));
};

/** Pushes to where the pole is falling, with a slight pull back to the middle. */
const cartpole: Actor = (obs) => {
  const [x, xDot, angle, angleDot] = obs;
  return Float32Array.of(angle + 0.5 * angleDot + 0.05 * x + 0.1 * xDot > 0 ? 1 : 0);
};

const SCRIPTS: Readonly<Record<string, Actor>> = { pendulum, cartpole };

/** The controller for an environment; undefined where none is known. */
export function scriptFor(environment: string): Actor | undefined {
  return Object.hasOwn(SCRIPTS, environment) ? SCRIPTS[environment] : undefined;
}

// From a recipe to something that acts: one row at a time, all randomness from the row's own stream, so that a policy draws the
// same noise for real and in the dream.

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

/** Acts in one episode. Throws SCENARIO_UNFIT for an action box without finite bounds. */
export function actorOf(recipe: Recipe, parts: ActorParts): Actor {
  const { actionSpace } = parts.env;
  const act = bareActor(recipe, parts);
  return async (obs, rng) => clipToSpace(actionSpace, await act(obs, rng));
}

function bareActor(recipe: Recipe, parts: ActorParts): Actor {
  const { env, normaliser } = parts;
  switch (recipe.kind) {
    case 'random':
      return randomActor(env.actionSpace);
    case 'zero':
      return () => fromHeads(env.actionSpace, new Float64Array(headsOf(env.actionSpace)));
    case 'scripted':
      return scriptFor(env.id)!;
    case 'checkpoint':
      return trainedActor(trainedPolicy(recipe.realSteps, parts), parts);
    case 'planner':
      return trainedActor(parts.trained?.planner, parts);
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

function trainedPolicy(realSteps: number | undefined, { trained }: ActorParts): Policy | undefined {
  return realSteps === undefined ? trained?.last : trained?.earlier.get(realSteps);
}

function trainedActor(policy: Policy | undefined, { env }: ActorParts): Actor {
  if (policy === undefined)
    throw reverieError('INPUT_NEEDED', {
      problem: `This needs ${`a policy for ${env.id}`}, and --checkpoint was not given.`,
      hint: `Give --checkpoint FOLDER: one that holds ${`a policy for ${env.id}`}, or a run that does.`,
    });
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

/** The action of a network: a computed Float32Array. */
export function networkAction(
  space: VectorSpace,
  recipe: NetworkRecipe,
  { mean, std }: Normaliser,
  obs: Float32Array,
): Float32Array {
  const input = Float64Array.from(obs, (value, i) => Math.min(Math.max((value - mean[i]) / std[i], -10), 10));
  const heads = networkOutput(recipe, input);
  return fromHeads(space, recipe.bangBang ? heads.map((value) => (value < 0 ? -20 : 20)) : heads);
}

/** Outputs to an action: squashed into the box, or the choice with the highest. */
function fromHeads(space: VectorSpace, heads: Float64Array): Float32Array {
  if (space.type === 'discrete') return Float32Array.of(space.start + heads.indexOf(Math.max(...heads)));
  return Float32Array.from(heads, (value, i) => {
    const [low, high] = [space.low[i] ?? -1, space.high[i] ?? 1];
    return (low + high) / 2 + ((high - low) / 2) * Math.tanh(value);
  });
}
