// Checks a rollout request once and cuts it into chunks of fixed size, so that the cut never depends on who does the work.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { type History, pickHistory } from '../../worldmodel/index.js';
import type { RolloutRequest, RolloutSettings } from './request.js';

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
  private readonly request: RolloutRequest;

  /** Throws ROLLOUT_INVALID naming the value that does not fit. */
  constructor(request: RolloutRequest) {
    const { starts, startIds } = request;
    const rows = startIds.length;
    this.request = request;
    this.branches = wholeNumber('branches', request.branches ?? 1, 1);
    this.chunkSize = wholeNumber('chunkSize', request.chunkSize ?? DEFAULT_CHUNK_SIZE, 1);
    this.firstEpisode = wholeNumber('firstEpisode', request.firstEpisode ?? 0, 0);
    this.obsDim = rows === 0 ? 0 : starts.length / rows;
    if (!Number.isInteger(this.obsDim) || (rows > 0 && this.obsDim === 0) || (rows === 0 && starts.length > 0)) {
      invalid(
        `starts has ${starts.length} values for ${rows} startIds.`,
        'starts is [rows, obsDim] with one id per row.',
      );
    }
    checkFinite(starts, this.obsDim);
    checkHistory(request, this.obsDim);
    this.settings = settingsOf(request);
    this.episodes = rows * this.branches;
    this.chunks = Math.ceil(this.episodes / this.chunkSize);
    this.seed = request.seed ?? seedOf(request.rng);
  }

  /** The random stream of chunk `index`. */
  rng(index: number): Rng {
    return this.request.rng.split('chunk', index);
  }

  /** The work of chunk `index`, in arrays of its own that may be transferred. */
  task(index: number): ChunkTask {
    const from = index * this.chunkSize;
    const rows = Math.min(this.chunkSize, this.episodes - from);
    const { obsDim, branches } = this;
    const starts = this.startsOf(from, rows);
    const history = this.historyOf(from, rows);
    const parent = new Float64Array(rows);
    const group = new Float64Array(rows).fill(-1);
    for (let row = 0; row < rows; row++) {
      const start = Math.floor((from + row) / branches);
      parent[row] = this.request.startIds[start];
      if (branches > 1) group[row] = this.firstEpisode + start * branches;
    }
    return {
      ...{ index, obsDim, starts, history, parent, group },
      ...{ firstEpisode: this.firstEpisode + from, settings: this.settings },
    };
  }

  /** Start states of branches [from, from + rows), copied. */
  private startsOf(from: number, rows: number): Float32Array {
    const { obsDim, branches } = this;
    const { starts } = this.request;
    if (branches === 1) return starts.slice(from * obsDim, (from + rows) * obsDim);
    const copies = new Float32Array(rows * obsDim);
    for (let row = 0; row < rows; row++) {
      const start = Math.floor((from + row) / branches) * obsDim;
      copies.set(starts.subarray(start, start + obsDim), row * obsDim);
    }
    return copies;
  }

  private historyOf(from: number, rows: number): History | undefined {
    const { history } = this.request;
    if (history === undefined) return undefined;
    const starts = Uint32Array.from({ length: rows }, (_, row) => Math.floor((from + row) / this.branches));
    return pickHistory(history, starts);
  }
}

function settingsOf(request: RolloutRequest): RolloutSettings {
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

function checkFinite(starts: Float32Array, obsDim: number): void {
  const at = firstNonFinite(starts);
  if (at < 0) return;
  throw reverieError('NON_FINITE_VALUE', {
    what: 'A start state',
    value: starts[at],
    where: `start ${Math.floor(at / obsDim)}, element ${at % obsDim}`,
    hint: 'Start only from observations that a real environment gave.',
  });
}

function checkHistory({ history, startIds }: RolloutRequest, obsDim: number): void {
  if (history === undefined) return;
  const { steps, lengths, obs, action } = history;
  const rows = startIds.length;
  const isWhole = lengths.length === rows && obs.length === rows * steps * obsDim && lengths.every((n) => n <= steps);
  if (!isWhole || action.length % Math.max(1, rows * steps) !== 0) {
    invalid(
      `history has ${lengths.length} lengths, ${obs.length} observation and ${action.length} action values for ${rows} starts and ${steps} steps.`,
      'history is [starts, steps, dim], with a length of at most `steps` for each start.',
    );
  }
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

/** Index of the first NaN or infinity, or -1. */
export function firstNonFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) return i;
  return -1;
}

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
