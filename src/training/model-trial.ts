// A world model tried on real stretches: how many steps it may be trusted, and how good its first is.

import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { type Columns, pickRows } from '../replay/columns.js';
import type { VectorDynamics } from '../worldmodel/dynamics.js';

/** Plain numbers, JSON-safe. Null where there is nothing to tell it by. */
export interface ModelTrial {
  /** Real stretches it was held against. */
  readonly windows: number;
  /** Steps of the longest stretches that there were enough of. */
  readonly longest: number;
  /** Steps after which four of five imagined stretches are still near the real ones. */
  readonly trustedSteps: number;
  /** Of one step: share of the changes' variance that is explained, mean over elements that change; at least -1 each. */
  readonly r2: number | null;
  /** The same of the reward. */
  readonly rewardR2: number | null;
  /** 95th percentile of the disagreement on real steps. */
  readonly doubt: number | null;
}

/** Stretches at most, and at least for any figure. */
const WINDOWS = 256;
const LEAST_WINDOWS = 16;

/** Steps that a stretch has at most. */
const LONGEST = 50;

/** Root mean square over elements, in standard deviations of the observations, within which an imagined state is near. */
const NEAR = 0.3;
const SHARE_NEAR = 0.8;

/** Elements whose deviation is below this, relative to their size or, below 1, as it is, never change. */
const STILL = 1e-6;

/**
 * Undefined of too few rows.
 * @param from  rows before this one (numbered as they were inserted) are left out; those no longer held are anyway
 * @param rng  not advanced
 * @throws what the model throws, but for values that run off to infinity
 */
export async function tryModel(
  model: VectorDynamics,
  real: ReplayBuffer,
  { from, rng }: { readonly from: number; readonly rng: Rng },
): Promise<ModelTrial | undefined> {
  const oldest = real.inserted - real.size;
  const first = Math.max(0, from - oldest);
  if (real.size - first < LEAST_WINDOWS) return undefined;
  const newest = real.slice(first, real.size - first);
  const { obsDim, actionDim } = real;
  const stretches = stretchesOf(newest, real.size - first);
  const seen = real.columns().obs;
  const scale = Float64Array.from({ length: obsDim }, (_, j) => Math.sqrt(varianceOf(seen, j, obsDim)));
  let firstStep: Pick<ModelTrial, 'r2' | 'rewardR2' | 'doubt'> = { r2: null, rewardR2: null, doubt: null };
  // Stretches that the carry holds, and whether each was near in all steps so far.
  let held: readonly Stretch[] = stretches;
  let near: readonly boolean[] = stretches.map(() => true);
  const rowsAt = Uint32Array.from(stretches, ({ row }) => row);
  let carry = await model.begin(pickRows(newest.obs, obsDim, rowsAt), rng.split('step', 1).split('begin'));
  let [trustedSteps, longest, isTrusted] = [0, 0, true];
  for (let step = 1; step <= LONGEST; step++) {
    const living = Uint32Array.from(held.keys()).filter((i) => held[i].steps >= step);
    if (living.length < LEAST_WINDOWS) break;
    if (living.length < held.length) {
      carry = model.pick(carry, living);
      [held, near] = [Array.from(living, (i) => held[i]), Array.from(living, (i) => near[i])];
    }
    longest = step;
    const rows = Uint32Array.from(held, ({ row }) => row + step - 1);
    const action = pickRows(newest.action, actionDim, rows);
    const disagreement = step === 1 && (model.opinions ?? 1) > 1;
    const options = { propagation: 'mean', deterministic: true, disagreement } as const;
    const stream = rng.split('step', step).split('model');
    const imagined = await (async () => model.imagine(carry, action, stream, options))().catch(ranOff);
    if (imagined === undefined) {
      isTrusted = false;
      if (step === 1) firstStep = { r2: -1, rewardR2: -1, doubt: null };
      break;
    }
    carry = imagined.carry;
    const after = pickRows(newest.nextObs, obsDim, rows);
    if (step === 1) {
      firstStep = {
        r2: explainedChange(pickRows(newest.obs, obsDim, rows), after, imagined.observation, obsDim),
        rewardR2: explained(pickRows(newest.reward, 1, rows), imagined.reward, 0, 1),
        doubt: imagined.disagreement === undefined ? null : percentile(imagined.disagreement, 0.95),
      };
    }
    near = near.map((wasNear, i) => wasNear && distance(after, imagined.observation, i, scale) <= NEAR);
    isTrusted &&= near.filter(Boolean).length / near.length >= SHARE_NEAR;
    if (isTrusted) trustedSteps = step;
  }
  return { windows: stretches.length, longest, trustedSteps, ...firstStep };
}

