// What a row of a job is before it is lived: its task, its group, and seeds that depend on nothing but job and row.

import { sha256 } from '../../core/hash.js';
import { Rng } from '../../core/rng.js';

export interface RowPlan {
  readonly row: number;
  /** Episodes of one group begin alike: same task, same environment seed. -1: a group of one. */
  readonly group: number;
  /** First row of the group. */
  readonly firstRow: number;
  /** Seed of the environment: one for the whole group. */
  readonly envSeed: number;
  /** Seed of the agent after it has left its group's common way. */
  readonly agentSeed: number;
  /** Agent steps that all of a group share; what follows is each row's own. */
  readonly branchAt: number;
  /** Stream of everything else that the row decides: its task, its noise. */
  readonly rng: Rng;
}

export interface PlanSettings {
  readonly seed: number;
  readonly groupSize: number;
  readonly branchAt: number;
}

const SEED_RANGE = 2 ** 31 - 1;

export function planRow(row: number, { seed, groupSize, branchAt }: PlanSettings): RowPlan {
  const stream = Rng.fromSeed(seed).split('episodes');
  const group = Math.floor(row / groupSize);
  return {
    row,
    group: groupSize > 1 ? group : -1,
    firstRow: group * groupSize,
    envSeed: stream.split('group', group).int(SEED_RANGE),
    agentSeed: stream.split('row', row).int(SEED_RANGE),
    branchAt,
    // A group has one task, so what picks it is the group's.
    rng: stream.split('plan', group),
  };
}

/** 16 hex digits: the same row of the same job always has the same id. */
export function episodeId(scenarioHash: string, seed: number, row: number): string {
  return sha256(`${scenarioHash}\n${seed}\n${row}`).slice(0, 16);
}
