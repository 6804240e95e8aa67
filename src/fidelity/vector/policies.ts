// The policies that act in a report: a mixture that the truth is recorded with, and a ladder that is ranked, from chance to the best
// there is. Both are chosen without a look at the simulation, so that it is not asked about policies it was picked for.

import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VectorEnvironment, VectorSpace } from '../../core/environment.js';
import type { Policy, PolicyAction } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { rowSize } from '../../env/space-values.js';
import { RandomPolicy } from '../../rl/policies.js';
import type { VectorHost } from './ground.js';

interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
}

/** Outputs a linear policy needs to choose an action: one an element, or one a choice. */
function headsOf(space: VectorSpace): number {
  return space.type === 'discrete' ? space.n : rowSize(space);
}

/** Outputs to an action: squashed into the box, or the choice with the highest. */
function fromHeads(space: VectorSpace, heads: Float64Array): Float32Array {
  if (space.type === 'discrete') return Float32Array.of(space.start + heads.indexOf(Math.max(...heads)));
  return Float32Array.from(heads, (value, i) => {
    const [low, high] = [space.low[i] ?? -1, space.high[i] ?? 1];
    return (low + high) / 2 + ((high - low) / 2) * Math.tanh(value);
  });
}

/** A linear function of the observation, squashed into the action space; `weights` [outputs, obsDim + 1], each row's last a bias. */
function linearPolicy(space: VectorSpace, weights: Float64Array): Policy {
  const version = `linear-${createHash('sha256').update(weights).digest('hex').slice(0, 8)}`;
  const inputs = weights.length / headsOf(space);
  const act = (obs: Float32Array, rows: number): PolicyAction => {
    const actions = Array.from({ length: rows }, (_, row) => {
      const outputs = Float64Array.from({ length: headsOf(space) }, (_head, k) => {
        let sum = weights[(k + 1) * inputs - 1];
        for (let j = 0; j < inputs - 1; j++) sum += weights[k * inputs + j] * obs[row * (inputs - 1) + j];
        return sum;
      });
      return fromHeads(space, outputs);
    });
    return { action: joinedFloats(actions) };
  };
  return { version, act };
}

/** Without a bias. Random linear policies react to what they see, which a random policy does not (Mania et al. 2018, 1803.07055). */
function drawnLinear({ actionSpace, observationSpace }: VectorEnvironment, rng: Rng): Policy {
  const [heads, obsDim] = [headsOf(actionSpace), rowSize(observationSpace)];
  const drawn = rng.fillNormal(new Float64Array(heads * obsDim));
  const weights = new Float64Array(heads * (obsDim + 1));
  for (let k = 0; k < heads; k++) weights.set(drawn.subarray(k * obsDim, (k + 1) * obsDim), k * (obsDim + 1));
  return linearPolicy(actionSpace, weights);
}

// The mixture of policies that the truth is recorded with, so that a model is judged where policies of every kind lead.

export interface PolicyMixture {
  readonly policies: readonly NamedPolicy[];
  close(): Promise<void>;
}

/** Shares of random actions that a trained policy acts with. */
const NOISE = [0, 0.1, 0.3, 0.6];
const CONTROLLERS = 3;

/** @throws CHECKPOINT_CORRUPT, or INPUT_UNFIT for a checkpoint that acts in other spaces */
export async function policyMixture(
  env: VectorEnvironment,
  checkpoint: string | undefined,
  host: Pick<VectorHost, 'learner'>,
): Promise<PolicyMixture> {
  const random = new RandomPolicy(env.actionSpace);
  const controllers = Array.from({ length: CONTROLLERS }, (_, i) => {
    return { name: `linear controller ${i + 1}`, policy: drawnLinear(env, Rng.fromSeed(i).split('linear controller')) };
  });
  const untrained = [{ name: 'random', policy: random }, ...controllers];
  if (checkpoint === undefined) return { policies: untrained, close: async () => {} };
  const { learner } = await host.learner(env, checkpoint);
  const trained = NOISE.map((share) => {
    const name = share === 0 ? 'trained' : `trained, ${100 * share} % random`;
    return { name, policy: noisy(learner.policy(), random, share) };
  });
  return { policies: [...untrained, ...trained], close: () => learner.close() };
}

/** Acts by the mode of `policy`, and in a `share` of the steps at random. */
function noisy(policy: Policy, random: Policy, share: number): Policy {
  return {
    version: `${policy.version}+random-${share}`,
    memory: policy.memory,
    async act(obs, rows, rng, { carry: before } = {}): Promise<PolicyAction> {
      const { action, carry } = await policy.act(obs, rows, rng, { deterministic: true, carry: before });
      if (share === 0) return { action, carry };
      const mixed = action.slice();
      const width = action.length / rows;
      const { action: drawn } = await random.act(obs, rows, rng);
      for (let r = 0; r < rows; r++) {
        if (rng.uniform() < share) mixed.set(drawn.subarray(r * width, (r + 1) * width), r * width);
      }
      return { action: mixed, carry };
    },
  };
}

// The ladder.

/** What `--checkpoint` names. */
export interface TrainedPolicies {
  readonly last: Policy;
  /** By real steps: as it was on the way. */
  readonly earlier: ReadonlyMap<number, Policy>;
  /** Where its learner plans. */
  readonly planner?: Policy;
}

