// What measures one aspect of fidelity, and how its section of the report is put together: metrics from a table of text, the
// values they are made from, and numbers as sections say them.

import type { Json } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import type { EvaluationSet } from '../core/evaluation-set.js';
import type { OpenPhase } from '../core/progress.js';
import { Rng } from '../core/rng.js';
import type { Budget } from '../llm/budget.js';
import type { Metric, Point, Samples, Section, SectionId, TruthReport } from './report.js';
import { type Estimate, meanEstimate, NOTHING, shareEstimate } from './statistics.js';

/**
 * Measures one aspect of fidelity of one model. Work is cut into chunks that depend on nothing but the plan and their number, so
 * that any thread, in any order, before or after a crash, finds the same.
 */
export interface Instrument<Row extends Json = Json> {
  readonly id: SectionId;
  /** Fixed by the plan, never by the number of workers. */
  readonly chunks: number;
  /** Rows of one chunk: a function of the plan, its seed and `chunk`. Rows are kept as JSON: no NaN, no infinity. */
  measure(chunk: number, signal?: AbortSignal): Promise<readonly Row[]>;
  /** The finding, from the rows of all chunks in their order. Pure. Of no rows it says which metrics there are. */
  conclude(rows: readonly Row[]): Finding;
}

export interface Finding {
  readonly section: Section;
  /** By the metric's key alone. */
  readonly samples: Samples;
  /** Of `k-steps`: in order of steps, in the units of the horizon's tolerance. */
  readonly drift?: readonly DriftPoint[];
}

/** Drift of open-loop simulations after `step` steps, mean over starts, with its interval. */
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
}

/** Folders the user named. */
export interface FidelityInputs {
  readonly data?: string;
  readonly model?: string;
  readonly checkpoint?: string;
  readonly heldOut?: string;
  readonly compare?: readonly string[];
}

/** Plain data, so that worker threads open the same models. */
export interface FidelitySetup<S> {
  readonly scenario: S;
  readonly seed: number;
  readonly inputs: FidelityInputs;
  /** The run's folder: what openers record or prepare is kept there, once. */
  readonly out: string;
}

/** What only the main thread has. */
export interface FidelityServices {
  readonly signal: AbortSignal;
  readonly progress: { readonly phase: OpenPhase };
}

export interface OpenedSubjects {
  readonly truth: TruthReport;
  /** Identifies truth, plan and seed: kept chunks of another are not taken. */
  readonly identity: string;
  /** The evaluation set. */
  readonly evaluationSet: EvaluationSet;
  readonly subjects: readonly Subject[];
  /** Pays for language models. */
  readonly budget?: Budget;
  close(): Promise<void>;
}

/** A question about fidelity, as one kind of world asks it. */
export interface Question<Judged> {
  readonly id: SectionId;
  /** Says of itself what it cannot measure of this model. */
  readonly ask: (judged: Judged) => Instrument;
}

export function instrumentsOf<Judged>(
  questions: readonly Question<Judged>[],
  judged: Judged,
  sections: readonly SectionId[],
): Instrument[] {
  return questions.filter(({ id }) => sections.includes(id)).map(({ ask }) => ask(judged));
}

/** `instrument` without its work, for a model that it cannot measure: all of its metrics are there, and it says why. */
export function unmeasured<Row extends Json>(instrument: Instrument<Row>, why: string): Instrument {
  const { id, title, metrics } = instrument.conclude([]).section;
  const nothing = { charts: [], tables: [], worst: [], notes: [why] };
  const section = { id, title, summary: 'Not measured.', metrics, ...nothing, missing: why };
  return { id, chunks: 0, measure: async () => [], conclude: () => ({ section, samples: {} }) };
}

/** @param held  what both have */
export function notHeldOut(path: string, held: string): Error {
  return reverieError('INPUT_INVALID', {
    problem: `"${path}" is not held out: the model was made from what it holds (${held}).`,
    hint: 'Judge by records that the model never saw: other families of tasks, other episodes; or leave --held-out away and take the result as one on training data.',
  });
}

