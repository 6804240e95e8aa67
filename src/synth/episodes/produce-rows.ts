// Makes the rows of a job: many at once, each on its own, no row waiting for a batch to fill. What a row may know of others
// is what rows at least `lag` before it became, so neither timing nor concurrency shows in the result.

import { setMaxListeners } from 'node:events';
import { Packr } from 'msgpackr';
import { ReverieError, reverieError } from '../../core/errors.js';
import { type JobDescription, Journal } from '../journal.js';

/** A row that could not be made, and never will be: its reason is kept in its place. */
export interface FailedRow {
  readonly failed: { readonly code: string; readonly message: string };
}

export interface RowsRequest<T extends object> {
  readonly rows: number;
  /** Rows under way at once. Never changes results. */
  readonly concurrency: number;
  /** A row is begun only when all rows more than `lag` before it are there; infinite where rows know nothing of others. */
  readonly lag: number;
  readonly journal: RowJournal<T | FailedRow>;
  make(row: number, signal: AbortSignal): Promise<T>;
  /** Told of every row once, in order of rows, those of an earlier run included; a row counts as known once it resolves. */
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
export async function produceRows<T extends object>(request: RowsRequest<T>): Promise<RowsOutcome> {
  return new RowProduction(request).run();
}

class RowProduction<T extends object> {
  private readonly underway = new Map<number, Promise<void>>();
  private readonly ended = new Map<number, T | FailedRow>();
  private readonly stop = new AbortController();
  private next = 0;
  private telling = Promise.resolve();
  private observed = 0;
  private failure: unknown;
  private stoppedBy: string | undefined;

  constructor(private readonly request: RowsRequest<T>) {
    // Every row under way may listen for the end of the job.
    setMaxListeners(0, this.stop.signal);
  }

  async run(): Promise<RowsOutcome> {
    const { rows, journal, signal } = this.request;
    const abort = () => this.stop.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      while (!this.isStopped && this.next < rows) {
        if (!(await this.beginNext())) await this.someRow();
      }
    } finally {
      await Promise.all(this.underway.values());
      signal.removeEventListener('abort', abort);
    }
    if (this.failure !== undefined) throw this.failure;
    signal.throwIfAborted();
    if (this.stoppedBy !== undefined) await this.tellRest();
    return { done: journal.size, stoppedBy: this.stoppedBy };
  }

  private get isStopped(): boolean {
    return this.stop.signal.aborted || this.stoppedBy !== undefined;
  }

  /** Begins the next row, or takes it from the journal; false if it has to wait. */
  private async beginNext(): Promise<boolean> {
    const { concurrency, lag, journal } = this.request;
    const row = this.next;
    if (journal.has(row)) {
      this.next++;
      await this.end(row, await journal.read(row));
      return true;
    }
    if (this.underway.size >= concurrency || row - this.observed > lag) return false;
    this.next++;
    this.underway.set(row, this.live(row));
    return true;
  }

  private async someRow(): Promise<void> {
    await Promise.race(this.underway.values());
  }

  private async live(row: number): Promise<void> {
    // Begun on a later turn, so that a row that ends at once cannot end before it is under way.
    await Promise.resolve();
    try {
      const value = await this.made(row);
      await this.request.journal.put(row, value);
      await this.end(row, value);
    } catch (error) {
      this.fail(error);
    } finally {
      this.underway.delete(row);
      this.request.onProgress?.({ done: this.request.journal.size, underway: this.underway.size });
    }
  }

  private async made(row: number): Promise<T | FailedRow> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.request.make(row, this.stop.signal);
      } catch (error) {
        if (!(error instanceof ReverieError)) throw error;
        const failed = { code: error.code, message: error.message };
        const { costs } = error.entry;
        // A fault of what a model wrote, or of the row: it would end alike in every run.
        if (error.values.ofModel === true || costs === 'episode') return { failed };
        if ((error.values.retryable === true || costs === 'attempt') && attempt < TRIES) continue;
        if (costs === 'attempt') return { failed };
        throw error;
      }
    }
  }

  private fail(error: unknown): void {
    if (error instanceof ReverieError && error.code === 'BUDGET_SPENT') {
      this.stoppedBy ??= String(error.values.limit);
      return;
    }
    if (this.stop.signal.aborted) return;
    this.failure = error;
    this.stop.abort(error);
  }

  private async end(row: number, value: T | FailedRow): Promise<void> {
    this.ended.set(row, value);
    this.telling = this.telling.then(() => this.tell());
    await this.telling;
  }

  /** After an early end: rows that are there behind a gap. */
  private async tellRest(): Promise<void> {
    const { journal, observe } = this.request;
    for (const row of journal.rows) if (row >= this.observed) await observe(row, await journal.read(row));
  }

  /** Tells of rows as far as they are there without a gap. */
  private async tell(): Promise<void> {
    while (this.ended.has(this.observed)) {
      await this.request.observe(this.observed, this.ended.get(this.observed)!);
      this.ended.delete(this.observed++);
    }
  }
}

export function isFailed(value: unknown): value is FailedRow {
  return typeof value === 'object' && value !== null && 'failed' in value;
}

// Rows of a job, each durable once it is put here, in whatever order they end. A killed job finds them all again.

const packr = new Packr({ useRecords: false, moreTypes: true });

interface Entry<T> {
  readonly row: number;
  readonly value: T;
}

/** A row as journals keep it: who lives rows in another thread sends them so. */
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
        if (pieces.has(row)) {
          throw reverieError('FILE_INVALID', {
            problem: `The journal "${journal.path}" is damaged at byte ${piece}: ${`row ${row} is twice.`}`,
            hint: 'Its finished chunks before that byte are intact; restore the file from a copy, or delete it to dream the job anew.',
          });
        }
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
