// Where a dream has left what was ever really seen, it is over: branches end before the first observation outside the range of
// the real ones, widened on both sides. A model that runs off takes no learner along.

import type { ReplayBuffer } from '../../replay/buffer.js';
import type { Provenance, TransitionBatch } from '../../replay/transition.js';
import { isWithin, type ObservedRange, seenRange, widenedRange } from '../../worldmodel/seen-range.js';
import type { RolloutResult } from './plan.js';

/** The range of the real observations, widened by `margin` of its width on either side. */
export function observedRange(real: ReplayBuffer, margin: number): ObservedRange {
  return widenedRange(seenRange(real.rows(), real.obsDim), margin);
}

/** The rows before each branch leaves the range; the last of a branch that is cut is truncated. The same object where none is. */
export function cutAtRange(result: RolloutResult, range: ObservedRange): RolloutResult {
  const { batch, provenance, counts } = result;
  const { episode } = provenance;
  if (episode === undefined) return result;
  const kept: number[] = [];
  const truncated = batch.truncated.slice();
  let [cut, over, ended] = [0, Number.NaN, 0];
  for (let row = 0; row < batch.rows; row++) {
    if (episode[row] === over) {
      ended += batch.terminated[row];
      continue;
    }
    if (isWithin(batch.nextObs, row, range)) {
      kept.push(row);
      continue;
    }
    over = episode[row];
    cut++;
    ended += batch.terminated[row];
    if (row > 0 && episode[row - 1] === over) truncated[row - 1] = 1;
  }
  if (cut === 0) return result;
  const rows = Uint32Array.from(kept);
  return {
    batch: pickBatch({ ...batch, truncated }, rows),
    provenance: pickProvenance(provenance, rows),
    counts: {
      ...counts,
      rows: rows.length,
      terminated: counts.terminated - ended,
      // A branch that doubt would have cut later is among these.
      outOfHorizon: Math.max(0, counts.outOfHorizon - (cut - ended)),
      doubted: counts.doubted + cut,
    },
  };
}

function pickBatch(batch: TransitionBatch, rows: Uint32Array): TransitionBatch {
  const [obsDim, actionDim] = [batch.obs.length / batch.rows, batch.action.length / batch.rows];
  return {
    rows: rows.length,
    obs: pick(batch.obs, rows, obsDim),
    action: pick(batch.action, rows, actionDim),
    reward: pick(batch.reward, rows, 1),
    terminated: pick(batch.terminated, rows, 1),
    truncated: pick(batch.truncated, rows, 1),
    nextObs: pick(batch.nextObs, rows, obsDim),
  };
}

function pickProvenance(provenance: Provenance, rows: Uint32Array): Provenance {
  const picked = Object.entries(provenance).map(([key, value]) => [
    key,
    ArrayBuffer.isView(value) ? pick(value as Float64Array, rows, 1) : value,
  ]);
  return Object.fromEntries(picked) as unknown as Provenance;
}

function pick<T extends Float32Array | Float64Array | Uint8Array | Uint32Array>(
  values: T,
  rows: Uint32Array,
  width: number,
): T {
  const picked = new (values.constructor as new (length: number) => T)(rows.length * width);
  for (let to = 0; to < rows.length; to++) {
    for (let j = 0; j < width; j++) picked[to * width + j] = values[rows[to] * width + j];
  }
  return picked;
}
