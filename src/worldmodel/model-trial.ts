// What a model is worth on real episodes: it is shown where they began and what was done, and held against what followed, step
// after step. On rows that were lived after it was fitted this is an honest exam, by the policy it will be dreamt with.

import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import type { Columns } from '../replay/columns.js';
import type { VectorDynamics } from './dynamics.js';

export interface TrialOptions {
  /** Rows before this one (numbered as they were inserted) are left out; those no longer held are anyway. */
  readonly from: number;
  /** Not advanced. */
  readonly rng: Rng;
}

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

/** Stretches at most, and at least for a figure. */
const WINDOWS = 256;
const LEAST_WINDOWS = 16;

/** Steps that a stretch has at most. */
const LONGEST = 50;

/** Root mean square over elements, in standard deviations of the observations, within which an imagined state is near. */
const NEAR = 0.3;
const SHARE_NEAR = 0.8;

/** Elements whose deviation is below this, relative to their size, never change. */
const STILL = 1e-6;

/** Models with a memory are shown the start alone. @throws what the model throws, but for values that run off to infinity */
export async function tryModel(
  model: VectorDynamics,
  real: ReplayBuffer,
  { from, rng }: TrialOptions,
): Promise<ModelTrial> {
  const oldest = real.inserted - real.size;
  const first = Math.max(0, from - oldest);
  const lived = real.slice(first, real.size - first);
  const stretches = stretchesOf(lived, real.size - first);
  const scale = deviations(real.columns().obs, real.obsDim);
  const run = new TrialRun(model, lived, real.obsDim, real.actionDim, scale);
  let [trustedSteps, longest, isTrusted] = [0, 0, true];
  for (let step = 1; step <= LONGEST; step++) {
    const near = await run.step(stretches, step, rng.split('step', step));
    if (near === undefined) break;
    longest = step;
    isTrusted &&= near >= SHARE_NEAR;
    if (isTrusted) trustedSteps = step;
  }
  return { windows: stretches.length, longest, trustedSteps, ...run.firstStep };
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

class TrialRun {
  firstStep: Pick<ModelTrial, 'r2' | 'rewardR2' | 'doubt'> = { r2: null, rewardR2: null, doubt: null };
  private carry: Awaited<ReturnType<VectorDynamics['begin']>> | undefined;
  /** Stretches that the carry holds, and whether each was near in all steps so far. */
  private held: readonly Stretch[] = [];
  private near: readonly boolean[] = [];

  constructor(
    private readonly model: VectorDynamics,
    private readonly lived: Columns,
    private readonly obsDim: number,
    private readonly actionDim: number,
    private readonly scale: Float64Array,
  ) {}

  /** Share of stretches that are near after `step` steps and were before; undefined where too few are that long. */
  async step(stretches: readonly Stretch[], step: number, rng: Rng): Promise<number | undefined> {
    if (stretches.filter(({ steps }) => steps >= step).length < Math.min(LEAST_WINDOWS, stretches.length))
      return undefined;
    await this.keep(stretches, step, rng);
    const rows = this.held.map(({ row }) => row + step - 1);
    const imagined = await this.imagine(this.rowsOf(this.lived.action, this.actionDim, rows), step, rng.split('model'));
    if (imagined === undefined) return 0;
    this.carry = imagined.carry;
    const { nextObs, obs, reward } = this.lived;
    const real = this.rowsOf(nextObs, this.obsDim, rows);
    if (step === 1) {
      const before = this.rowsOf(obs, this.obsDim, rows);
      this.firstStep = {
        r2: explainedChange(before, real, imagined.observation, this.obsDim),
        rewardR2: explained(this.rowsOf(reward, 1, rows), imagined.reward, 0, 1),
        doubt: imagined.disagreement === undefined ? null : percentile(imagined.disagreement, 0.95),
      };
    }
    this.near = this.near.map((wasNear, i) => wasNear && this.distance(real, imagined.observation, i) <= NEAR);
    return this.near.filter(Boolean).length / this.near.length;
  }

  /** Brings the carry to the stretches that are at least `step` steps long. */
  private async keep(stretches: readonly Stretch[], step: number, rng: Rng): Promise<void> {
    if (this.carry === undefined) {
      this.held = stretches;
      this.near = stretches.map(() => true);
      const starts = this.rowsOf(
        this.lived.obs,
        this.obsDim,
        stretches.map(({ row }) => row),
      );
      this.carry = await this.model.begin(starts, rng.split('begin'));
      return;
    }
    const living = Uint32Array.from(this.held.keys()).filter((i) => this.held[i].steps >= step);
    if (living.length === this.held.length) return;
    this.carry = this.model.pick(this.carry, living);
    this.held = Array.from(living, (i) => this.held[i]);
    this.near = Array.from(living, (i) => this.near[i]);
  }

  /** Undefined where the model ran off to infinity. */
  private async imagine(action: Float32Array, step: number, rng: Rng) {
    const disagreement = step === 1 && (this.model.opinions ?? 1) > 1;
    try {
      return await this.model.imagine(this.carry!, action, rng, {
        propagation: 'mean',
        deterministic: true,
        disagreement,
      });
    } catch (error) {
      if ((error as { code?: string }).code === 'NON_FINITE_VALUE') return undefined;
      throw error;
    }
  }

  private distance(real: Float32Array, imagined: Float32Array, row: number): number {
    let [sum, count] = [0, 0];
    for (let j = 0; j < this.obsDim; j++) {
      if (this.scale[j] === 0) continue;
      sum += ((real[row * this.obsDim + j] - imagined[row * this.obsDim + j]) / this.scale[j]) ** 2;
      count++;
    }
    return Math.sqrt(sum / Math.max(1, count));
  }

  private rowsOf(column: Float32Array, width: number, rows: readonly number[]): Float32Array {
    const picked = new Float32Array(rows.length * width);
    for (const [to, row] of rows.entries()) {
      for (let j = 0; j < width; j++) picked[to * width + j] = column[row * width + j];
    }
    return picked;
  }
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
  const rows = real.length / width;
  let [sum, squares, errors] = [0, 0, 0];
  for (let at = j; at < real.length; at += width) {
    sum += real[at];
    squares += real[at] ** 2;
    errors += (real[at] - foreseen[at]) ** 2;
  }
  const variance = squares / rows - (sum / rows) ** 2;
  return isStill(variance, squares / rows) ? null : Math.max(-1, 1 - errors / rows / variance);
}

function deviations(obs: Float32Array, width: number): Float64Array {
  const rows = obs.length / width;
  return Float64Array.from({ length: width }, (_, j) => {
    let [sum, squares] = [0, 0];
    for (let at = j; at < obs.length; at += width) {
      sum += obs[at];
      squares += obs[at] ** 2;
    }
    const variance = squares / rows - (sum / rows) ** 2;
    return isStill(variance, squares / rows) ? 0 : Math.sqrt(variance);
  });
}

function isStill(variance: number, meanSquare: number): boolean {
  return !(variance > STILL * Math.max(meanSquare, STILL));
}

function percentile(values: Float32Array, share: number): number {
  const sorted = values.slice().sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
