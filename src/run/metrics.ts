// The metrics journal of a run: one JSON object a line, appended as things happen, readable while it grows.

import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { reverieError } from '../core/errors.js';
import { storageError } from '../core/files.js';

/** One event. Counters that mean nothing for a kind of event are absent. */
export interface MetricsEvent {
  /** What happened: `eval`, `episode`, `fit`, `dream`, `update`, ... */
  readonly kind: string;
  /** Seconds since the run began, pauses between resumes left out. */
  readonly wallSeconds: number;
  readonly realSteps?: number;
  readonly syntheticSteps?: number;
  readonly updates?: number;
  readonly round?: number;
  readonly [key: string]: unknown;
}

/** A place in the journal to come back to, kept in a checkpoint. */
export interface MetricsMark {
  readonly bytes: number;
  readonly wallSeconds: number;
}

/** Appends events to a file. A last line torn by a kill is dropped when the file is opened again. */
export class MetricsWriter {
  private readonly descriptor: number;
  private bytes: number;
  private startedAtMs: number;

  /**
   * @param now milliseconds, monotonic; for tests
   * @throws FILE_INVALID, STORAGE_DENIED, STORAGE_FULL, STORAGE_FAILED
   */
  constructor(
    readonly file: string,
    private readonly now: () => number = () => performance.now(),
  ) {
    const kept = attempt(file, () => (existsSync(file) ? wholeLines(readFileSync(file, 'utf8')) : ''));
    const last = parseEvents(kept, file).at(-1);
    this.descriptor = attempt(file, () => openSync(file, 'a'));
    this.bytes = Buffer.byteLength(kept);
    ftruncateSync(this.descriptor, this.bytes);
    this.startedAtMs = now() - (last?.wallSeconds ?? 0) * 1000;
  }

  /** Seconds since the run began. */
  get wallSeconds(): number {
    return (this.now() - this.startedAtMs) / 1000;
  }

  /** Appends one event, stamped with the wall time. Values that JSON cannot hold (NaN, infinities) become null. @throws STORAGE_FULL, STORAGE_FAILED */
  write(event: { readonly kind: string; readonly [key: string]: unknown }): void {
    const { kind, ...values } = event;
    const line = `${JSON.stringify({ kind, wallSeconds: Number(this.wallSeconds.toFixed(3)), ...values })}\n`;
    try {
      writeFileSync(this.descriptor, line);
    } catch (error) {
      ftruncateSync(this.descriptor, this.bytes);
      throw storageError(this.file, error);
    }
    this.bytes += Buffer.byteLength(line);
  }

  mark(): MetricsMark {
    return { bytes: this.bytes, wallSeconds: this.wallSeconds };
  }

  /** Drops what was written after `mark`, or all of it where a job begins anew, so that a resumed run tells nothing twice. */
  rewind(mark: MetricsMark = { bytes: 0, wallSeconds: 0 }): void {
    this.bytes = Math.min(this.bytes, mark.bytes);
    ftruncateSync(this.descriptor, this.bytes);
    this.startedAtMs = this.now() - mark.wallSeconds * 1000;
  }

  /** Drops the first event that is not to be kept, and all after it. */
  rewindTo(isKept: (event: MetricsEvent) => boolean): void {
    let mark: MetricsMark = { bytes: 0, wallSeconds: 0 };
    for (const line of readFileSync(this.file, 'utf8').split('\n').slice(0, -1)) {
      const event = JSON.parse(line) as MetricsEvent;
      if (!isKept(event)) break;
      mark = { bytes: mark.bytes + Buffer.byteLength(line) + 1, wallSeconds: event.wallSeconds };
    }
    this.rewind(mark);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/** All events of a journal, in order; a torn last line is left out. @throws FILE_INVALID for any other bad line */
export function readMetrics(file: string): MetricsEvent[] {
  return parseEvents(wholeLines(readFileSync(file, 'utf8')), file);
}

function parseEvents(text: string, file: string): MetricsEvent[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as MetricsEvent;
    } catch (error) {
      const problem = `Line ${index + 1} of "${file}" is not JSON.`;
      const hint = 'Restore the file, or delete it: metrics are a record only, no run depends on them.';
      throw reverieError('FILE_INVALID', { problem, hint }, error);
    }
  });
}

function wholeLines(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

function attempt<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storageError(file, error);
  }
}
