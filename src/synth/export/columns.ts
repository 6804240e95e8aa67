// The columns of an exported transition: their names (as Python readers write them), types and where they come from.
// Unknown numbers and absent texts are null.

import type { RowProvenance } from '../../replay/index.js';
import type { ColumnType } from './parquet-file.js';
import { rowOf, type TransitionTable } from './table.js';

export type Cell = number | bigint | boolean | string | null | readonly number[];

interface Column {
  readonly type: ColumnType;
  /** `index`: where the row lies in the batch. */
  readonly of: (table: TransitionTable, index: number, provenance: RowProvenance) => Cell;
}

export const TRANSITION_COLUMNS: Readonly<Record<string, Column>> = {
  obs: { type: 'float list', of: ({ batch, obsDim }, i) => rowOf(batch.obs, i, obsDim) },
  action: { type: 'float list', of: ({ batch, actionDim }, i) => rowOf(batch.action, i, actionDim) },
  reward: { type: 'float', of: ({ batch }, i) => batch.reward[i] },
  terminated: { type: 'boolean', of: ({ batch }, i) => batch.terminated[i] === 1 },
  truncated: { type: 'boolean', of: ({ batch }, i) => batch.truncated[i] === 1 },
  next_obs: { type: 'float list', of: ({ batch, obsDim }, i) => rowOf(batch.nextObs, i, obsDim) },
  source: { type: 'text', of: (_, __, { source }) => source },
  backend: { type: 'text', of: (_, __, { backend }) => backend },
  model_version: { type: 'text', of: (_, __, { modelVersion }) => modelVersion || null },
  scenario: { type: 'text', of: (_, __, { scenario }) => scenario || null },
  task: { type: 'text', of: (_, __, { task }) => task || null },
  policy_version: { type: 'text', of: (_, __, { policyVersion }) => policyVersion || null },
  seed: { type: 'integer', of: (_, __, { seed }) => seed },
  row_id: { type: 'integer', of: (_, __, { rowId }) => rowId },
  episode: { type: 'integer', of: (_, __, { episode }) => episode },
  step: { type: 'integer', of: (_, __, { step }) => step },
  group: { type: 'integer', of: (_, __, { group }) => (group < 0 ? null : group) },
  parent: { type: 'integer', of: (_, __, { parent }) => (parent < 0 ? null : parent) },
  log_prob: { type: 'float', of: (_, __, { logProb }) => known(logProb) },
  confidence: { type: 'float', of: (_, __, { confidence }) => known(confidence) },
  state_hash: { type: 'text', of: (_, __, { stateHash }) => (stateHash === 0n ? null : hex(stateHash)) },
};

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function hex(hash: bigint): string {
  return hash.toString(16).padStart(16, '0');
}
