// What measures one aspect of fidelity of one model. Work is cut into chunks that depend on nothing but the plan and their
// number, so that any thread, in any order, before or after a crash, finds the same.

import type { Json } from '../core/canonical-json.js';
import type { Samples, Section, SectionId } from './report/fidelity-report.js';

export interface Instrument<Row extends Json = Json> {
  readonly id: SectionId;
  /** Fixed by the plan, never by the number of workers. */
  readonly chunks: number;
  /** What people are told it works through: `transitions`, `episodes`, ... */
  readonly unit: string;
  /** Rows of one chunk: a function of the plan, its seed and `chunk`. Rows are kept as JSON: no NaN, no infinity. */
  measure(chunk: number, signal?: AbortSignal): Promise<readonly Row[]>;
  /**
   * The finding, from the rows of all chunks in their order. Pure: asked twice, says the same. Of no rows it says which metrics
   * there are, as far as these do not depend on what is found.
   */
  conclude(rows: readonly Row[]): Finding;
}

export interface Finding {
  readonly section: Section;
  /** By the metric's key alone. */
  readonly samples: Samples;
  /** Of `k-steps`, where it was measured: in order of steps, in the units of the horizon's tolerance. */
  readonly drift?: readonly DriftPoint[];
}

/** Drift of open-loop dreams after `step` steps, mean over starts, with its interval. */
export interface DriftPoint {
  readonly step: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A model under judgement, with all that is to be measured of it. */
export interface Subject {
  readonly name: string;
  readonly kind: string;
  readonly version: string;
  readonly instruments: readonly Instrument[];
  /** Sections that need others' findings, such as the trust horizon; called once all are there. */
  readonly derive?: (findings: ReadonlyMap<SectionId, Finding>) => readonly Finding[];
  close(): Promise<void>;
}
