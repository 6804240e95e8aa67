// Ranking of policies in worlds of numbers: a ladder of policies acts in the real environment and in the simulation, in episodes
// that are pairs: the same first state, the same noise of the actions.

import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VectorEnvironment, VectorSpace } from '../../core/environment.js';
import { ReverieError } from '../../core/errors.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import { Acting, type Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { clipToSpace, rowSize } from '../../env/space-values.js';
import type { Learner } from '../../rl/learner.js';
import type { Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import { isWithin, widenedRange } from '../../worldmodel/seen-range.js';
import { readKept } from '../measure.js';
import { rankInstrument } from '../rank.js';
import type { Instrument } from '../section.js';
import type { VectorSetup, VectorSubjectModel } from './ground.js';
import { ladderOf, type SearchedPolicies, searchLinear, type TrainedPolicies } from './policies.js';

/** The policies of a run, and how any model is judged by them. */
interface OpenedLadder {
  /** Identifies the policies. */
  readonly identity: string;
  readonly rank: (subject: Pick<VectorSubjectModel, 'model'>) => Instrument;
  close(): Promise<void>;
}

/** Steps of an episode of an environment without a clock. */
const MAX_STEPS = 1000;
const FILE = 'ladder.json';

/**
 * Worker threads, and a run that resumes, judge by the same policies. Throws what making the environment or reading the checkpoint throws, and
 * SCENARIO_UNFIT for actions without bounds.
 */
export async function openVectorLadder(setup: VectorSetup): Promise<OpenedLadder> {
  const { scenario, seed, out } = setup;
  const { config, folder } = scenario;
  const { policies, episodes } = config.fidelity.rank;
  const make = () => makeEnvironment(config.env, { folder });
  const env = await make();
  let trained: OpenedTrained | undefined;
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
    const identity = JSON.stringify(['ladder 3', config.env, seed, policies, versions ?? null]);
    const rng = Rng.fromSeed(seed).split('ladder');
    const best = trained ?? (await searched(env, join(out, FILE), identity, rng.split('search')));
    const ladder = ladderOf(env, policies, best, rng);
    const { propagation } = config.rollout;
    const maxSteps = env.maxEpisodeSteps ?? MAX_STEPS;
    const rank = ({ model }: Pick<VectorSubjectModel, 'model'>) => {
      const source = {
        policies: ladder.policies.map(({ name }) => name),
        episodes,
        returnsOf: async (
          world: 'real' | 'simulated',
          policy: number,
          wanted: readonly number[],
          signal?: AbortSignal,
        ) => {
          const actor = () => actorOf(ladder.policies[policy].policy, env.actionSpace);
          const seeds = wanted.map((episode) => ({ seed, episode }));
          const rules = { maxSteps, signal };
          if (world === 'real') return returnsIn(make, actor, seeds, rules);
          const starts = await startsOf(make, seeds);
          return simulatedReturns({ model, propagation }, actor, starts, seeds, rules);
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

/** Found once a run and kept in its folder. */
async function searched(env: VectorEnvironment, path: string, identity: string, rng: Rng): Promise<SearchedPolicies> {
  const kept = (await readKept(path)) as (SearchedPolicies & { readonly identity: string }) | undefined;
  if (kept?.identity === identity) return kept;
  const found = await searchLinear(env, rng);
  await ensureFolder(dirname(path));
  await writeFileAtomic(path, sealedText({ identity, ...found }));
  return found;
}

/** obs [obsDim] to an action within the space; all its randomness comes from `rng`. */
export type Actor = (obs: Float32Array, rng: Rng) => Promise<Float32Array>;

/** Acts in one episode. Throws SCENARIO_UNFIT for an action box without finite bounds. */
function actorOf(policy: Policy, space: VectorSpace): Actor {
  const acting = new Acting(policy, 1);
  return async (obs, rng) => clipToSpace(space, (await acting.act(obs, rng)).action);
}

interface OpenedTrained extends TrainedPolicies {
  close(): Promise<void>;
}

/**
 * The policy of `--checkpoint`; of a run that kept some on the way, these too; of a learner that plans, its planner. Nothing stays
 * open where one cannot be read.
 */
async function openTrained({ inputs, host }: VectorSetup, env: VectorEnvironment): Promise<OpenedTrained | undefined> {
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

/** Seed of a ladder and number of an episode: what an episode's start and noise come from. */
interface EpisodeSeeds {
  readonly seed: number;
  readonly episode: number;
}

interface EpisodeRules {
  /** Steps of an episode at most. */
  readonly maxSteps: number;
  readonly signal?: AbortSignal;
}

function streamOf({ seed, episode }: EpisodeSeeds, purpose: string): Rng {
  return Rng.fromSeed(seed).split('ladder', episode, purpose);
}

/** What the environment of an episode is reset with. */
function startSeed(seeds: EpisodeSeeds): number {
  return streamOf(seeds, 'start').uint32();
}

/** Each in an environment of its own: chunks may be under way at once. */
async function returnsIn(
  make: () => Promise<VectorEnvironment>,
  actor: () => Actor,
  seeds: readonly EpisodeSeeds[],
  { maxSteps, signal }: EpisodeRules,
): Promise<number[]> {
  const returns: number[] = [];
  for (const one of seeds) {
    const [seed, rng, act] = [startSeed(one), streamOf(one, 'act'), actor()];
    const env = await make();
    try {
      let { observation } = await env.reset({ seed });
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
  seeds: readonly EpisodeSeeds[],
): Promise<Float32Array[]> {
  const env = await make();
  try {
    const starts: Float32Array[] = [];
    for (const one of seeds) {
      const { observation } = await env.reset({ seed: startSeed(one) });
      starts.push(observation.slice(0, rowSize(env.observationSpace)));
    }
    return starts;
  } finally {
    await env.close();
  }
}

/** A model asked for many episodes side by side. */
interface RowModel {
  readonly model: VectorDynamics;
  readonly propagation: Propagation;
}

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
  seeds: readonly EpisodeSeeds[],
  rules: EpisodeRules,
): Promise<(number | null)[]> {
  try {
    return await together(rowModel, actor, starts, seeds, rules);
  } catch (error) {
    if (!(error instanceof ReverieError && error.code === 'NON_FINITE_VALUE')) throw error;
    if (starts.length === 1) return [null];
    // One by one, to find whose answer is no number.
    const returns: (number | null)[] = [];
    for (const [i, start] of starts.entries())
      returns.push(...(await simulatedReturns(rowModel, actor, [start], [seeds[i]], rules)));
    return returns;
  }
}

async function together(
  { model, propagation }: RowModel,
  actor: () => Actor,
  starts: readonly Float32Array[],
  seeds: readonly EpisodeSeeds[],
  { maxSteps, signal }: EpisodeRules,
): Promise<number[]> {
  const episodes = starts.map((observation, i): Running => {
    const [act, stream] = [streamOf(seeds[i], 'act'), streamOf(seeds[i], 'dream')];
    return { observation, actor: actor(), act, stream, total: 0, length: 0, hasEnded: false };
  });
  const leave = leaver(model, maxSteps);
  const streams = (of: readonly Running[]) => of.map(({ stream }) => stream);
  let running: readonly Running[] = episodes;
  let carry = await model.begin(joinedFloats(starts), streams(episodes));
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
  return episodes.map(({ total }) => total);
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
