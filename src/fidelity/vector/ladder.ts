// Ranking of policies in worlds of numbers: a ladder of policies acts in the real environment and in the simulation, in episodes
// that are pairs: the same first state, the same noise of the actions.

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Carry, Imagined } from '../../core/dynamics.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { ReverieError } from '../../core/errors.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import type { Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { rowSize } from '../../env/space-values.js';
import type { Learner } from '../../rl/learner.js';
import type { Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import { isWithin, widenedRange } from '../../worldmodel/seen-range.js';
import { type Instrument, readKept } from '../measure.js';
import { type EpisodeReturn, rankInstrument } from '../rank.js';
import type { VectorSetup, VectorSubjectModel } from './ground.js';
import { type Actor, actorOf, type Ladder, planLadder, type TrainedPolicies } from './ladder-policies.js';

/** What policies act in: a model that answers rows side by side, or an environment whose episodes start as the real ones. */
export type LadderDream = Pick<VectorSubjectModel, 'model' | 'dream'>;

/** The policies of a run, and how any model is judged by them. */
export interface OpenedLadder {
  /** Identifies the policies. */
  readonly identity: string;
  readonly rank: (subject: LadderDream) => Instrument;
  close(): Promise<void>;
}

/** Episodes of environments without a clock. */
const MAX_STEPS = 1000;
const FILE = 'ladder.json';

/**
 * A ladder is made once a run and kept in its folder: worker threads, and a run that resumes, judge by the same policies. Throws
 * what making the environment or reading the checkpoint throws, and SCENARIO_UNFIT for actions without bounds.
 */
export async function openVectorLadder(setup: VectorSetup): Promise<OpenedLadder> {
  const { scenario, seed, out } = setup;
  const { fidelity, env: spec } = scenario.config;
  const { policies, episodes } = fidelity.rank;
  const env = await makeEnvironment(spec, { folder: scenario.folder });
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
    const identity = JSON.stringify(['ladder 2', spec, seed, policies, versions ?? null]);
    const path = join(out, FILE);
    const kept = (await readKept(path)) as { readonly identity: string; readonly ladder: Ladder } | undefined;
    const ladder =
      kept?.identity === identity
        ? kept.ladder
        : await planLadder(env, { policies, trained, rng: Rng.fromSeed(seed).split('ladder') });
    if (kept?.identity !== identity) {
      await ensureFolder(out);
      await writeFileAtomic(path, sealedText({ identity, ladder }));
    }
    const options = { seed, notes: ladder.notes, chunkEpisodes: episodes };
    const actors = ladder.policies.map(
      ({ recipe }) =>
        () =>
          actorOf(recipe, { env, normaliser: ladder.normaliser, trained }),
    );
    const maxSteps = env.maxEpisodeSteps ?? MAX_STEPS;
    return {
      identity: JSON.stringify([identity, episodes]),
      rank: (subject) =>
        rankInstrument(
          {
            policies: ladder.policies.map(({ name }) => name),
            episodes,
            returnsOf: (world, policy, wanted, signal) => {
              const seeds = wanted.map((episode) => ({ seed, episode }));
              const rules = { maxSteps, signal };
              return world === 'real'
                ? realReturns(setup, actors[policy], seeds, rules)
                : simulated(setup, subject, actors[policy], seeds, rules);
            },
          },
          options,
        ),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
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
export interface EpisodeSeeds {
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

/** In an environment of one's own: chunks may be under way at once. */
async function realReturns(
  setup: VectorSetup,
  actor: () => Actor,
  seeds: readonly EpisodeSeeds[],
  rules: EpisodeRules,
): Promise<EpisodeReturn[]> {
  const { config, folder } = setup.scenario;
  const env = await makeEnvironment(config.env, { folder });
  try {
    const returns: EpisodeReturn[] = [];
    for (const one of seeds) returns.push(await returnIn(env, actor(), one, rules));
    return returns;
  } finally {
    await env.close();
  }
}

async function simulated(
  setup: VectorSetup,
  { model, dream }: LadderDream,
  actor: () => Actor,
  seeds: readonly EpisodeSeeds[],
  rules: EpisodeRules,
): Promise<(EpisodeReturn | null)[]> {
  if (model === undefined) {
    const returns: EpisodeReturn[] = [];
    for (const one of seeds) {
      const env = await dream(startSeed(one));
      try {
        returns.push(await returnIn(env, actor(), one, rules));
      } finally {
        await env.close();
      }
    }
    return returns;
  }
  const { config, folder } = setup.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const starts: Float32Array[] = [];
  try {
    for (const one of seeds) {
      const { observation } = await env.reset({ seed: startSeed(one) });
      starts.push(observation.slice(0, rowSize(env.observationSpace)));
    }
  } finally {
    await env.close();
  }
  return dreamtReturns({ model, propagation: config.rollout.propagation }, actor, starts, seeds, rules);
}

/** Runs one episode, which begins by `reset` with its seed. */
async function returnIn(
  env: VectorEnvironment,
  actor: Actor,
  seeds: EpisodeSeeds,
  { maxSteps, signal }: EpisodeRules,
): Promise<EpisodeReturn> {
  const rng = streamOf(seeds, 'act');
  let { observation } = await env.reset({ seed: startSeed(seeds) });
  let total = 0;
  let length = 0;
  for (let ended = false; !ended && length < maxSteps; ) {
    const result = await env.step(await actor(observation, rng));
    total += result.reward;
    length++;
    ended = result.terminated || result.truncated;
    observation = result.observation;
    // An environment that never waits would keep signals from running.
    if (length % 64 === 0) await nextTurn();
    signal?.throwIfAborted();
  }
  return { return: total, length };
}

/** A model asked for many episodes side by side. */
export interface RowModel {
  readonly model: VectorDynamics;
  readonly propagation: Propagation;
}

interface Dreamer {
  observation: Float32Array;
  readonly actor: Actor;
  readonly act: Rng;
  readonly dream: Rng;
  total: number;
  length: number;
  state: 'running' | 'ended' | 'broken';
}

/**
 * Simulates the episodes side by side from `starts`, each to the byte as if alone. null for one in which the model answered with
 * NaN or infinity.
 */
export async function dreamtReturns(
  { model, propagation }: RowModel,
  actor: () => Actor,
  starts: readonly Float32Array[],
  seeds: readonly EpisodeSeeds[],
  { maxSteps, signal }: EpisodeRules,
): Promise<(EpisodeReturn | null)[]> {
  const dreamers = starts.map(
    (observation, i): Dreamer => ({
      observation,
      actor: actor(),
      act: streamOf(seeds[i], 'act'),
      dream: streamOf(seeds[i], 'dream'),
      total: 0,
      length: 0,
      state: 'running',
    }),
  );
  let running: readonly Dreamer[] = dreamers;
  const leave = leaver(model, maxSteps);
  let carry = await model.begin(
    joinedFloats(starts),
    dreamers.map(({ dream }) => dream),
  );
  for (let step = 0; step < maxSteps && running.length > 0; step++) {
    await nextTurn();
    signal?.throwIfAborted();
    const actions: Float32Array[] = [];
    for (const one of running) actions.push(await one.actor(one.observation, one.act));
    const next = await dreamStep({ model, propagation }, carry, running, actions);
    leave(running);
    const rows = Uint32Array.from(running.keys()).filter((row) => running[row].state === 'running');
    running = Array.from(rows, (row) => running[row]);
    carry = model.pick(next, rows);
  }
  return dreamers.map(({ total, length, state }) => (state === 'broken' ? null : { return: total, length }));
}

/**
 * How far beyond what its model was shown an episode may lead, in widths of the range. A policy that leads further is asked about
 * where the model knows nothing: it is over, as in MOReL's pessimistic world (2005.05951, section 4).
 */
const RANGE = 0.5;

/**
 * Ends episodes that left what the model was shown. Where episodes end by the task and steps may pay, no more is earned, as after
 * any end; elsewhere, where nothing ends or every step costs, each step that was left has a low reward, or none where low ones are
 * above none.
 */
function leaver({ seen }: VectorDynamics, maxSteps: number): (running: readonly Dreamer[]) => void {
  if (seen === undefined) return () => {};
  const range = widenedRange(seen, RANGE);
  const isEnd = seen.ends && seen.highReward > 0;
  const left = isEnd ? 0 : Math.min(0, seen.lowReward);
  return (running) => {
    for (const one of running) {
      if (one.state !== 'running' || isWithin(one.observation, 0, range)) continue;
      one.state = 'ended';
      for (let step = one.length; step < maxSteps; step++) one.total += left;
    }
  };
}

/** The memory after one step of all; that of an episode whose answer was no number is as it was. */
async function dreamStep(
  { model, propagation }: RowModel,
  carry: Carry,
  running: readonly Dreamer[],
  actions: readonly Float32Array[],
): Promise<Carry> {
  const before = running.map(({ dream }) => dream.state());
  try {
    const rngs = running.map(({ dream }) => dream);
    const imagined = await model.imagine(carry, joinedFloats(actions), rngs, { propagation });
    take(running, imagined);
    return imagined.carry;
  } catch (error) {
    if (!isNoNumber(error)) throw error;
  }
  // One by one, to find whose answer is no number; streams begin again where they were.
  const carries: Carry[] = [];
  for (const [i, one] of running.entries()) {
    const rng = Rng.fromState(before[i]);
    const own = model.pick(carry, Uint32Array.of(i));
    try {
      const imagined = await model.imagine(own, actions[i], [rng], { propagation });
      take([one], imagined);
      carries.push(imagined.carry);
      one.dream.skip(rng.state().position - one.dream.state().position);
    } catch (error) {
      if (!isNoNumber(error)) throw error;
      carries.push(own);
      one.state = 'broken';
    }
  }
  return model.join(carries);
}

function isNoNumber(error: unknown): boolean {
  return error instanceof ReverieError && error.code === 'NON_FINITE_VALUE';
}

function take(running: readonly Dreamer[], { observation, reward, terminated }: Imagined<Carry, Float32Array>): void {
  const obsDim = observation.length / running.length;
  running.forEach((one, i) => {
    one.observation = observation.slice(i * obsDim, (i + 1) * obsDim);
    one.total += reward[i];
    one.length++;
    if (terminated[i] === 1) one.state = 'ended';
  });
}
