// From a recipe to something that acts: one row at a time, all randomness from the row's own stream, so that a policy draws the
// same noise for real and in the dream.

import { Acting } from '../../../../core/acting.js';
import { reverieError } from '../../../../core/errors.js';
import { clipToSpace, type Policy, type VectorEnvironment, type VectorSpace } from '../../../../env/index.js';
import { RandomPolicy } from '../../../../rl/index.js';
import { type Actor, headsOf, type NetworkRecipe, type Normaliser, networkOutput, type Recipe } from './recipes.js';
import { scriptFor } from './scripts.js';

/** What `--checkpoint` names. */
export interface TrainedPolicies {
  readonly last: Policy;
  /** By real steps: as it was on the way. */
  readonly earlier: ReadonlyMap<number, Policy>;
}

export interface ActorParts {
  readonly env: Pick<VectorEnvironment, 'id' | 'actionSpace'>;
  readonly normaliser: Normaliser;
  readonly trained?: TrainedPolicies;
}

/** Acts in one episode. Throws SPACE_UNSUPPORTED for an action box without finite bounds. */
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
      return checkpointActor(recipe.realSteps, parts);
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

function checkpointActor(realSteps: number | undefined, { env, trained }: ActorParts): Actor {
  const checkpoint = realSteps === undefined ? trained?.last : trained?.earlier.get(realSteps);
  if (checkpoint === undefined)
    throw reverieError('INPUT_NEEDED', { what: `a policy for ${env.id}`, input: 'checkpoint' });
  const acting = new Acting(checkpoint, 1);
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