/** Shares of random actions. */
const MIXTURES = [0.5, 0.25, 0.75, 0.1, 0.9] as const;
const PLANNER_NOTE =
  " The planner plans at every step in the model of the checkpoint's run; where that is the model judged here, its optimism is what planning takes advantage of. The checkpoint is what it taught.";

export interface Ladder {
  readonly policies: readonly NamedPolicy[];
  readonly note: string;
}

/**
 * From chance to the best there is: at least 8 are needed to speak of rank.
 *
 * @param wanted rungs; more where more policies were kept on the way
 * @param best trained policies, or those that a search found
 */
export function ladderOf(
  env: VectorEnvironment,
  wanted: number,
  best: TrainedPolicies | SearchedPolicies,
  rng: Rng,
): Ladder {
  const { actionSpace } = env;
  const random = new RandomPolicy(actionSpace);
  const still = new Float64Array(headsOf(actionSpace) * (rowSize(env.observationSpace) + 1));
  const fixed: NamedPolicy[] = [
    { name: 'random', policy: random },
    { name: 'zero action', policy: linearPolicy(actionSpace, still) },
  ];
  // Policies that know nothing of the task.
  const blind = Array.from({ length: wanted }, (_, i): NamedPolicy => {
    return { name: `linear ${i + 1}`, policy: drawnLinear(env, rng.split('blind', i)) };
  });
  if ('found' in best) {
    const found = RUNGS.map((generations): NamedPolicy => {
      const policy = linearPolicy(actionSpace, Float64Array.from(best.found[generations - 1]));
      return { name: `searched, ${generations} generation${generations === 1 ? '' : 's'}`, policy };
    });
    const note = `The ladder: random, drawn at random, and found by a search of ${best.realSteps} real steps; none was chosen by the simulation. Give --checkpoint to have a trained policy in it.`;
    return { policies: [...fixed, ...found, ...blind].slice(0, wanted), note };
  }
  const { last, earlier, planner } = best;
  const ways = Array.from(earlier, ([realSteps, policy]): NamedPolicy => {
    return { name: `after ${realSteps.toLocaleString('en')} steps`, policy: noisy(policy, random, 0) };
  });
  const rungs: NamedPolicy[] = [
    ...fixed,
    ...ways,
    ...(planner === undefined ? [] : [{ name: 'planner', policy: noisy(planner, random, 0) }]),
    { name: 'checkpoint', policy: noisy(last, random, 0) },
  ];
  const mixtures = MIXTURES.map((share): NamedPolicy => {
    return { name: `checkpoint, ${Math.round(100 * share)} % random`, policy: noisy(last, random, share) };
  });
  const way = ways.length === 0 ? '' : `, as it was at ${ways.length} times on the way`;
  const note = `The ladder: the checkpoint${way}, mixed with random actions to several shares, and policies that know nothing.${planner === undefined ? '' : PLANNER_NOTE}`;
  return { policies: [...rungs, ...mixtures, ...blind].slice(0, Math.max(wanted, rungs.length)), note };
}

/** Plain data, so that what was found once acts the same in every thread and restart. */
export interface SearchedPolicies {
  /** Weights of a linear policy after each generation. */
  readonly found: readonly (readonly number[])[];
  readonly realSteps: number;
}

/** Generations after which the search is stopped for a rung, those first that tell most where a ladder is short. */
const RUNGS = [8, 3, 5, 1] as const;
const SEARCH = { generations: 8, population: 10, elites: 3, episodes: 2, maxSteps: 500 } as const;

/**
 * A short search in the real environment: rungs between chance and skill for any environment, found without a look at the
 * simulation. Cross-entropy method on linear policies (Szita & Lőrincz 2006, Neural Computation 18), every candidate of a
 * generation in the same episodes. Answers the mean of the elites after each generation.
 */
export async function searchLinear(env: VectorEnvironment, rng: Rng): Promise<SearchedPolicies> {
  const size = headsOf(env.actionSpace) * (rowSize(env.observationSpace) + 1);
  let mean: Float64Array = new Float64Array(size);
  let spread: Float64Array = new Float64Array(size).fill(1);
  const found: number[][] = [];
  let realSteps = 0;
  for (let generation = 0; generation < SEARCH.generations; generation++) {
    const stream = rng.split('generation', generation);
    const rated: { weights: Float64Array; total: number }[] = [];
    for (let i = 0; i < SEARCH.population; i++) {
      const noise = stream.split('candidate', i).fillNormal(new Float64Array(size));
      const weights = noise.map((value, j) => mean[j] + spread[j] * value);
      const policy = linearPolicy(env.actionSpace, weights);
      let total = 0;
      for (let episode = 0; episode < SEARCH.episodes; episode++) {
        let { observation } = await env.reset({ seed: stream.split('episode', episode).uint32() });
        for (let [ended, step] = [false, 0]; !ended && step < SEARCH.maxSteps; step++) {
          const { action } = await policy.act(observation, 1, stream);
          const result = await env.step(action);
          total += result.reward;
          realSteps++;
          ended = result.terminated || result.truncated;
          observation = result.observation;
        }
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
    found.push(Array.from(mean));
  }
  return { found, realSteps };
}
