// Windows over stored transitions: stretches of consecutive steps of one episode, as models and policies with a memory
// learn from. The history that led to a row is drawn with the start (src/synth/rollout/starts.ts).

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { RowStorage } from './row-storage.js';
import { allocate, type ColumnSet, pickColumns, type Schema, widthOf } from './schema.js';

/** Stretches of rows: window w is rows `start[w]` … `start[w] + length[w] - 1`, in order of time. */
export interface Windows {
  readonly start: Uint32Array;
  readonly length: Uint32Array;
}

export interface WindowOptions {
  /** Steps between the starts of an episode's windows, which are so aligned to its first row held; `length` unless given. */
  readonly stride?: number;
  /** Windows with fewer steps are left out; 1 unless given. */
  readonly shortest?: number;
}

interface EpisodeColumns {
  /** Per row, episode number. */
  readonly episode: ArrayLike<number>;
  /** Per row, step within the episode. */
  readonly step: ArrayLike<number>;
}

/**
 * Cuts rows [0, rows) into windows of at most `length` rows, one beginning every `stride` rows of an episode. A window ends
 * where its episode does, or where the row that would follow was overwritten; windows shorter than `shortest` are left out.
 */
export function windowsOf(
  columns: EpisodeColumns,
  rows: number,
  length: number,
  { stride = length, shortest = 1 }: WindowOptions = {},
): Windows {
  const start: number[] = [];
  const lengths: number[] = [];
  for (let from = 0; from < rows; ) {
    const end = endOfRun(columns, rows, from);
    for (let at = from; at < end; at += stride) {
      const count = Math.min(length, end - at);
      // A last short window shows nothing that the window before it has not shown.
      const isCovered = at > from && at - stride + length >= end;
      if (count < shortest || isCovered) continue;
      start.push(at);
      lengths.push(count);
    }
    from = end;
  }
  return { start: Uint32Array.from(start), length: Uint32Array.from(lengths) };
}

function endOfRun({ episode, step }: EpisodeColumns, rows: number, from: number): number {
  let end = from + 1;
  while (end < rows && episode[end] === episode[end - 1] && step[end] === step[end - 1] + 1) end++;
  return end;
}

/** Where the steps of several windows go: one window after another, or one time after another. */
export type WindowLayout = 'window-major' | 'time-major';

/**
 * Copies windows `order` of `storage` into `into`: [windows, steps, ...shape] or [steps, windows, ...shape], from row `at` on;
 * zeros after a window's end. Throws what `RowStorage.gather` throws.
 */
export function gatherWindows(
  storage: RowStorage,
  { start, length }: Windows,
  order: ArrayLike<number>,
  steps: number,
  into: ColumnSet,
  { layout = 'window-major', at = 0 }: { readonly layout?: WindowLayout; readonly at?: number } = {},
): void {
  const rows = new Uint32Array(order.length * steps);
  const placeOf = (b: number, t: number) => (layout === 'time-major' ? t * order.length + b : b * steps + t);
  for (let b = 0; b < order.length; b++) {
    const w = order[b];
    // Places past the end read the last row again, and are zeroed below.
    for (let t = 0; t < steps; t++) rows[placeOf(b, t)] = (start[w] + Math.min(t, length[w] - 1)) % storage.capacity;
  }
  storage.gather(rows, into, at);
  for (const name of Object.keys(into)) {
    const width = widthOf(storage.schema[name]);
    for (let b = 0; b < order.length; b++) {
      for (let t = length[order[b]]; t < steps; t++) {
        const place = (at + placeOf(b, t)) * width;
        zero(into[name], place, place + width);
      }
    }
  }
}

function zero(values: ColumnSet[string], from: number, end: number): void {
  if (values instanceof BigUint64Array) values.fill(0n, from, end);
  else values.fill(0, from, end);
}

export interface WindowBatch {
  readonly windows: number;
  readonly steps: number;
  /** [windows, steps, ...shape]; zeros where `mask` is 0. */
  readonly columns: ColumnSet;
  /** [windows, steps]: 1 where there is a row, 0 after the end of a window that an episode's border cut short. */
  readonly mask: Uint8Array;
  /** [windows, steps]: 1 where a step is learned from: a row that does not only warm the memory up. */
  readonly learned: Uint8Array;
  /** [windows]: 1 where the window begins with its episode, so that an empty memory is the truth. */
  readonly isFirst: Uint8Array;
}

