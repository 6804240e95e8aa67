// Checks a rollout request once and cuts it into chunks of fixed size, so that the cut never depends on who does the work.

import type { Carry, Imagined } from '../../core/dynamics.js';
import { reverieError } from '../../core/errors.js';
import type { PolicyAction, PolicySnapshot } from '../../core/policy.js';
import type { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/space-values.js';
import type { Provenance, TransitionBatch } from '../../replay/transition.js';
import type { Propagation, VectorDynamics, WorldModelSnapshot } from '../../worldmodel/dynamics.js';
import { firstNonFinite, type StartSource, type Starts, sourceOfArrays } from './starts.js';

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
  /** Compute disagreement, and from it a confidence for each row, also without a limit. */
  readonly confidence?: boolean;
  /** The policy's mode instead of samples. */
  readonly deterministicPolicy?: boolean;
  /** The model's mean instead of samples. */
  readonly deterministicModel?: boolean;
}

/** Many branches from given states. The same request with the same streams gives the same bytes, however it is run. */
export interface RolloutRequest extends RolloutSettings, Starts {
  /** Branches from each start; more than one makes them a `group` numbered by the start's row. Default 1. */
  readonly branches?: number;
  /** Not advanced: chunk i of the job draws from `rng.split('chunk', i)`. */
  readonly rng: Rng;
  /** Branches per chunk, the unit of work, retry and journal; changes the bytes. Default 512. */
  readonly chunkSize?: number;
  /** Episode id of the first branch, so that ids stay unique within a run. Default 0. */
  readonly firstEpisode?: number;
  /** Recorded with every row. */
  readonly scenario?: string;
  readonly task?: string;
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
  /** Ended because the ensemble disagreed. */
  readonly doubted: number;
}

/** Rows of one chunk, branch after branch in the order of starts, steps ascending. Columns mean what they mean in Provenance. */
export interface RolloutChunk extends TransitionBatch {
  readonly index: number;
  readonly episode: Float64Array;
  readonly step: Uint32Array;
  readonly group: Float64Array;
  readonly parent: Float64Array;
  /** 1 / (1 + disagreement); absent where disagreement was not computed. */
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
  readonly group: Float64Array;
  /** Episode id of the chunk's first branch; the others follow. */
  readonly firstEpisode: number;
  readonly settings: RolloutSettings;
}

const DEFAULT_CHUNK_SIZE = 512;

export class RolloutPlan {
  readonly obsDim: number;
  readonly chunkSize: number;
  readonly branches: number;
  readonly episodes: number;
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
    const { rows, obsDim } = this.starts;
    this.rngOfJob = request.rng;
    this.branches = wholeNumber('branches', request.branches ?? 1, 1);
    this.chunkSize = wholeNumber('chunkSize', request.chunkSize ?? DEFAULT_CHUNK_SIZE, 1);
    this.firstEpisode = wholeNumber('firstEpisode', request.firstEpisode ?? 0, 0);
    this.obsDim = obsDim;
    this.settings = settingsOf(request);
    this.episodes = rows * this.branches;
    this.chunks = Math.ceil(this.episodes / this.chunkSize);
    this.seed = request.seed ?? seedOf(request.rng);
  }

  /** The random stream of chunk `index`. */
  rng(index: number): Rng {
    return this.rngOfJob.split('chunk', index);
  }

  /** The work of chunk `index`, in arrays of its own that may be transferred. */
  task(index: number): ChunkTask {
    const from = index * this.chunkSize;
    const rows = Math.min(this.chunkSize, this.episodes - from);
    const { obsDim, branches } = this;
    const start = Uint32Array.from({ length: rows }, (_, row) => Math.floor((from + row) / branches));
    const { starts, startIds } = this.starts.take(start);
    const parent = Float64Array.from(startIds);
    const group = new Float64Array(rows).fill(-1);
    if (branches > 1) for (let row = 0; row < rows; row++) group[row] = this.firstEpisode + start[row] * branches;
    const firstEpisode = this.firstEpisode + from;
    return { index, obsDim, starts, parent, group, firstEpisode, settings: this.settings };
  }
}

function settingsOf({ horizon, propagation, disagreementLimit, ...request }: RolloutSettings): RolloutSettings {
  if (disagreementLimit !== undefined && !(disagreementLimit >= 0)) {
    invalid(`disagreementLimit is ${disagreementLimit}.`, 'Give a number >= 0, or leave it out for no limit.');
  }
  return {
    horizon: wholeNumber('horizon', horizon, 1),
    propagation,
    disagreementLimit,
    confidence: request.confidence ?? false,
    deterministicPolicy: request.deterministicPolicy ?? false,
    deterministicModel: request.deterministicModel ?? false,
  };
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
  const at = firstNonFinite(acted.action);
  if (at < 0) return;
  throw reverieError('NON_FINITE_VALUE', {
    what: "The policy's action",
    value: acted.action[at],
    where: `row ${Math.floor(at / actionDim)}, element ${at % actionDim}`,
    hint: 'The policy has diverged: go back to an earlier checkpoint, or lower its learning rate.',
  });
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
  const refuseAt = (what: string, values: Float32Array, width: number) => {
    const at = firstNonFinite(values);
    if (at < 0) return;
    throw reverieError('NON_FINITE_VALUE', {
      what,
      value: values[at],
      where: `episode ${episodeOf(Math.floor(at / width))}, step ${step}`,
      hint: 'Shorten the horizon, set a disagreementLimit, or fit the model on more data: it was led far from what it knows.',
    });
  };
  refuseAt('The predicted observation', observation, obsDim);
  refuseAt('The predicted reward', reward, 1);
}
