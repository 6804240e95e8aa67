// What is found of world models: plain JSON, from which pages, gates and comparisons are made. Its form is checked whenever one
// is written or read: it may come from another version, or another hand.

import { z } from 'zod';
import type { Json, JsonObject } from '../core/canonical-json.js';
import { describeIssues, reverieError } from '../core/errors.js';
import { openSealed, sealedText, writeFileAtomic } from '../core/files.js';
import { FIDELITY_SECTIONS } from '../core/kind.js';

export const SECTIONS = FIDELITY_SECTIONS;
export type SectionId = (typeof SECTIONS)[number];

const text = z.string();
const json = z.json() as unknown as z.ZodType<Json>;
const count = z.int().min(0);
const list = <T extends z.ZodType>(of: T) => z.array(of).readonly();

/** A measured number with its interval. */
const estimate = z.strictObject({
  /** null where nothing was counted. */
  value: z.number().nullable(),
  /** Ends of an interval of 95 %; both null where there is none, `high` alone where nothing ended what was counted. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** Units it was made from: transitions, questions, episodes, policies. */
  n: count,
  method: z.enum(['wilson', 'bootstrap', 'exact', 'none']),
});

const better = z.enum(['higher', 'lower', 'neither']);
const unit = z.enum(['share', 'number', 'steps', 'return']).describe('A share is shown in per cent.');

const metric = z.strictObject({
  /** Stable name within its section: gates and comparisons say `one-step.state-exact`. */
  key: text.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/),
  label: text,
  estimate,
  better,
  unit,
  /** In one sentence. */
  meaning: text,
});

const point = z.strictObject({
  x: z.number(),
  y: z.number(),
  low: z.number().optional(),
  high: z.number().optional(),
  label: text.optional(),
});

const linesChart = z.strictObject({
  kind: z.enum(['lines', 'points']).describe('Curves with bands, or points each with its interval.'),
  title: text,
  caption: text.describe('What one sees, in one sentence.'),
  xTitle: text,
  yTitle: text,
  series: list(z.strictObject({ name: text, points: list(point) })),
});

const table = z.strictObject({ title: text, columns: list(text), rows: list(list(text)) });

/** One of the transitions that were got most wrong, in full. */
const worst = z.strictObject({
  title: text,
  badness: z.number().describe('Larger is worse; comparable within a section.'),
  context: z.record(text, json) as unknown as z.ZodType<JsonObject>,
  action: json,
  real: json,
  simulated: json,
  differences: list(
    z.strictObject({
      path: text.describe('JSON Pointer (RFC 6901), or the name of an element.'),
      real: json.optional(),
      simulated: json.optional(),
    }),
  ),
  backend: text.optional(),
  confidence: z.number().optional(),
});

const section = z.strictObject({
  id: z.enum(SECTIONS),
  title: text,
  summary: text.describe('The finding, in one or two sentences.'),
  metrics: list(metric),
  charts: list(linesChart),
  tables: list(table),
  worst: list(worst),
  notes: list(text).describe('What could not be measured and why, and what a reader may get wrong.'),
  missing: text.optional().describe('Why figures that are read first were not counted.'),
  /** Why figures are right whatever the model is: no gate on them proves anything. */
  byConstruction: text.optional(),
});

const samples = z.record(text, list(z.number().nullable()));

const subject = z.strictObject({
  name: text,
  kind: text.describe('`ensemble`, `onnx`, `router`, `served`, ...'),
  version: text,
  sections: list(section),
  /** By `section.metric`, one value a unit, in an order that all models share: what pairs them. */
  samples,
});

const truth = z.strictObject({
  kind: z.enum(['environment', 'recorded']),
  description: text,
  version: text,
  transitions: count,
  episodes: count,
});

/** The second model minus the first, unit by unit. */
const comparison = z.object({
  metric: text,
  first: text,
  second: text,
  difference: estimate,
  better,
  floor: z.number().optional().describe('Differences no larger are noise: no gain may be claimed of them.'),
});

/** A limit on the first model, and whether it was kept. */
const gate = z.strictObject({
  metric: text,
  limit: z.number(),
  bound: z.enum(['at-least', 'at-most']),
  /** What was held against the limit: the worse end of the interval, or the value. */
  end: z.enum(['low', 'high', 'value']),
  value: z.number().nullable().describe('null where nothing was counted: the gate is shut then.'),
  floor: z.number().optional().describe('What a model that answers nothing would have.'),
  passed: z.boolean(),
});

const report = z.strictObject({
  format: z.literal('reverie-fidelity/1'),
  scenario: text,
  family: text.min(1).describe('The kind of its world.'),
  truth: truth.describe('What models are held against.'),
  /** Gates look at the first. */
  subjects: list(subject).refine(({ length }) => length > 0, 'has no model'),
  comparisons: list(comparison),
  gates: list(gate),
  provenance: z.record(text, json).describe('Versions, hashes, seeds, the command: all that is needed to do it again.'),
  incomplete: text.optional().describe('What is missing where measuring ended early.'),
});

export type Metric = z.output<typeof metric>;
export type Point = z.output<typeof point>;
export type LinesChart = z.output<typeof linesChart>;
export type FidelityTable = z.output<typeof table>;
export type WorstTransition = z.output<typeof worst>;
export type Section = z.output<typeof section>;
export type Samples = z.output<typeof samples>;
export type SubjectReport = z.output<typeof subject>;
export type TruthReport = z.output<typeof truth>;
export type Comparison = z.output<typeof comparison>;
export type GateResult = z.output<typeof gate>;
export type FidelityReport = z.output<typeof report>;

/** The report in a sealed text. `path` is for messages. @throws FILE_INVALID */
export function openFidelityReport(sealed: string, path: string): FidelityReport {
  let content: unknown;
  try {
    content = openSealed(sealed);
  } catch (error) {
    throw unusable(path, (error as Error).message);
  }
  return checked(content, path);
}

/**
 * Writes the report to `path`, in a folder that exists, sealed: a reader who gates on it reads what was measured.
 * @throws FILE_INVALID for what JSON cannot hold (NaN, infinity) or what is no report, STORAGE_FULL, STORAGE_FAILED
 */
export async function writeFidelityReport(path: string, found: FidelityReport): Promise<void> {
  checked(found, path);
  await writeFileAtomic(path, sealedText(found));
}

function checked(content: unknown, path: string): FidelityReport {
  const { success, data, error } = report.safeParse(content);
  if (!success) throw unusable(path, describeIssues(error));
  return data;
}

function unusable(path: string, problem: string): Error {
  return reverieError('FILE_INVALID', {
    problem: `The fidelity report "${path}" cannot be used: ${problem}.`,
    hint: 'Make it anew with reverie fidelity; its file is not to be edited.',
  });
}
