// Makes the rows of a job: many at once, each on its own, no row waiting for a batch to fill. What a row may know of others
// is what rows at least `lag` before it became, so neither timing nor concurrency shows in the result.

import { setMaxListeners } from 'node:events';
import { Packr } from 'msgpackr';
import { ReverieError } from '../../core/errors.js';
import type { OutcomeKind } from '../../env/tools/outcome.js';
import { corrupt, type JobDescription, Journal } from '../journal.js';

/** A row that could not be made, and never will be: its reason is kept in its place. */
export interface FailedRow {
  readonly failed: { readonly code: string; readonly message: string; readonly kind: OutcomeKind };
}

interface RowsRequest<T extends object> {
  readonly rows: number;
  /** Rows under way at once. Never changes results. */
  readonly concurrency: number;
  /** A row is begun only when all rows more than `lag` before it are there; infinite where rows know nothing of others. */
  readonly lag: number;
  readonly journal: RowJournal<T | FailedRow>;
  make(row: number, signal: AbortSignal): Promise<T>;
  /** Given every row once, in order of rows, those of an earlier run included; a row counts as known once it resolves. */
  observe(row: number, value: T | FailedRow): void | Promise<void>;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly done: number; readonly underway: number }) => void;
}

export interface RowsOutcome {
  readonly done: number;
  /** What was spent, where that ended the job before its last row. */
  readonly stoppedBy?: string;
}

/** Times a row is tried where the server or the machine, not the row, is at fault. */
const TRIES = 3;

/**
 * Makes all rows that the journal lacks. A spent budget ends it early without an error; what is there stays.
 * Throws what `make` throws beyond faults of a row, the signal's reason, STORAGE_FULL, STORAGE_FAILED.
 */
export async function produceRows<T extends object>({
  rows,
  concurrency,
  lag,
  journal,
  make,
  observe,
  signal,
  onProgress,
}: RowsRequest<T>): Promise<RowsOutcome> {
  const underway = new Map<number, Promise<void>>();
  const ended = new Map<number, T | FailedRow>();
  const stop = new AbortController();
  // Every row under way may listen for the end of the job.
  setMaxListeners(0, stop.signal);
  let observed = 0;
  let observing = Promise.resolve();
  let failure: unknown;
  let stoppedBy: string | undefined;

  /** Rows are observed as far as they are there without a gap. */
  const end = (row: number, value: T | FailedRow): Promise<void> => {
    ended.set(row, value);
    observing = observing.then(async () => {
      while (ended.has(observed)) {
        await observe(observed, ended.get(observed)!);
        ended.delete(observed++);
      }
    });
    return observing;
  };
  const run = async (row: number): Promise<void> => {
    // Begun on a later turn, so that a row that ends at once cannot end before it is under way.
    await Promise.resolve();
    try {
      const value = await madeOrFailed(() => make(row, stop.signal));
      await journal.put(row, value);
      await end(row, value);
    } catch (error) {
      if (error instanceof ReverieError && error.code === 'BUDGET_SPENT') stoppedBy ??= String(error.values.limit);
      else if (!stop.signal.aborted) {
        failure = error;
        stop.abort(error);
      }
    } finally {
      underway.delete(row);
      onProgress?.({ done: journal.size, underway: underway.size });
    }
  };

  const abort = () => stop.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    for (let row = 0; row < rows && !stop.signal.aborted && stoppedBy === undefined; ) {
      if (journal.has(row)) await end(row, await journal.read(row++));
      else if (underway.size >= concurrency || row - observed > lag) await Promise.race(underway.values());
      else underway.set(row, run(row++));
    }
  } finally {
    await Promise.all(underway.values());
    signal.removeEventListener('abort', abort);
  }
  if (failure !== undefined) throw failure;
  signal.throwIfAborted();
  // After an early end: rows that are there behind a gap.
  if (stoppedBy !== undefined)
    for (const row of journal.rows) if (row >= observed) await observe(row, await journal.read(row));
  return { done: journal.size, stoppedBy };
}