export interface WindowSamplerOptions extends WindowOptions {
  /** Steps of a window. */
  readonly length: number;
  /** Steps at the head of a window that only warm a memory up, unless the window begins with its episode; 0 unless given. */
  readonly burnIn?: number;
}

/**
 * Draws windows from rows that have the columns `episode` and `step`, each window as likely as any other. Follows the storage:
 * after rows were appended the windows are cut anew, in one pass over those two columns.
 */
export class WindowSampler {
  private cut: Windows = { start: new Uint32Array(0), length: new Uint32Array(0) };
  private inserted = -1;

  /** Throws SETTING_INVALID, and DATA_MISMATCH for rows without `episode` and `step`. */
  constructor(
    private readonly storage: RowStorage,
    private readonly options: WindowSamplerOptions,
  ) {
    pickColumns(storage.schema, ['episode', 'step']);
    const { length, stride = length, shortest = 1, burnIn = 0 } = options;
    const wholes = { length, stride, shortest };
    for (const [option, value] of Object.entries(wholes)) {
      if (Number.isInteger(value) && value > 0) continue;
      throw reverieError('SETTING_INVALID', {
        problem: `Replay option ${option} = ${value} is not acceptable.`,
        hint: `It must be a positive number of steps.`,
      });
    }
    if (Number.isInteger(burnIn) && burnIn >= 0 && burnIn < length) return;
    throw reverieError('SETTING_INVALID', {
      problem: `Replay option burnIn = ${burnIn} is not acceptable.`,
      hint: `It must be ${`from 0 to ${length - 1}`}.`,
    });
  }

  /** Of which there are so many now. `start` are row indices; a window may go on at index 0 of the ring. */
  windows(): Windows {
    const { storage, options } = this;
    if (this.inserted === storage.inserted) return this.cut;
    const { episode, step } = storage.slice(0, storage.size, ['episode', 'step']);
    // Numbers, whatever their width.
    const columns = { episode: episode as Float64Array, step: step as Uint32Array };
    const { start, length } = windowsOf(columns, storage.size, options.length, options);
    const oldest = storage.inserted - storage.size;
    this.cut = { start: start.map((row) => (oldest + row) % storage.capacity), length };
    this.inserted = storage.inserted;
    return this.cut;
  }

  /** `count` windows drawn with replacement, of the columns `names`. Throws REPLAY_EMPTY where there is none. */
  sample(count: number, rng: Rng, names?: readonly string[]): WindowBatch {
    const { start } = this.windows();
    if (start.length === 0) {
      const hint = 'Append rows of one episode, at least as many as the shortest window has.';
      throw reverieError('REPLAY_EMPTY', { source: 'sampled', hint });
    }
    return this.take(
      Uint32Array.from({ length: count }, () => rng.int(start.length)),
      names,
    );
  }

  /** Windows by their number. */
  take(order: ArrayLike<number>, names?: readonly string[]): WindowBatch {
    const cut = this.windows();
    const { length: steps, burnIn = 0 } = this.options;
    const schema = names ? pickColumns(this.storage.schema, names) : this.storage.schema;
    const columns = allocate(schema, order.length * steps);
    gatherWindows(this.storage, cut, order, steps, columns);
    const lengths = Uint32Array.from(order, (w) => cut.length[w]);
    const isFirst = this.beginnings(Uint32Array.from(order, (w) => cut.start[w]));
    return { windows: order.length, steps, columns, isFirst, ...windowMasks(lengths, isFirst, steps, burnIn) };
  }

  private beginnings(rows: Uint32Array): Uint8Array {
    const step = allocate({ step: this.storage.schema.step } as Schema, rows.length);
    this.storage.gather(rows, step);
    return Uint8Array.from(step.step as Uint32Array, (value) => (value === 0 ? 1 : 0));
  }
}

/** What of windows of these lengths is there, and what is learned from; [windows, steps]. */
export function windowMasks(
  lengths: ArrayLike<number>,
  isFirst: ArrayLike<number>,
  steps: number,
  burnIn: number,
): { readonly mask: Uint8Array; readonly learned: Uint8Array } {
  const mask = new Uint8Array(lengths.length * steps);
  const learned = new Uint8Array(mask.length);
  for (let w = 0; w < lengths.length; w++) {
    mask.fill(1, w * steps, w * steps + lengths[w]);
    const from = isFirst[w] ? 0 : Math.min(burnIn, lengths[w]);
    learned.fill(1, w * steps + from, w * steps + lengths[w]);
  }
  return { mask, learned };
}
