// Shadow steps: a seeded share of calls is answered by the real environment too, for measuring alone. What the episode
// sees is what it would have seen without.

import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { Prediction } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { comparableObservation } from './observation-text.js';
import { addRowCounts, NO_SHADOW, type ShadowCounts, type ShadowRow } from './shadow-estimates.js';

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
    if (!(share >= 0 && share <= 1))
      throw reverieError('SETTING_INVALID', {
        problem: `Settings of the world model: ${`the share of shadow steps is ${share}, not in [0, 1].`}`,
        hint: 'See ensembleConfigSchema for every setting, its meaning and its default.',
      });
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