async function madeOrFailed<T>(make: () => Promise<T>): Promise<T | FailedRow> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      const isAttempts = error.entry.costs === 'attempt';
      const isPassing = !isOfRow(error) && (error.values.retryable === true || isAttempts);
      if (isPassing && attempt < TRIES) continue;
      if (!isAttempts && !isOfRow(error)) throw error;
      return { failed: { code: error.code, message: error.message, kind: kindOf(error) } };
    }
  }
}

/** A fault of what a model wrote, an agent's action that is none included, or of the row: it would end alike in every run. */
export function isOfRow({ code, values, entry }: ReverieError): boolean {
  return values.ofModel === true || entry.costs === 'episode' || code === 'ACTION_OUT_OF_SPACE';
}

/** Who caused a row to fail: badly written replies of models other than the agent's are handled where they are asked. */
function kindOf({ code, values }: ReverieError): OutcomeKind {
  if (code === 'USER_TURN_INVALID') return 'failed_by_user';
  if (code === 'TRAJECTORY_INVALID') return 'failed_by_simulator';
  const isAgents = values.ofModel === true || code === 'ACTION_OUT_OF_SPACE';
  return isAgents ? 'failed_by_agent' : 'failed_by_infrastructure';
}

export function isFailed(value: unknown): value is FailedRow {
  return typeof value === 'object' && value !== null && 'failed' in value;
}

const packr = new Packr({ useRecords: false, moreTypes: true });

interface Entry<T> {
  readonly row: number;
  readonly value: T;
}

/** A row as journals keep it: another thread that makes rows sends them so. */
export function packRow<T>(row: number, value: T): Uint8Array {
  // What the packer gives lies in memory that it goes on writing to.
  return Uint8Array.from(packr.pack({ row, value } satisfies Entry<T>));
}

const packed = new WeakMap<object, Uint8Array>();

/** The value of a row that was packed; a journal keeps it as these bytes, which must not change. */
export function unpackRow<T extends object>(bytes: Uint8Array): T {
  const { value } = packr.unpack(bytes) as Entry<T>;
  packed.set(value, bytes);
  return value;
}

/** Rows of a job, each durable once it is put here, in whatever order they end. A killed job finds them all again. */
export class RowJournal<T extends object> {
  private readonly reserved = new Set<number>();
  private appended: number;

  private constructor(
    private readonly journal: Journal,
    /** Piece of the journal that holds a row. */
    private readonly pieces: Map<number, number>,
  ) {
    this.appended = journal.pieces;
  }

  /** Opens or begins the journal of `job`. Throws as `Journal.open`; FILE_INVALID if a row is there twice. */
  static async open<T extends object>(folder: string, job: JobDescription): Promise<RowJournal<T>> {
    const journal = await Journal.open(folder, job);
    try {
      const pieces = new Map<number, number>();
      for (let piece = 0; piece < journal.pieces; piece++) {
        const { row } = packr.unpack(await journal.read(piece)) as Entry<T>;
        if (pieces.has(row)) throw corrupt(journal.path, piece, `row ${row} is twice.`);
        pieces.set(row, piece);
      }
      return new RowJournal<T>(journal, pieces);
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  /** Rows that are there. */
  get size(): number {
    return this.pieces.size;
  }

  has(row: number): boolean {
    return this.pieces.has(row);
  }

  /** The rows that are there, in order. */
  get rows(): number[] {
    return [...this.pieces.keys()].sort((a, b) => a - b);
  }

  async read(row: number): Promise<T> {
    const piece = this.pieces.get(row);
    if (piece === undefined) throw new RangeError(`row ${row} is not in the journal`);
    return (packr.unpack(await this.journal.read(piece)) as Entry<T>).value;
  }

  /** Durable once it resolves. Throws STORAGE_FULL, STORAGE_FAILED. */
  async put(row: number, value: T): Promise<void> {
    if (this.pieces.has(row) || this.reserved.has(row)) throw new RangeError(`row ${row} is in the journal already`);
    this.reserved.add(row);
    const piece = this.appended++;
    await this.journal.append(packed.get(value) ?? packRow(row, value));
    this.pieces.set(row, piece);
  }

  close(): Promise<void> {
    return this.journal.close();
  }
}
