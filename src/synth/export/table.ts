// One view of transitions for every exporter, whether they come from rollouts or lie in a replay buffer.

import { ReplayBuffer, type RowProvenance, type TransitionBatch } from '../../replay/index.js';
import type { RolloutResult } from '../rollout/request.js';

export interface TransitionTable {
  /** Rows in the order they were lived. */
  readonly rows: number;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly batch: TransitionBatch;
  /** Where row `row` lies in `batch`. */
  readonly indexOf: (row: number) => number;
  /** Everything recorded about row `row`; its `rowId` is its number where rows have none of their own. */
  readonly provenanceOf: (row: number) => RowProvenance;
}

export type TransitionSource = ReplayBuffer | Pick<RolloutResult, 'batch' | 'provenance'>;

/** A live view: stale once the source changes. */
export function tableOf(source: TransitionSource): TransitionTable {
  return source instanceof ReplayBuffer ? tableOfBuffer(source) : tableOfResult(source);
}

function tableOfBuffer(buffer: ReplayBuffer): TransitionTable {
  const { size, capacity, obsDim, actionDim } = buffer;
  // In a ring that went round, the oldest row lies behind the newest.
  const oldest = buffer.inserted > capacity ? buffer.inserted % capacity : 0;
  const indexOf = (row: number) => (oldest + row) % capacity;
  const provenanceOf = (row: number) => buffer.provenanceAt(indexOf(row));
  return { rows: size, obsDim, actionDim, batch: buffer.rows(), indexOf, provenanceOf };
}

function tableOfResult({ batch, provenance }: Pick<RolloutResult, 'batch' | 'provenance'>): TransitionTable {
  const { backend, modelVersion, scenario, task = '', policyVersion, seed, source } = provenance;
  const shared = { source, backend, modelVersion, scenario, task, policyVersion, seed };
  const { rows } = batch;
  return {
    rows,
    obsDim: rows === 0 ? 0 : batch.obs.length / rows,
    actionDim: rows === 0 ? 0 : batch.action.length / rows,
    batch,
    indexOf: (row) => row,
    provenanceOf: (row) => ({
      ...shared,
      rowId: row,
      episode: provenance.episode[row],
      step: provenance.step[row],
      group: provenance.group?.[row] ?? -1,
      parent: provenance.parent?.[row] ?? -1,
      logProb: provenance.logProb?.[row] ?? Number.NaN,
      confidence: provenance.confidence?.[row] ?? (source === 'real' ? 1 : Number.NaN),
      stateHash: provenance.stateHash?.[row] ?? 0n,
    }),
  };
}

/** Row `index` of a [rows, dim] column as plain numbers. */
export function rowOf(column: Float32Array, index: number, dim: number): number[] {
  return Array.from(column.subarray(index * dim, (index + 1) * dim));
}
