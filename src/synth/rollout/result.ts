// Chunks of a job joined to one batch with its provenance, and cut where a simulation left what was ever really seen.

import type { ReplayBuffer } from '../../replay/buffer.js';
import type { Provenance, TransitionBatch } from '../../replay/transition.js';
import { isWithin, type ObservedRange, seenRange, widenedRange } from '../../worldmodel/seen-range.js';
import type { FrozenRolloutRequest, RolloutChunk, RolloutCounts, RolloutPlan, RolloutResult } from './plan.js';

/** The part of provenance that all rows of a job share. */
export type SharedProvenance = Pick<
  Provenance,
  'source' | 'backend' | 'modelVersion' | 'policyVersion' | 'scenario' | 'seed'
>;

type Identified = Pick<FrozenRolloutRequest, 'scenario' | 'model' | 'policy'>;

export function sharedProvenance({ scenario, model, policy }: Identified, plan: RolloutPlan): SharedProvenance {
  return {
    source: 'synthetic',
    ...{ backend: model.backend, modelVersion: model.modelVersion, policyVersion: policy.version },
    scenario: scenario ?? '',
    seed: plan.seed,
  };
}

/** Where each row of a chunk came from. */
export function provenanceOfChunk(chunk: RolloutChunk, shared: SharedProvenance): Provenance {
  const { episode, step, parent, confidence, logProb } = chunk;
  return { ...shared, episode, step, parent, ...(confidence && { confidence }), ...(logProb && { logProb }) };
}

export function mergeChunks(chunks: readonly RolloutChunk[], request: Identified, plan: RolloutPlan): RolloutResult {
  // A chunk without rows may not know the width of an action.
  const filled = chunks.filter((chunk) => chunk.rows > 0);
  const column = <T extends Column>(of: (chunk: RolloutChunk) => T, type: new (length: number) => T) =>
    joined(filled.map(of), type);
  const has = (of: (chunk: RolloutChunk) => unknown) => filled.length > 0 && filled.every(of);
  return {
    batch: {
      rows: filled.reduce((rows, chunk) => rows + chunk.rows, 0),
      obs: column((chunk) => chunk.obs, Float32Array),
      action: column((chunk) => chunk.action, Float32Array),
      reward: column((chunk) => chunk.reward, Float32Array),
      terminated: column((chunk) => chunk.terminated, Uint8Array),
      truncated: column((chunk) => chunk.truncated, Uint8Array),
      nextObs: column((chunk) => chunk.nextObs, Float32Array),
    },
    provenance: {
      ...sharedProvenance(request, plan),
      episode: column((chunk) => chunk.episode, Float64Array),
      step: column((chunk) => chunk.step, Uint32Array),
      parent: column((chunk) => chunk.parent, Float64Array),
      ...(has((chunk) => chunk.confidence) && { confidence: column((chunk) => chunk.confidence!, Float32Array) }),
      ...(has((chunk) => chunk.logProb) && { logProb: column((chunk) => chunk.logProb!, Float32Array) }),
    },
    counts: sumCounts(chunks.map((chunk) => chunk.counts)),
  };
}

export function sumCounts(counts: readonly RolloutCounts[]): RolloutCounts {
  const sum = (key: keyof RolloutCounts) => counts.reduce((total, one) => total + one[key], 0);
  return {
    episodes: sum('episodes'),
    rows: sum('rows'),
    terminated: sum('terminated'),
    outOfHorizon: sum('outOfHorizon'),
    doubted: sum('doubted'),
  };
}

interface Column extends ArrayLike<number> {
  set(values: ArrayLike<number>, offset: number): void;
}

function joined<T extends Column>(parts: readonly T[], type: new (length: number) => T): T {
  const out = new type(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** The range of the real observations, widened by `margin` of its width on either side. */
export function observedRange(real: ReplayBuffer, margin: number): ObservedRange {
  return widenedRange(seenRange(real.rows(), real.obsDim), margin);
}

/**
 * The rows before each branch leaves the range, so that a model that runs off takes no learner along; the last of a branch that is
 * cut is truncated. The same object where none is.
 */
export function cutAtRange(result: RolloutResult, range: ObservedRange): RolloutResult {
  const { batch, provenance, counts } = result;
  const { episode } = provenance;
  const kept: number[] = [];
  const truncated = batch.truncated.slice();
  let [cut, over, ended] = [0, Number.NaN, 0];
  for (let row = 0; row < batch.rows; row++) {
    const isOver = episode[row] === over;
    if (!isOver && isWithin(batch.nextObs, row, range)) {
      kept.push(row);
      continue;
    }
    ended += batch.terminated[row];
    if (isOver) continue;
    over = episode[row];
    cut++;
    if (row > 0 && episode[row - 1] === over) truncated[row - 1] = 1;
  }
  if (cut === 0) return result;
  const rows = Uint32Array.from(kept);
  const picked = <T extends object>(columns: T): T =>
    Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [
        name,
        ArrayBuffer.isView(value) ? pick(value as Float32Array, rows, batch.rows) : value,
      ]),
    ) as T;
  return {
    batch: { ...picked<TransitionBatch>({ ...batch, truncated }), rows: rows.length },
    provenance: picked<Provenance>(provenance),
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

/** Rows of a column of `of` rows. */
function pick(values: Float32Array, rows: Uint32Array, of: number): Float32Array {
  const width = values.length / of;
  const picked = new (values.constructor as Float32ArrayConstructor)(rows.length * width);
  for (let to = 0; to < rows.length; to++) {
    for (let j = 0; j < width; j++) picked[to * width + j] = values[rows[to] * width + j];
  }
  return picked;
}
