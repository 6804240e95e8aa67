// The policies that act in a report: a mixture that the truth is recorded with, and a ladder that is ranked, from chance to the best
// there is. Both are chosen without a look at the simulation, so that it is not asked about policies it was picked for.

import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VectorEnvironment, VectorSpace } from '../../core/environment.js';
import { ReverieError } from '../../core/errors.js';
import { Acting, type Policy, type PolicyAction } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { joinedFloats, mean } from '../../core/statistics.js';
import { makeEnvironment } from '../../env/environments.js';
import { clipToSpace, rowSize } from '../../env/space-values.js';
import type { Learner } from '../../rl/learner.js';
import { RandomPolicy } from '../../rl/policy-net.js';
import type { Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import { isWithin, widenedRange } from '../../worldmodel/seen-range.js';
import { type RankSource, rankInstrument } from '../rank.js';
import type { Instrument } from '../section.js';
import { UNCLOCKED_STEPS, type VectorHost, type VectorSetup, type VectorSubjectModel } from './ground.js';

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
      for (let r = 0; r < rows; r++)
        if (rng.uniform() < share) mixed.set(drawn.subarray(r * width, (r + 1) * width), r * width);
      return { action: mixed, carry };
    },
  };
}

// The ladder.

/** What `--checkpoint` names. */
interface TrainedPolicies {
  readonly last: Policy;
  /** By real steps: as it was on the way. */
  readonly earlier: ReadonlyMap<number, Policy>;
  /** Where its learner plans. */
  readonly planner?: Policy;
  close(): Promise<void>;
}

/** Shares of random actions. */
const MIXTURES = [0.5, 0.25, 0.75, 0.1, 0.9] as const;
const PLANNER = 'planner';
const PLANNER_NOTE =
  " The planner plans at every step in the model of the checkpoint's run; where that is the model judged here, its optimism is what planning takes advantage of. The checkpoint is what it taught.";

/**
 * From chance to the best there is: at least 8 are needed to speak of rank.
 *
 * @param wanted rungs; more where more policies were kept on the way
 */
function ladderOf(env: VectorEnvironment, wanted: number, trained: TrainedPolicies | undefined, rng: Rng) {
  const { actionSpace } = env;
  const random = new RandomPolicy(actionSpace);
  const still = new Float64Array(headsOf(actionSpace) * (rowSize(env.observationSpace) + 1));
  const zero = { name: 'zero action', policy: linearPolicy(actionSpace, still) };
  const fixed: NamedPolicy[] = [{ name: 'random', policy: random }, zero];
  // Policies that know nothing of the task.
  const blind = Array.from({ length: wanted }, (_, i): NamedPolicy => {
    return { name: `linear ${i + 1}`, policy: drawnLinear(env, rng.split('blind', i)) };
  });
  if (trained === undefined) {
    const note =
      'The ladder: random, and policies drawn at random that know nothing of the task. Give --checkpoint to have a trained policy in it.';
    return { policies: [...fixed, ...blind].slice(0, wanted), note };
  }
  const { last, earlier, planner } = trained;
  const ways = Array.from(earlier, ([realSteps, policy]): NamedPolicy => {
    return { name: `after ${realSteps.toLocaleString('en')} steps`, policy: noisy(policy, random, 0) };
  });
  const rungs: NamedPolicy[] = [
    ...fixed,
    ...ways,
    ...(planner === undefined ? [] : [{ name: PLANNER, policy: noisy(planner, random, 0) }]),
    { name: 'checkpoint', policy: noisy(last, random, 0) },
  ];
  const mixtures = MIXTURES.map((share): NamedPolicy => {
    return { name: `checkpoint, ${Math.round(100 * share)} % random`, policy: noisy(last, random, share) };
  });
  const way = ways.length === 0 ? '' : `, as it was at ${ways.length} times on the way`;
  const note = `The ladder: the checkpoint${way}, mixed with random actions to several shares, and policies that know nothing.${planner === undefined ? '' : PLANNER_NOTE}`;
  return { policies: [...rungs, ...mixtures, ...blind].slice(0, Math.max(wanted, rungs.length)), note };
}

interface OpenedLadder {
  /** Identifies the policies. */
  readonly identity: string;
  readonly rank: (subject: Pick<VectorSubjectModel, 'model'>) => Instrument;
  close(): Promise<void>;
}

/**
 * Worker threads, and a run that resumes, judge by the same policies. Throws what making the environment or reading the checkpoint throws, and
 * SCENARIO_UNFIT for actions without bounds.
 */
