// Where branches begin: states of a real buffer, or arrays that a caller has, with the real steps before them where a model
// remembers.

import type { Carry, Imagined } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import type { PolicyAction, PolicySnapshot } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/space-values.js';
import type { ReplayBuffer } from '../../replay/buffer.js';
import { requireFinite } from '../../replay/columns.js';
import type { Provenance, TransitionBatch } from '../../replay/transition.js';
import type { Propagation, VectorDynamics, WorldModelSnapshot } from '../../worldmodel/dynamics.js';
import type { ObservedRange } from '../../worldmodel/seen-range.js';

/** Start states with their ids. */
export interface Starts {
  /** Start states [rows, obsDim], row-major; `rows` is the length of `startIds`. */
  readonly starts: Float32Array;
  /** Row id of each start in the real buffer, recorded as `parent`; -1 for none. */
  readonly startIds: ArrayLike<number>;
}

/** Start states by their number. The same number gives the same state, whenever it is asked for. */
interface StartSource {
  readonly rows: number;
  readonly obsDim: number;
  /** Those of numbers `rows`, in arrays of their own. */
  take(rows: Uint32Array): Starts;
}

/** `rows` random real states, drawn with replacement, with the row ids they have in the buffer. */
export function drawStarts(real: ReplayBuffer, rows: number, rng: Rng) {
  const drawn = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) drawn[row] = rng.int(real.size);
  return startsAt(real, drawn);
}

/** What `drawStarts` draws, each when it is asked for: start n takes the n-th draw of `rng`, which is not advanced. */
export function drawnStarts(real: ReplayBuffer, rows: number, rng: Rng): StartSource {
  const { key, position } = rng.state();
  const drawOf = (row: number) => Rng.fromState({ key, position: position + row }).int(real.size);
  return { rows, obsDim: real.obsDim, take: (taken) => startsAt(real, taken.map(drawOf)) };
}

function startsAt(real: ReplayBuffer, rows: Uint32Array): Starts & { readonly startIds: Float64Array } {
  const { obs: starts } = real.take(rows, ['obs']);
  return { starts, startIds: Float64Array.from(rows, (row) => real.rowId(row)) };
}

/** Throws SETTING_INVALID where starts and ids do not fit, NON_FINITE_VALUE. */
function sourceOfArrays({ starts, startIds }: Starts): StartSource {
  const rows = startIds.length;
  const obsDim = rows === 0 ? 0 : starts.length / rows;
  if (!Number.isInteger(obsDim) || (rows > 0 && obsDim === 0) || (rows === 0 && starts.length > 0)) {
    const problem = `Rollout request: starts has ${starts.length} values for ${rows} startIds.`;
    throw reverieError('SETTING_INVALID', { problem, hint: 'starts is [rows, obsDim] with one id per row.' });
  }
  requireFinite(
    'A start state',
    starts,
    rows,
    'the starts',
    'Start only from observations that a real environment gave.',
  );
  return {
    rows,
    obsDim,
    take: (taken) => {
      const own = new Float32Array(taken.length * obsDim);
      for (let row = 0; row < taken.length; row++) {
        const from = taken[row] * obsDim;
        for (let k = 0; k < obsDim; k++) own[row * obsDim + k] = starts[from + k];
      }
      const ids = Float64Array.from(taken, (row) => startIds[row]);
      return { starts: own, startIds: ids };
    },
  };
}

/** How every branch of a job is run; part of the job's identity. */
interface RolloutSettings {
  /** Most steps of a branch; the row at the horizon is truncated. */
  readonly horizon: number;
  /** How an ensemble answers; the model's own default if left out. */
  readonly propagation?: Propagation;
  /**
   * Branches end where the model's disagreement (its units) is greater than this: the prediction is not believed and not kept, and
   * the branch's row before it becomes truncated (MACURA, 2405.19014).
   */
  readonly disagreementLimit?: number;
  /** A branch ends before an observation outside, in the same way. */
  readonly range?: ObservedRange;
}

/** A branch from each of many given states. The same request with the same streams gives the same bytes, however it is run. */
export interface RolloutRequest extends RolloutSettings, Starts {
  /** Not advanced: chunk i of the job draws from `rng.split('chunk', i)`. */
  readonly rng: Rng;
  /** Branches per chunk, the unit of work, retry and journal; changes the bytes. Default 512. */
  readonly chunkSize?: number;
  /** Episode id of the first branch, so that ids stay unique within a run. Default 0. */
  readonly firstEpisode?: number;
  /** Recorded with every row. */
  readonly scenario?: string;
  /** Recorded as the seed of the batch; default: the seed `rng` was made from by `Rng.fromSeed`. */
  readonly seed?: number;
}