/**
 * What is known after another trial. One that ended with its stretches, and not where the model strayed, takes nothing from an earlier one
 * that saw longer ones.
 */
export function withTrial(known: ModelTrial | undefined, tried: ModelTrial | undefined): ModelTrial | undefined {
  if (tried === undefined || known === undefined) return tried ?? known;
  const { trustedSteps, longest } = known;
  const isCutShort = tried.trustedSteps === tried.longest && tried.longest < trustedSteps;
  return isCutShort ? { ...tried, trustedSteps, longest } : tried;
}

/** Undefined where the model ran off to infinity. */
function ranOff(error: unknown): undefined {
  if ((error as { code?: string }).code !== 'NON_FINITE_VALUE') throw error;
}

function distance(real: Float32Array, imagined: Float32Array, row: number, scale: Float64Array): number {
  const at = row * scale.length;
  let [sum, count] = [0, 0];
  for (let j = 0; j < scale.length; j++) {
    if (scale[j] === 0) continue;
    sum += ((real[at + j] - imagined[at + j]) / scale[j]) ** 2;
    count++;
  }
  return Math.sqrt(sum / Math.max(1, count));
}

/** First row of a stretch, and how many steps of its episode follow from there on. */
interface Stretch {
  readonly row: number;
  readonly steps: number;
}

/** Spread evenly over the rows, so that old and new ones count alike. */
function stretchesOf({ episode, step, terminated, truncated }: Columns, rows: number): Stretch[] {
  const steps = new Uint32Array(rows);
  for (let row = rows - 1; row >= 0; row--) {
    const isCut = row + 1 === rows || terminated[row] === 1 || truncated[row] === 1;
    const goesOn = !isCut && episode[row + 1] === episode[row] && step[row + 1] === step[row] + 1;
    steps[row] = goesOn ? steps[row + 1] + 1 : 1;
  }
  const count = Math.min(WINDOWS, rows);
  return Array.from({ length: count }, (_, i) => {
    const row = Math.floor((i * rows) / count);
    return { row, steps: steps[row] };
  });
}

/** R² of the changes, mean over elements that change; null where none does. */
function explainedChange(
  before: Float32Array,
  after: Float32Array,
  imagined: Float32Array,
  width: number,
): number | null {
  const change = after.map((value, i) => value - before[i]);
  const foreseen = imagined.map((value, i) => value - before[i]);
  const all = Array.from({ length: width }, (_, j) => explained(change, foreseen, j, width)).filter(
    (r2) => r2 !== null,
  );
  return all.length === 0 ? null : all.reduce((sum, r2) => sum + r2, 0) / all.length;
}

/** R² of column `j`, at least -1; null where the real one never changes. */
function explained(real: Float32Array, foreseen: Float32Array, j: number, width: number): number | null {
  const variance = varianceOf(real, j, width);
  let errors = 0;
  for (let at = j; at < real.length; at += width) errors += (real[at] - foreseen[at]) ** 2;
  return variance === 0 ? null : Math.max(-1, 1 - errors / (real.length / width) / variance);
}

/** Of a column; 0 where it never changes. */
function varianceOf(values: Float32Array, j: number, width: number): number {
  const rows = values.length / width;
  let [sum, squares] = [0, 0];
  for (let at = j; at < values.length; at += width) sum += values[at];
  const mean = sum / rows;
  for (let at = j; at < values.length; at += width) squares += (values[at] - mean) ** 2;
  const variance = squares / rows;
  return Math.sqrt(variance) > STILL * Math.max(1, Math.abs(mean)) ? variance : 0;
}

function percentile(values: Float32Array, share: number): number {
  const sorted = values.slice().sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
