// One view of transitions for every exporter, whether they come from rollouts, lie in a replay buffer, or on disk.

import { ReplayBuffer } from '../../replay/buffer.js';
import { type Columns, viewColumns } from '../../replay/columns.js';
import type { Origin } from '../../replay/provenance.js';
import { SavedTransitions } from '../../replay/snapshot.js';
import type { Source } from '../../replay/transition.js';
import type { RolloutResult } from '../rollout/plan.js';

/** Rows one after another, in the order they were lived, with all that is known of them. */
export interface TransitionSlice {
  readonly rows: number;
  /** Row id of the first; the others follow. */
  readonly firstRowId: number;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly source: Source;
  /** What column `origin` refers to by number. */
  readonly origins: readonly Origin[];
  readonly columns: Columns;
}

export interface TransitionTable {
  readonly rows: number;
  readonly obsDim: number;
  readonly actionDim: number;
  /** Rows [from, from + rows) in the order they were lived; may be a live view. */
  slice(from: number, rows: number): Promise<TransitionSlice>;
}

/** Rows of a rollout: their row ids are their numbers. */
type Rollouts = Pick<RolloutResult, 'batch' | 'provenance'>;

export type TransitionSource = ReplayBuffer | SavedTransitions | Rollouts;

/** A live view: stale once the source changes. */
export function tableOf(source: TransitionSource): TransitionTable {
  if (source instanceof ReplayBuffer) return tableOfBuffer(source);
  return source instanceof SavedTransitions ? tableOfSaved(source) : tableOfRollouts(source);
}

function tableOfSaved(saved: SavedTransitions): TransitionTable {
  const { obsDim, actionDim, source, origins } = saved;
  return {
    ...{ rows: saved.rows, obsDim, actionDim },
    slice: async (from, rows) => ({
      ...{ rows, firstRowId: saved.firstRowId + from, obsDim, actionDim, source, origins },
      columns: await saved.read(from, rows),
    }),
  };
}

function tableOfBuffer(buffer: ReplayBuffer): TransitionTable {
  const { size, inserted, obsDim, actionDim, source } = buffer;
  return {
    ...{ rows: size, obsDim, actionDim },
    slice: async (from, rows) => ({
      ...{ rows, firstRowId: inserted - size + from, obsDim, actionDim, source, origins: buffer.originList() },
      columns: buffer.slice(from, rows),
    }),
  };
}

function tableOfRollouts({ batch, provenance }: Rollouts): TransitionTable {
  const { backend, modelVersion, scenario, task = '', policyVersion, seed, source } = provenance;
  const { rows: all } = batch;
  const obsDim = all === 0 ? 0 : batch.obs.length / all;
  const actionDim = all === 0 ? 0 : batch.action.length / all;
  const whole: Columns = {
    ...{ obs: batch.obs, action: batch.action, reward: batch.reward, nextObs: batch.nextObs },
    ...{ terminated: batch.terminated, truncated: batch.truncated },
    origin: new Uint32Array(all),
    episode: provenance.episode,
    step: provenance.step,
    group: provenance.group ?? new Float64Array(all).fill(-1),
    parent: provenance.parent ?? new Float64Array(all).fill(-1),
    logProb: provenance.logProb ?? new Float32Array(all).fill(Number.NaN),
    confidence: provenance.confidence ?? new Float32Array(all).fill(source === 'real' ? 1 : Number.NaN),
    stateHash: provenance.stateHash ?? new BigUint64Array(all),
  };
  const origins = [{ backend, modelVersion, scenario, task, policyVersion, seed }];
  return {
    ...{ rows: all, obsDim, actionDim },
    slice: async (from, rows) => ({
      ...{ rows, firstRowId: from, obsDim, actionDim, source, origins },
      columns: viewColumns(whole, rows, obsDim, actionDim, from),
    }),
  };
}

/** Row `index` of a [rows, dim] column as plain numbers. */
export function rowOf(column: Float32Array, index: number, dim: number): number[] {
  const row = new Array<number>(dim);
  for (let k = 0; k < dim; k++) row[k] = column[index * dim + k];
  return row;
}