/** A request whose start states are drawn as they are needed. */
export type Drawn<Request extends RolloutRequest> = Omit<Request, keyof Starts> & { readonly starts: StartSource };

/** A request with snapshots of model and policy, to be run in any thread. */
export interface FrozenRolloutRequest extends RolloutRequest {
  readonly model: WorldModelSnapshot;
  readonly policy: PolicySnapshot;
}

/** How the branches of a chunk or job ended; `episodes` = terminated + outOfHorizon + doubted. */
export interface RolloutCounts {
  readonly episodes: number;
  /** Transitions kept. */
  readonly rows: number;
  readonly terminated: number;
  readonly outOfHorizon: number;
  /** Ended because the ensemble disagreed, or the next observation lay outside the range. */
  readonly doubted: number;
}

/** Rows of one chunk, branch after branch in the order of starts, steps ascending. Columns mean what they mean in Provenance. */
export interface RolloutChunk extends TransitionBatch {
  readonly index: number;
  readonly episode: Float64Array;
  readonly step: Uint32Array;
  readonly parent: Float64Array;
  /** 1 / (1 + disagreement); absent where there was no limit of it. */
  readonly confidence?: Float32Array;
  /** Absent where the policy gives none. */
  readonly logProb?: Float32Array;
  readonly counts: RolloutCounts;
}

export interface RolloutResult {
  readonly batch: TransitionBatch;
  readonly provenance: Provenance;
  readonly counts: RolloutCounts;
}

export interface RolloutControls {
  /** Ends the job within about one model step; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called as chunks are delivered, in order; `rows`: transitions so far, those of a resumed journal included. */
  readonly onProgress?: (progress: {
    readonly chunksDone: number;
    readonly chunks: number;
    readonly rows: number;
  }) => void;
}

/** One chunk's work: everything but model, policy and random stream. */
export interface ChunkTask {
  readonly index: number;
  readonly obsDim: number;
  /** Start state of each branch [branches, obsDim]. */
  readonly starts: Float32Array;
  /** Row id of each branch's start in the real buffer. */
  readonly parent: Float64Array;
  /** Episode id of the chunk's first branch; the others follow. */
  readonly firstEpisode: number;
  readonly settings: RolloutSettings;
}

const DEFAULT_CHUNK_SIZE = 512;

export class RolloutPlan {
  readonly obsDim: number;
  readonly chunkSize: number;
  readonly chunks: number;
  readonly firstEpisode: number;
  readonly settings: RolloutSettings;
  readonly seed: number;
  /** Where the branches begin. */
  readonly starts: StartSource;
  private readonly rngOfJob: Rng;

  /** Throws SETTING_INVALID naming the value that does not fit. */
  constructor(request: RolloutRequest | Drawn<RolloutRequest>) {
    this.starts = 'startIds' in request ? sourceOfArrays(request) : request.starts;
    this.rngOfJob = request.rng;
    this.chunkSize = wholeNumber('chunkSize', request.chunkSize ?? DEFAULT_CHUNK_SIZE, 1);
    this.firstEpisode = wholeNumber('firstEpisode', request.firstEpisode ?? 0, 0);
    this.obsDim = this.starts.obsDim;
    this.settings = settingsOf(request);
    this.chunks = Math.ceil(this.starts.rows / this.chunkSize);
    this.seed = request.seed ?? seedOf(request.rng);
  }

  /** The random stream of chunk `index`. */
  rng(index: number): Rng {
    return this.rngOfJob.split('chunk', index);
  }

  /** The work of chunk `index`, in arrays of its own that may be transferred. */
  task(index: number): ChunkTask {
    const { obsDim, settings, chunkSize } = this;
    const from = index * chunkSize;
    const rows = Math.min(chunkSize, this.starts.rows - from);
    const { starts, startIds } = this.starts.take(Uint32Array.from({ length: rows }, (_, row) => from + row));
    const parent = Float64Array.from(startIds);
    return { index, obsDim, starts, parent, firstEpisode: this.firstEpisode + from, settings };
  }
}

