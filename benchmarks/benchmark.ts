// What a benchmark is: a module with `run`, entered in `registry.ts`.

import type { EvaluationSetParts } from '../src/core/evaluation-set.js';

export interface BenchmarkEntry {
  readonly title: string;
  /** Of `value`: `ratio`, `transitions/s`, ... */
  readonly unit: string;
  /** What it is compared with, version included; `none` for an absolute figure. */
  readonly baseline: string;
  readonly load: () => Promise<BenchmarkModule>;
}

export interface BenchmarkModule {
  run(context: BenchmarkContext): Promise<Measurement>;
}

export interface BenchmarkContext {
  /** Shrink to seconds: shows that it runs, measures nothing; the result is not kept. */
  readonly quick: boolean;
  /** Repository root. */
  readonly root: string;
  /** Progress for the reader; goes to stderr. */
  log(line: string): void;
}

export interface Measurement {
  readonly value: number;
  /** 95 % interval of `value`. */
  readonly low: number;
  readonly high: number;
  /** Rounds or seeds behind it. */
  readonly n: number;
  /** Every single measurement, with the units in the names; kept with the result. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** What decides what was measured, as far as it is not in the code: tasks, seeds, policies, settings. */
  readonly evaluationSet?: Partial<EvaluationSetParts>;
  /** Versions of what was compared. */
  readonly versions?: Readonly<Record<string, string>>;
}