export async function openVectorLadder(setup: VectorSetup): Promise<OpenedLadder> {
  const { scenario, seed } = setup;
  const { config, folder } = scenario;
  const { policies, episodes } = config.fidelity.rank;
  const make = () => makeEnvironment(config.env, { folder });
  const env = await make();
  let trained: TrainedPolicies | undefined;
  const close = async () => {
    await trained?.close();
    await env.close();
  };
  try {
    trained = await openTrained(setup, env);
    const versions = trained && [
      trained.last.version,
      ...Array.from(trained.earlier, ([steps, { version }]) => [steps, version]),
      trained.planner?.version ?? null,
    ];
    const identity = JSON.stringify(['ladder 5', config.env, seed, policies, versions ?? null]);
    const ladder = ladderOf(env, policies, trained, Rng.fromSeed(seed).split('ladder'));
    const { propagation } = config.rollout;
    const maxSteps = env.maxEpisodeSteps ?? UNCLOCKED_STEPS;
    const rank = ({ model }: Pick<VectorSubjectModel, 'model'>) => {
      const source: RankSource = {
        policies: ladder.policies.map(({ name }) => name),
        episodes,
        returnsOf: async (world, policy, wanted, signal) => {
          const { name, policy: own } = ladder.policies[policy];
          const actor = () => actorOf(own, env.actionSpace);
          const rules = { seed, maxSteps, signal };
          if (world === 'real') return returnsIn(make, actor, wanted, rules);
          const starts = await startsOf(make, wanted, seed);
          // A plan takes as long as hundreds of steps of a model.
          const simulations = name === PLANNER ? 1 : SIMULATIONS;
          return simulatedReturns({ model, propagation, simulations }, actor, starts, wanted, rules);
        },
      };
      return rankInstrument(source, { seed, notes: [ladder.note], chunkEpisodes: episodes });
    };
    return { identity: JSON.stringify([identity, episodes]), rank, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** obs [obsDim] to an action within the space; all its randomness comes from `rng`. */
export type Actor = (obs: Float32Array, rng: Rng) => Promise<Float32Array>;

/** Acts in one episode. Throws SCENARIO_UNFIT for an action box without finite bounds. */
function actorOf(policy: Policy, space: VectorSpace): Actor {
  const acting = new Acting(policy, 1);
  return async (obs, rng) => clipToSpace(space, (await acting.act(obs, rng)).action);
}

/**
 * The policy of `--checkpoint`; of a run that kept some on the way, these too; of a learner that plans, its planner. Nothing stays
 * open where one cannot be read.
 */
async function openTrained(
  { inputs, host }: VectorSetup,
  env: VectorEnvironment,
): Promise<TrainedPolicies | undefined> {
  const folder = host.find(inputs, 'checkpoint');
  if (folder === undefined || inputs.checkpoint === undefined) return undefined;
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    for (const one of opened) await one.close();
  };
  const open = async (from: string): Promise<Learner> => {
    const { learner } = await host.learner(env, from);
    opened.push(learner);
    return learner;
  };
  try {
    const learner = await open(folder);
    const planner = await host.planner(learner, folder);
    if (planner) opened.push(planner);
    const last = learner.policy();
    const earlier = new Map<number, Policy>();
    for (const kept of await host.keptLearners(inputs.checkpoint)) {
      const policy = (await open(kept.folder)).policy();
      if (policy.version !== last.version) earlier.set(kept.realSteps, policy);
    }
    return { last, earlier, planner: planner?.policy, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface EpisodeRules {
  /** Of the ladder: with the number of an episode, what its start and noise come from. */
  readonly seed: number;
  /** Steps of an episode at most. */
  readonly maxSteps: number;
  readonly signal?: AbortSignal;
}

function streamOf(seed: number, episode: number, purpose: string): Rng {
  return Rng.fromSeed(seed).split('ladder', episode, purpose);
}

/** Each in an environment of its own: chunks may be under way at once. */
async function returnsIn(
  make: () => Promise<VectorEnvironment>,
  actor: () => Actor,
  episodes: readonly number[],
  { seed, maxSteps, signal }: EpisodeRules,
): Promise<number[]> {
  const returns: number[] = [];
  for (const episode of episodes) {
    const [rng, act] = [streamOf(seed, episode, 'act'), actor()];
    const env = await make();
    try {
      let { observation } = await env.reset({ seed: streamOf(seed, episode, 'start').uint32() });
      let total = 0;
      for (let [ended, step] = [false, 1]; !ended && step <= maxSteps; step++) {
        const result = await env.step(await act(observation, rng));
        total += result.reward;
        ended = result.terminated || result.truncated;
        observation = result.observation;
        // An environment that never waits would keep signals from running.
        if (step % 64 === 0) await nextTurn();
        signal?.throwIfAborted();
      }
      returns.push(total);
    } finally {
      await env.close();
    }
  }
  return returns;
}

/** First observations of the real episodes. */
async function startsOf(
  make: () => Promise<VectorEnvironment>,
  episodes: readonly number[],
  seed: number,
): Promise<Float32Array[]> {
  const env = await make();
  const starts: Float32Array[] = [];
  try {
    for (const episode of episodes)
      starts.push((await env.reset({ seed: streamOf(seed, episode, 'start').uint32() })).observation.slice());
    return starts;
  } finally {
    await env.close();
  }
}

interface RowModel {
  readonly model: VectorDynamics;
  readonly propagation: Propagation;
  /** Of each episode; their mean is its return. */
  readonly simulations: number;
}

/** Steps of a model cost little, and where it draws what comes next, one simulation says more of what was drawn than of the policy. */
const SIMULATIONS = 8;

interface Running {
  observation: Float32Array;
  readonly actor: Actor;
  readonly act: Rng;
  readonly stream: Rng;
  total: number;
  length: number;
  hasEnded: boolean;
}

/**
 * Simulates the episodes side by side from `starts`, each to the byte as if alone. null for one in which the model answered with
 * NaN or infinity.
 */
export async function simulatedReturns(
  rowModel: RowModel,
  actor: () => Actor,
  starts: readonly Float32Array[],
  numbers: readonly number[],
  rules: EpisodeRules,
): Promise<(number | null)[]> {
  try {
    return await together(rowModel, actor, starts, numbers, rules);
  } catch (error) {
    if (!(error instanceof ReverieError && error.code === 'NON_FINITE_VALUE')) throw error;
    if (starts.length === 1) return [null];
    // One by one, to find whose answer is no number.
    const returns: (number | null)[] = [];
    for (const [i, start] of starts.entries())
      returns.push(...(await simulatedReturns(rowModel, actor, [start], [numbers[i]], rules)));
    return returns;
  }
}

async function together(
  { model, propagation, simulations }: RowModel,
  actor: () => Actor,
  starts: readonly Float32Array[],
  numbers: readonly number[],
  { seed, maxSteps, signal }: EpisodeRules,
): Promise<number[]> {
  const episodes = starts.flatMap((observation, i) =>
    Array.from({ length: simulations }, (_, simulation): Running => {
      const [act, dreams] = [streamOf(seed, numbers[i], 'act'), streamOf(seed, numbers[i], 'dream')];
      const stream = dreams.split('simulation', simulation);
      return { observation, actor: actor(), act, stream, total: 0, length: 0, hasEnded: false };
    }),
  );
  const leave = leaver(model, maxSteps);
  const streams = (of: readonly Running[]) => of.map(({ stream }) => stream);
  let running: readonly Running[] = episodes;
  let carry = await model.begin(joinedFloats(episodes.map(({ observation }) => observation)), streams(episodes));
  for (let step = 0; step < maxSteps && running.length > 0; step++) {
    await nextTurn();
    signal?.throwIfAborted();
    const actions: Float32Array[] = [];
    for (const one of running) actions.push(await one.actor(one.observation, one.act));
    const next = await model.imagine(carry, joinedFloats(actions), streams(running), { propagation });
    const obsDim = next.observation.length / running.length;
    running.forEach((one, i) => {
      one.observation = next.observation.slice(i * obsDim, (i + 1) * obsDim);
      one.total += next.reward[i];
      one.length++;
      one.hasEnded = next.terminated[i] === 1;
      if (!one.hasEnded) leave(one);
    });
    const rows = Uint32Array.from(running.keys()).filter((row) => !running[row].hasEnded);
    running = Array.from(rows, (row) => running[row]);
    carry = model.pick(next.carry, rows);
  }
  const totals = episodes.map(({ total }) => total);
  return starts.map((_, i) => mean(totals.slice(i * simulations, (i + 1) * simulations)));
}

/**
 * How far beyond what its model was shown an episode may lead, in widths of the range. A policy that leads further is asked about
 * where the model knows nothing: it is over, as in MOReL's pessimistic world (2005.05951, section 4).
 */
const RANGE = 0.5;

/**
 * Ends an episode that left what the model was shown. Where episodes end by the task and steps may pay, no more is earned, as after
 * any end; elsewhere, where nothing ends or every step costs, each step that was left has a low reward, or none where low ones are
 * above none.
 */
function leaver({ seen }: VectorDynamics, maxSteps: number): (one: Running) => void {
  if (seen === undefined) return () => {};
  const range = widenedRange(seen, RANGE);
  const left = seen.ends && seen.highReward > 0 ? 0 : Math.min(0, seen.lowReward);
  return (one) => {
    if (isWithin(one.observation, 0, range)) return;
    one.hasEnded = true;
    for (let step = one.length; step < maxSteps; step++) one.total += left;
  };
}