function settingsOf({ horizon, propagation, disagreementLimit, range }: RolloutSettings): RolloutSettings {
  if (disagreementLimit !== undefined && !(disagreementLimit >= 0)) {
    invalid(`disagreementLimit is ${disagreementLimit}.`, 'Give a number >= 0, or leave it out for no limit.');
  }
  return { horizon: wholeNumber('horizon', horizon, 1), propagation, disagreementLimit, range };
}

function wholeNumber(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  return invalid(`${name} is ${value}.`, `Give a whole number >= ${least}.`);
}

/** The seed of a root stream; for a split stream, 53 bits of its key. */
function seedOf(rng: Rng): number {
  const [low, high] = rng.state().key;
  return (high & 0x1fffff) * 2 ** 32 + low;
}

function invalid(problem: string, hint: string): never {
  throw reverieError('SETTING_INVALID', { problem: `Rollout request: ${problem}`, hint });
}

/** `[fromStep, toStep, fromHorizon, toHorizon]`; steps in whatever unit the caller counts, MBPO: epochs of 1000 real steps. */
export type HorizonSchedule = readonly [fromStep: number, toStep: number, fromHorizon: number, toHorizon: number];

/**
 * Horizon at `step`: `fromHorizon` until `fromStep`, then linear to `toHorizon` at `toStep`, rounded down, then constant
 * (MBPO, 1906.08253, appendix C: `[20, 150, 1, 1]` for HalfCheetah, `[20, 300, 1, 25]` for Humanoid;
 * rounding as in its code, `_set_rollout_length`). Throws SETTING_INVALID.
 */
export function horizonSchedule(step: number, schedule: HorizonSchedule): number {
  const [fromStep, toStep, fromHorizon, toHorizon] = schedule;
  const isWhole = [fromHorizon, toHorizon].every((horizon) => Number.isInteger(horizon) && horizon >= 1);
  if (!schedule.every(Number.isFinite) || toStep < fromStep || !isWhole || Number.isNaN(step)) {
    invalid(
      `horizon schedule [${schedule.join(', ')}] at step ${step}.`,
      'Give [fromStep, toStep, fromHorizon, toHorizon] with fromStep <= toStep and whole horizons >= 1.',
    );
  }
  if (step <= fromStep) return fromHorizon;
  if (step >= toStep) return toHorizon;
  return Math.floor(fromHorizon + ((step - fromStep) / (toStep - fromStep)) * (toHorizon - fromHorizon));
}

/** What a world model of numbers answers. */
export type VectorImagined = Imagined<Carry, Float32Array>;

export function checkStarts(model: VectorDynamics, { obsDim }: ChunkTask): void {
  const want = rowSize(model.observationSpace);
  if (obsDim !== want) {
    invalid(
      `start states have ${obsDim} values, the world model's observations ${want}.`,
      'Start from observations of the environment that the model learned.',
    );
  }
}

export function checkActions(model: VectorDynamics, acted: PolicyAction, rows: number): void {
  const actionDim = rowSize(model.actionSpace);
  if (acted.action.length !== rows * actionDim) {
    invalid(
      `the policy gave ${acted.action.length} action values for ${rows} rows of ${actionDim}.`,
      'Use a policy made for the action space of this world model.',
    );
  }
  const hint = 'The policy has diverged: go back to an earlier checkpoint, or lower its learning rate.';
  requireFinite("The policy's action", acted.action, rows, 'a step', hint);
}

interface PredictionPlace {
  readonly rows: number;
  readonly obsDim: number;
  readonly step: number;
  /** Episode id of a row, for the error. */
  readonly episodeOf: (row: number) => number;
}

export function checkPrediction({ observation, reward }: VectorImagined, place: PredictionPlace): void {
  const { rows, obsDim, step, episodeOf } = place;
  if (observation.length !== rows * obsDim || reward.length !== rows) {
    invalid(
      `the world model answered ${observation.length} observation values and ${reward.length} rewards for ${rows} rows of ${obsDim}.`,
      'A world model answers one row for each row it is given.',
    );
  }
  const hint =
    'Shorten the horizon, set a disagreementLimit, or fit the model on more data: it was led far from what it knows.';
  const where = (row: number) => `episode ${episodeOf(row)}, step ${step}`;
  requireFinite('The predicted observation', observation, rows, where, hint);
  requireFinite('The predicted reward', reward, rows, where, hint);
}
