// Running estimates of how far the dream is from the real, from steps that both answered: transition error (epsilon_P of
// DreamGym's bound, 2511.03773), observation error and reward error (epsilon_R), by backend, with Wilson intervals. They are
// sums over rows, so they depend neither on the order rows end in nor on when they are asked for, given `beforeRow`.

import { normalQuantile, Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { Prediction } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { settingInvalid } from '../dynamics.js';
import { comparableObservation } from './checks.js';

/** What was counted for one backend. Plain JSON. */
export interface ShadowCounts {
  readonly steps: number;
  /** Steps after which the states' hashes differ. */
  readonly wrongStates: number;
  /** Steps of which one was an error of the call and the other was not. */
  readonly wrongStatus: number;
  /** Steps whose observations differ; JSON is compared as JSON. */
  readonly wrongObservations: number;
  /** Steps for which both gave a reward, those where they differ, and by how much in all. */
  readonly rewards: number;
  readonly wrongRewards: number;
  readonly rewardError: number;
  /** Steps that the real environment could not answer. */
  readonly unanswered: number;
}

export type ShadowRow = { readonly [backend: string]: ShadowCounts };

export const NO_SHADOW: ShadowCounts = {
  steps: 0,
  wrongStates: 0,
  wrongStatus: 0,
  wrongObservations: 0,
  rewards: 0,
  wrongRewards: 0,
  rewardError: 0,
  unanswered: 0,
};

/** A share with its interval; `value` is null, and the interval everything, where nothing was counted. */
export interface ShareEstimate {
  readonly value: number | null;
  readonly low: number;
  readonly high: number;
}

export interface ErrorEstimates {
  readonly steps: number;
  readonly transition: ShareEstimate;
  readonly status: ShareEstimate;
  readonly observation: ShareEstimate;
  readonly reward: ShareEstimate;
  /** Mean of absolute differences; null where no reward was compared. */
  readonly meanRewardError: number | null;
}

export class ShadowEstimates {
  private readonly rows = new Map<number, ShadowRow>();

  /** Takes in what a row found; a row that is told again replaces what it told before. */
  addRow(row: number, counts: ShadowRow): void {
    this.rows.set(row, counts);
  }

  /** By backend, of rows below `beforeRow`; `all` sums over backends. */
  counts(beforeRow = Number.POSITIVE_INFINITY): { all: ShadowCounts; byBackend: ShadowRow } {
    const byBackend: Record<string, ShadowCounts> = {};
    // In order of rows, as sums of floating-point numbers depend on it.
    for (const [row, counts] of [...this.rows].sort(([a], [b]) => a - b)) {
      if (row < beforeRow) addRowCounts(byBackend, counts);
    }
    return { all: Object.values(byBackend).reduce(addCounts, NO_SHADOW), byBackend };
  }

  /** Estimates with intervals of `confidence`, of rows below `beforeRow`. */
  report(options: { confidence?: number; beforeRow?: number } = {}): {
    all: ErrorEstimates;
    byBackend: { [backend: string]: ErrorEstimates };
  } {
    const { all, byBackend } = this.counts(options.beforeRow);
    const each = Object.entries(byBackend).map(([name, counts]) => [name, estimatesOf(counts, options.confidence)]);
    return { all: estimatesOf(all, options.confidence), byBackend: Object.fromEntries(each) };
  }

  /** Plain JSON; `ShadowEstimates.fromJSON` reads it. */
  toJSON(): { rows: [number, ShadowRow][] } {
    return { rows: [...this.rows].sort(([a], [b]) => a - b) };
  }

  static fromJSON({ rows }: { readonly rows: readonly (readonly [number, ShadowRow])[] }): ShadowEstimates {
    const estimates = new ShadowEstimates();
    for (const [row, counts] of rows) estimates.addRow(row, counts);
    return estimates;
  }
}

export function addCounts(a: ShadowCounts, b: ShadowCounts): ShadowCounts {
  const keys = Object.keys(NO_SHADOW) as (keyof ShadowCounts)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as unknown as ShadowCounts;
}

export function addRowCounts(into: Record<string, ShadowCounts>, row: ShadowRow): void {
  for (const [backend, counts] of Object.entries(row)) into[backend] = addCounts(into[backend] ?? NO_SHADOW, counts);
}

export function estimatesOf(counts: ShadowCounts, confidence = 0.95): ErrorEstimates {
  const { steps, rewards } = counts;
  return {
    steps,
    transition: wilson(counts.wrongStates, steps, confidence),
    status: wilson(counts.wrongStatus, steps, confidence),
    observation: wilson(counts.wrongObservations, steps, confidence),
    reward: wilson(counts.wrongRewards, rewards, confidence),
    meanRewardError: rewards === 0 ? null : counts.rewardError / rewards,
  };
}

/** Wilson's score interval of a share (Wilson 1927, J. Am. Stat. Assoc. 22). */
export function wilson(hits: number, trials: number, confidence = 0.95): ShareEstimate {
  if (trials === 0) return { value: null, low: 0, high: 1 };
  const z = normalQuantile(0.5 + confidence / 2);
  const share = hits / trials;
  const scale = 1 + (z * z) / trials;
  const centre = (share + (z * z) / (2 * trials)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
  return { value: share, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/**
 * Steps that may be dreamt in a row: the largest H with 1 - (1 - e)^H <= tolerance, where e is the upper end of the
 * transition error's interval. 0 where nothing was compared: nothing is trusted unmeasured.
 */
export function trustHorizon(counts: ShadowCounts, tolerance: number, confidence = 0.95): number {
  const { high } = wilson(counts.wrongStates, counts.steps, confidence);
  if (high >= 1) return 0;
  if (high <= 0 || tolerance >= 1) return Number.MAX_SAFE_INTEGER;
  const horizon = Math.log1p(-tolerance) / Math.log1p(-high);
  // A horizon that is whole but for rounding is that whole number.
  return Math.floor(horizon + 1e-9);
}

export interface ShadowOptions {
  /** Whose answers are measured, and given. */
  readonly responder: Responder;
  /** The real environment, or its exact rules. */
  readonly real: Responder;
  /** Share of calls that are compared, in [0, 1]. */
  readonly share: number;
  readonly seed: number;
}

/** Calls that belong to no row of a job are counted for this one. */
export const NO_ROW = -1;

export class ShadowResponder implements Responder {
  readonly version: string;
  /** Comparisons by row and call: a call that is taken again is counted once. */
  private readonly underway = new Map<number, Map<string, ShadowRow>>();

  /** @throws SETTING_INVALID for a share outside [0, 1] */
  constructor(private readonly options: ShadowOptions) {
    const { responder, real, share, seed } = options;
    if (!(share >= 0 && share <= 1)) throw settingInvalid(`the share of shadow steps is ${share}, not in [0, 1].`);
    this.version = `${responder.version}+shadow:${share}:${seed}:${real.version}`;
  }

  trusts(backend: string): boolean {
    return this.options.responder.trusts?.(backend) === true;
  }

  async answer(query: CallQuery, signal?: AbortSignal): Promise<Prediction> {
    const prediction = await this.options.responder.answer(query, signal);
    if (this.isCompared(query)) this.keep(query, await this.compare(query, prediction, signal));
    return prediction;
  }

  /** What the row's calls found so far, and forgets it: for the row's record, once its episode has ended. */
  takeRow(row: number = NO_ROW): ShadowRow {
    const sum: Record<string, ShadowCounts> = {};
    const found = [...(this.underway.get(row) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, counts] of found) addRowCounts(sum, counts);
    this.underway.delete(row);
    return sum;
  }

  async close(): Promise<void> {
    await this.options.responder.close();
    await this.options.real.close();
  }

  private isCompared({ row = NO_ROW, seed, step }: CallQuery): boolean {
    const { share, seed: own } = this.options;
    return Rng.fromSeed(own).split('shadow', row, seed, step).uniform() < share;
  }

  private keep({ row = NO_ROW, seed, step }: CallQuery, found: ShadowRow): void {
    const calls = this.underway.get(row) ?? new Map<string, ShadowRow>();
    calls.set(`${seed}:${step}`, found);
    this.underway.set(row, calls);
  }

  private async compare(query: CallQuery, dreamt: Prediction, signal?: AbortSignal): Promise<ShadowRow> {
    const real = await this.realAnswer(query, signal);
    return { [dreamt.backend]: real === undefined ? { ...NO_SHADOW, unanswered: 1 } : difference(query, dreamt, real) };
  }

  /** A real environment that fails must not end an episode that does not depend on it. */
  private async realAnswer(query: CallQuery, signal?: AbortSignal): Promise<Prediction | undefined> {
    try {
      return await this.options.real.answer(query, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if ((error as Error).name === 'AbortError') throw error;
      return undefined;
    }
  }
}

export function shadowResponder(options: ShadowOptions): ShadowResponder {
  return new ShadowResponder(options);
}

/** What is counted of one call that both answered. */
export function difference({ state }: Pick<CallQuery, 'state'>, dreamt: Prediction, real: Prediction): ShadowCounts {
  const reward = dreamt.reward ?? dreamt.claimed?.reward ?? null;
  const gap = reward === null || real.reward === null ? undefined : Math.abs(reward - real.reward);
  return {
    steps: 1,
    wrongStates: flag(hashAfter(state, dreamt) !== hashAfter(state, real)),
    wrongStatus: flag(dreamt.isError !== real.isError),
    wrongObservations: flag(comparableObservation(dreamt.observation) !== comparableObservation(real.observation)),
    rewards: flag(gap !== undefined),
    wrongRewards: flag(gap !== undefined && gap > 0),
    rewardError: gap ?? 0,
    unanswered: 0,
  };
}

function hashAfter(state: CallQuery['state'], { operations }: Prediction): string {
  return stateHash(applyOperations(state, operations));
}

function flag(is: boolean): number {
  return is ? 1 : 0;
}
