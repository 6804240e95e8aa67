// Rows whose every value tells which row it is, so that a test sees any mix-up.

import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch } from '../../src/replay/columns.js';
import type { Provenance, Source, TransitionBatch } from '../../src/replay/transition.js';

export const OBS_DIM = 3;
export const ACTION_DIM = 2;

/** Rows with row ids first .. first + rows - 1. */
export function makeRows(first: number, rows: number): TransitionBatch {
  const batch = allocateBatch(rows, OBS_DIM, ACTION_DIM);
  for (let i = 0; i < rows; i++) {
    const id = first + i;
    for (let k = 0; k < OBS_DIM; k++) {
      batch.obs[i * OBS_DIM + k] = id + k / 8;
      batch.nextObs[i * OBS_DIM + k] = id + 1 + k / 8;
    }
    for (let k = 0; k < ACTION_DIM; k++) batch.action[i * ACTION_DIM + k] = -id - k / 8;
    batch.reward[i] = id;
    batch.terminated[i] = id % 10 === 9 ? 1 : 0;
    batch.truncated[i] = id % 10 === 4 ? 1 : 0;
  }
  return batch;
}

export function makeProvenance(
  source: Source,
  first: number,
  rows: number,
  changes: Partial<Provenance> = {},
): Provenance {
  return {
    source,
    backend: source === 'real' ? 'real' : 'ensemble',
    modelVersion: source === 'real' ? '' : 'model-1',
    scenario: 'test',
    policyVersion: 'policy-1',
    seed: 7,
    episode: Float64Array.from({ length: rows }, (_, i) => Math.floor((first + i) / 10)),
    step: Uint32Array.from({ length: rows }, (_, i) => (first + i) % 10),
    ...changes,
  };
}

export function makeBuffer(capacity: number, source: Source = 'real'): ReplayBuffer {
  return new ReplayBuffer({ capacity, obsDim: OBS_DIM, actionDim: ACTION_DIM, source });
}

/** Rows of a saved buffer by a part of their provenance. */
export async function savedRowsBy(folder: string, part: 'backend' | 'modelVersion' | 'policyVersion') {
  const buffer = await ReplayBuffer.load(folder);
  const counts: Record<string, number> = {};
  for (const id of buffer.columns().origin) {
    const name = buffer.originList()[id][part];
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Appends rows with the next row ids, in batches of `batchRows`. */
export function fill(buffer: ReplayBuffer, rows: number, batchRows = rows, changes: Partial<Provenance> = {}): void {
  const end = buffer.inserted + rows;
  while (buffer.inserted < end) {
    const count = Math.min(batchRows, end - buffer.inserted);
    const first = buffer.inserted;
    buffer.append(makeRows(first, count), makeProvenance(buffer.source, first, count, changes));
  }
}
