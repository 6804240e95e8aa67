// Checks a rollout request once and cuts it into chunks of fixed size, so that the cut never depends on who does the work.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { History } from '../../worldmodel/index.js';
import type { Drawn, RolloutRequest, RolloutSettings, StartSource } from './request.js';
import { startSource } from './start-source.js';

const DEFAULT_CHUNK_SIZE = 512;

/** One chunk's work: everything but model, policy and random stream. */
export interface ChunkTask {
  readonly index: number;
  readonly obsDim: number;
  /** Start state of each branch [branches, obsDim]. */
  readonly starts: Float32Array;
  /** Real steps before each branch's start. */
  readonly history?: History;
  /** Row id of each branch's start in the real buffer. */
  readonly parent: Float64Array;
  readonly group: Float64Array;
  /** Episode id of the chunk's first branch; the others follow. */
  readonly firstEpisode: number;
  readonly settings: RolloutSettings;
}

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

  /** Throws ROLLOUT_INVALID naming the value that does not fit. */
  constructor(request: RolloutRequest | Drawn<RolloutRequest>) {
    this.starts = startSource(request);
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
    const { starts, startIds, history } = this.starts.take(start);
    const parent = Float64Array.from(startIds);
    const group = new Float64Array(rows).fill(-1);
    if (branches > 1) for (let row = 0; row < rows; row++) group[row] = this.firstEpisode + start[row] * branches;
    return {
      ...{ index, obsDim, starts, history, parent, group },
      ...{ firstEpisode: this.firstEpisode + from, settings: this.settings },
    };
  }
}

function settingsOf(request: RolloutSettings): RolloutSettings {
  const { disagreementLimit, onDoubt } = request;
  if (disagreementLimit !== undefined && !(disagreementLimit >= 0)) {
    invalid(`disagreementLimit is ${disagreementLimit}.`, 'Give a number >= 0, or leave it out for no limit.');
  }
  if (onDoubt !== undefined && onDoubt !== 'drop' && onDoubt !== 'truncate') {
    invalid(`onDoubt is "${onDoubt}".`, 'It is "drop" or "truncate".');
  }
  return {
    horizon: wholeNumber('horizon', request.horizon, 1),
    propagation: request.propagation,
    disagreementLimit,
    onDoubt: onDoubt ?? 'drop',
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
  throw reverieError('ROLLOUT_INVALID', { problem, hint });
}

// Finds values that are not finite; runs over everything that is dreamt.

// How long branches may be as training goes on.

/** `[fromStep, toStep, fromHorizon, toHorizon]`; steps in whatever unit the caller counts, MBPO: epochs of 1000 real steps. */
export type HorizonSchedule = readonly [fromStep: number, toStep: number, fromHorizon: number, toHorizon: number];

/**
 * Horizon at `step`: `fromHorizon` until `fromStep`, then linear to `toHorizon` at `toStep`, rounded down, then constant
 * (MBPO, 1906.08253, appendix C: `[20, 150, 1, 1]` for HalfCheetah, `[20, 300, 1, 25]` for Humanoid;
 * rounding as in its code, `_set_rollout_length`). Throws ROLLOUT_INVALID.
 */
export function horizonSchedule(step: number, schedule: HorizonSchedule): number {
  const [fromStep, toStep, fromHorizon, toHorizon] = schedule;
  const fits =
    schedule.every(Number.isFinite) &&
    toStep >= fromStep &&
    Number.isInteger(fromHorizon) &&
    Number.isInteger(toHorizon);
  if (!fits || fromHorizon < 1 || toHorizon < 1 || Number.isNaN(step)) {
    throw reverieError('ROLLOUT_INVALID', {
      problem: `horizon schedule [${schedule.join(', ')}] at step ${step}.`,
      hint: 'Give [fromStep, toStep, fromHorizon, toHorizon] with fromStep <= toStep and whole horizons >= 1.',
    });
  }
  if (step <= fromStep) return fromHorizon;
  if (step >= toStep) return toHorizon;
  return Math.floor(fromHorizon + ((step - fromStep) / (toStep - fromStep)) * (toHorizon - fromHorizon));
}