// Metrics, and the values they are made from.

/** What a metric is, without its value. */
export type MetricInfo = Omit<Metric, 'estimate' | 'key'>;
type MetricTable = Readonly<Record<string, MetricInfo>>;

/** Metrics described in a table of text, one a line: `key | better | unit | label | meaning`. */
export function metricTable(text: string): MetricTable {
  const lines = text.trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const [key, better, unit, label, meaning] = line.split('|').map((cell) => cell.trim());
      return [key, { label, better, unit, meaning } as MetricInfo];
    }),
  );
}

export type Value = number | null;

/** An estimate, with one value a unit where models can be compared unit by unit. */
export interface Sampled {
  readonly estimate: Estimate;
  readonly samples: readonly Value[];
}

/** Of units that are right (1, true) or not (0, false); null: does not count. */
export function shareOf(values: readonly (Value | boolean)[]): Sampled {
  const samples = values.map((value) => (value === null ? null : Number(value)));
  const there = samples.filter((value) => value !== null);
  const hits = there.reduce((sum, value) => sum + value, 0);
  return { estimate: shareEstimate(hits, there.length), samples };
}

/** Mean of values that are no mere yes or no. `key` names the stream of the bootstrap. */
export function meanOf(key: string, values: readonly Value[]): Sampled {
  return { estimate: meanEstimate(values, streamOf(key)), samples: values };
}

/** Bootstraps of one metric draw the same whatever else is measured. */
export function streamOf(key: string): Rng {
  return Rng.fromSeed(0).split('fidelity', key);
}

export interface Figures {
  readonly metrics: readonly Metric[];
  readonly samples: Samples;
}

/** All metrics of the table, in its order, with what was found of them. */
export function figuresOf(table: MetricTable, found: Readonly<Record<string, Sampled | Estimate>>): Figures {
  const sampled = Object.entries(found).flatMap(([key, one]) => ('estimate' in one ? [[key, one.samples]] : []));
  const estimateOf = (one: Sampled | Estimate = NOTHING) => ('estimate' in one ? one.estimate : one);
  return {
    metrics: Object.entries(table).map(([key, info]) => ({ key, ...info, estimate: estimateOf(found[key]) })),
    samples: Object.fromEntries(sampled),
  };
}

export function estimateIn({ metrics }: Pick<Figures, 'metrics'>, key: string): Estimate {
  return metrics.find((metric) => metric.key === key)?.estimate ?? NOTHING;
}

type Described = Pick<Section, 'id' | 'title' | 'summary'> & Partial<Omit<Section, 'metrics'>>;

export function findingOf(section: Described, { metrics, samples }: Figures): Finding {
  return { section: { charts: [], tables: [], worst: [], notes: [], ...section, metrics }, samples };
}

/** A point of a chart, where there is a value. */
export function pointOf(x: number, { value, low, high }: Estimate, label?: string): readonly Point[] {
  if (value === null) return [];
  const ends = low === null || high === null ? {} : { low, high };
  return [{ x, y: value, ...ends, ...(label === undefined ? {} : { label }) }];
}

/** As many digits as a float32 has: reads back as the same float32, and is short as JSON. */
export function short(value: number): number {
  return Number(value.toPrecision(9));
}

/** For people: three digits. */
export function shown(value: number | null): string {
  return value === null ? 'not measured' : String(Number(value.toPrecision(3)));
}

/** A share for people. */
export function shownShare(value: number | null): string {
  return value === null ? 'not measured' : `${Number((100 * value).toPrecision(3))} %`;
}

/** A share for people, with its interval. */
export function percent({ value, low, high }: Estimate): string {
  if (value === null) return 'unknown';
  const plain = `${(100 * value).toFixed(1)} %`;
  return low === null || high === null ? plain : `${plain} (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} %)`;
}
