// Episodes of one policy, real and dreamt, as pairs: same first state, same noise of the actions.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Carry, Imagined } from '../../core/dynamics.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { ReverieError } from '../../core/errors.js';
import { Rng, type RngState } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { rowSize } from '../../env/space-values.js';
import type { Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import { isWithin, widenedRange } from '../../worldmodel/seen-range.js';
import type { EpisodeReturn } from '../rank/rank-metrics.js';
import type { Actor } from './ladder-policies.js';

/** Seed of a ladder and number of an episode: what an episode's start and noise come from. */
export interface EpisodeSeeds {
  readonly seed: number;
  readonly episode: number;
}

export interface EpisodeRules {
  readonly gamma: number;
  /** Steps of an episode at most. */
  readonly maxSteps: number;
  readonly signal?: AbortSignal;
}

/**
 * How far beyond what its model was shown a dreamt episode may lead, in widths of the range. A policy that leads further is asked about
 * where the model knows nothing: it is over, as in MOReL's pessimistic world (2005.05951, section 4).
 */
const RANGE = 0.5;

/** A model asked for many episodes side by side. */
export interface RowModel {
  readonly model: VectorDynamics;
  readonly propagation: Propagation;
}

/** What the environment of an episode is reset with. */
export function startSeed({ seed, episode }: EpisodeSeeds): number {
  return streamOf({ seed, episode }, 'start').uint32();
}

/** Lives one episode, which begins by `reset` with its seed. */
export async function livedReturn(
  env: VectorEnvironment,
  actor: Actor,
  seeds: EpisodeSeeds,
  { gamma, maxSteps, signal }: EpisodeRules,
): Promise<EpisodeReturn> {
  const rng = streamOf(seeds, 'act');
  let { observation } = await env.reset({ seed: startSeed(seeds) });
  const sum = new Returns(gamma);
  for (let ended = false; !ended && sum.length < maxSteps; ) {
    const result = await env.step(await actor(observation, rng));
    sum.add(result.reward);
    ended = result.terminated || result.truncated;
    observation = result.observation;
    // An environment that never waits would keep signals from running.
    if (sum.length % 64 === 0) await nextTurn();
    signal?.throwIfAborted();
  }
  return sum.result();
}

interface Dreamer {
  observation: Float32Array;
  readonly actor: Actor;
  readonly act: Rng;
  readonly dream: Rng;
  readonly sum: Returns;
  state: 'running' | 'ended' | 'broken';
}

/**
 * Dreams the episodes side by side from `starts`, each to the byte as if alone. null for one in which the model answered with
 * NaN or infinity.
 */
export async function dreamtReturns(
  { model, propagation }: RowModel,
  actor: () => Actor,
  starts: readonly Float32Array[],
  seeds: readonly EpisodeSeeds[],
  { gamma, maxSteps, signal }: EpisodeRules,
): Promise<(EpisodeReturn | null)[]> {
  const dreamers = starts.map(
    (observation, i): Dreamer => ({
      observation,
      actor: actor(),
      act: streamOf(seeds[i], 'act'),
      dream: streamOf(seeds[i], 'dream'),
      sum: new Returns(gamma),
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
  return dreamers.map(({ sum, state }) => (state === 'broken' ? null : sum.result()));
}

/**
 * Ends episodes that left what the model was shown. Where episodes end by the task and steps may pay, no more is earned, as after any end;
 * elsewhere, where nothing ends or every step costs, each step that was left has a low reward, or none where low ones are above none.
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
      one.sum.complete(left, maxSteps);
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
    if (!(error instanceof ReverieError) || error.code !== 'NON_FINITE_VALUE') throw error;
    return stepApart({ model, propagation }, carry, running, actions, before);
  }
}

/** One by one, to find whose answer is no number; streams begin again where they were. */
async function stepApart(
  { model, propagation }: RowModel,
  carry: Carry,
  running: readonly Dreamer[],
  actions: readonly Float32Array[],
  before: readonly RngState[],
): Promise<Carry> {
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
      if (!(error instanceof ReverieError) || error.code !== 'NON_FINITE_VALUE') throw error;
      carries.push(own);
      one.state = 'broken';
    }
  }
  return model.join(carries);
}

function take(running: readonly Dreamer[], { observation, reward, terminated }: Imagined<Carry, Float32Array>): void {
  const obsDim = observation.length / running.length;
  running.forEach((one, i) => {
    one.observation = observation.slice(i * obsDim, (i + 1) * obsDim);
    one.sum.add(reward[i]);
    if (terminated[i] === 1) one.state = 'ended';
  });
}

/** Where the real environment's episode begins. */
export async function firstObservation(env: VectorEnvironment, seeds: EpisodeSeeds): Promise<Float32Array> {
  const { observation } = await env.reset({ seed: startSeed(seeds) });
  return observation.slice(0, rowSize(env.observationSpace));
}

function streamOf({ seed, episode }: EpisodeSeeds, purpose: string): Rng {
  return Rng.fromSeed(seed).split('ladder', episode, purpose);
}

class Returns {
  length = 0;
  private total = 0;
  private discounted = 0;
  private factor = 1;
  private largestReward = 0;

  constructor(private readonly gamma: number) {}

  add(reward: number): void {
    this.total += reward;
    this.discounted += this.factor * reward;
    this.factor *= this.gamma;
    this.largestReward = Math.max(this.largestReward, Math.abs(reward));
    this.length++;
  }

  /** What steps up to `maxSteps` that were not taken count. */
  complete(reward: number, maxSteps: number): void {
    for (let step = this.length; step < maxSteps; step++) {
      this.total += reward;
      this.discounted += this.factor * reward;
      this.factor *= this.gamma;
    }
  }

  result(): EpisodeReturn {
    const { total, length, discounted, largestReward } = this;
    return { return: total, length, discounted, largestReward };
  }
}
