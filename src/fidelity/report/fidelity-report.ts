// What is found of world models: plain JSON, from which the page, the Markdown, the model card and the gate are made.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { FIDELITY_SECTIONS as SECTIONS, type FidelitySectionId as SectionId } from '../../core/kind.js';
import type { Estimate } from '../statistics/estimate.js';

export { SECTIONS, type SectionId };

export interface Metric {
  /** Stable name within its section, in kebab-case: `one-step.state-exact` is what gates and comparisons say. */
  readonly key: string;
  /** As people read it. */
  readonly label: string;
  readonly estimate: Estimate;
  readonly better: 'higher' | 'lower' | 'neither';
  /** `share` is shown in per cent. */
  readonly unit: 'share' | 'number' | 'steps' | 'return';
  /** What it means, in one sentence. */
  readonly meaning: string;
}

export interface Point {
  readonly x: number;
  readonly y: number;
  /** Interval of y. */
  readonly low?: number;
  readonly high?: number;
  /** What the point is, where it has a name. */
  readonly label?: string;
}

interface ChartBase {
  readonly title: string;
  /** What one sees, in one sentence. */
  readonly caption: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly yScale?: 'linear' | 'log';
}

/** `lines` over x with intervals as bands; `points` each with its interval; `diagonal`: y = x is drawn (agreement, calibration). */
export interface LinesChart extends ChartBase {
  readonly kind: 'lines' | 'points';
  readonly diagonal?: boolean;
  readonly series: readonly { readonly name: string; readonly points: readonly Point[] }[];
}

export interface BarsChart {
  readonly kind: 'bars';
  readonly title: string;
  readonly caption: string;
  readonly bars: readonly { readonly label: string; readonly estimate: Estimate; readonly unit: Metric['unit'] }[];
}

export type FidelityChart = LinesChart | BarsChart;

export interface FidelityTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** One of the transitions that were got most wrong, in full. */
export interface WorstTransition {
  readonly title: string;
  /** Larger is worse; comparable within a section. */
  readonly badness: number;
  /** What was done, and where. */
  readonly context: JsonObject;
  readonly action: Json;
  readonly real: Json;
  readonly dreamt: Json;
  /** What differs: a JSON Pointer (RFC 6901) or the name of an element, and both values; absent where one has none. */
  readonly differences: readonly { readonly path: string; readonly real?: Json; readonly dreamt?: Json }[];
  readonly backend?: string;
  readonly confidence?: number;
}

export interface Section {
  readonly id: SectionId;
  readonly title: string;
  /** The finding, in one or two sentences. */
  readonly summary: string;
  /** The first that is better higher or lower speaks for its section, unless `headlines.ts` names others. */
  readonly metrics: readonly Metric[];
  readonly charts: readonly FidelityChart[];
  readonly tables: readonly FidelityTable[];
  readonly worst: readonly WorstTransition[];
  /** What could not be measured and why, and what a reader may get wrong. */
  readonly notes: readonly string[];
  /** Why figures that are read first were not counted, in one sentence. */
  readonly missing?: string;
  /** Why figures are right whatever the model is, so that no gate on them proves anything. */
  readonly byConstruction?: string;
}

/** The values a metric's estimate is made from, one a unit (transition, question, episode), in an order that all models share. */
export type Samples = Readonly<Record<string, readonly (number | null)[]>>;

export interface SubjectReport {
  readonly name: string;
  /** What it is: `ensemble`, `onnx`, `exact`, `router`, `served`, ... */
  readonly kind: string;
  readonly version: string;
  readonly sections: readonly Section[];
  /** By `section.metric`; what pairs models with one another. */
  readonly samples: Samples;
}

/** What dreams are held against. */
export interface TruthReport {
  readonly kind: 'environment' | 'recorded';
  readonly description: string;
  readonly version: string;
  readonly transitions: number;
  readonly episodes: number;
}

/** The second model minus the first, unit by unit. */
export interface Comparison {
  readonly metric: string;
  readonly first: string;
  readonly second: string;
  readonly difference: Estimate;
  readonly better: Metric['better'];
  /** p of a paired randomisation test, corrected (Holm) for how many comparisons the report makes; null: nothing was paired. */
  readonly adjustedP: number | null;
  /** Whether the difference holds at 5 % for the report as a whole. */
  readonly isSignificant: boolean;
}

/** A limit on the first model, and whether it was kept. */
export interface GateResult {
  readonly metric: string;
  readonly limit: number;
  /** Metrics that are better lower have a limit above. */
  readonly bound: 'at-least' | 'at-most';
  /** What was held against the limit: the worse end of the interval, or the value itself. */
  readonly end: 'low' | 'high' | 'value';
  /** null where nothing was counted: the gate is shut then. */
  readonly value: number | null;
  /** What a model that answers nothing would have. */
  readonly floor?: number;
  readonly passed: boolean;
}

export interface FidelityReport {
  readonly format: 'reverie-fidelity/1';
  readonly scenario: string;
  /** The kind of its world. */
  readonly family: string;
  readonly truth: TruthReport;
  /** The first is the one that gates look at. */
  readonly subjects: readonly SubjectReport[];
  readonly comparisons: readonly Comparison[];
  readonly gates: readonly GateResult[];
  /** Versions, hashes, seeds, the command: whatever one needs to do it again. */
  readonly provenance: Readonly<Record<string, Json>>;
  /** What is missing where measuring ended before its end. */
  readonly incomplete?: string;
}
