// The form of a report of fidelity, checked whenever one is read: it may come from another version, or another hand.

import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { openSealed, sealedText, writeFileAtomic } from '../../core/files.js';
import { type FidelityReport, SECTIONS } from './fidelity-report.js';

const number = z.number();
const text = z.string();
const json = z.json() as unknown as z.ZodType<Json>;

const estimateSchema = z
  .strictObject({
    value: number.nullable().describe('null where nothing was counted.'),
    low: number.nullable().describe('Lower end of the interval.'),
    high: number.nullable().describe('Upper end of the interval.'),
    n: z.int().min(0).describe('Units it was made from.'),
    method: z.enum(['wilson', 'bootstrap', 'exact', 'none']).describe('How the interval was made.'),
  })
  .describe('A measured number and how sure it is.');

const better = z.enum(['higher', 'lower', 'neither']).describe('Which way is better.');
const unit = z.enum(['share', 'number', 'steps', 'return']).describe('What is counted; a share is shown in per cent.');

const metricSchema = z.strictObject({
  key: text.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/).describe('Stable name within its section, in kebab-case.'),
  label: text.describe('As people read it.'),
  estimate: estimateSchema,
  better,
  unit,
  meaning: text.describe('What it means, in one sentence.'),
});

const pointSchema = z.strictObject({
  x: number,
  y: number,
  low: number.optional().describe('Lower end of the interval of y.'),
  high: number.optional().describe('Upper end of the interval of y.'),
  label: text.optional().describe('What the point is.'),
});

const seriesSchema = z.strictObject({ name: text, points: z.array(pointSchema) });

const linesChartSchema = z.strictObject({
  kind: z.enum(['lines', 'points']),
  title: text,
  caption: text.describe('What one sees, in one sentence.'),
  xTitle: text,
  yTitle: text,
  yScale: z.enum(['linear', 'log']).optional(),
  diagonal: z.boolean().optional().describe('Whether y = x is drawn.'),
  series: z.array(seriesSchema),
});

const barsChartSchema = z.strictObject({
  kind: z.literal('bars'),
  title: text,
  caption: text.describe('What one sees, in one sentence.'),
  bars: z.array(z.strictObject({ label: text, estimate: estimateSchema, unit })),
});

const tableSchema = z.strictObject({ title: text, columns: z.array(text), rows: z.array(z.array(text)) });

const differenceSchema = z.strictObject({
  path: text.describe('JSON Pointer, or the name of an element.'),
  real: json.optional(),
  dreamt: json.optional(),
});

const worstSchema = z.strictObject({
  title: text,
  badness: number.describe('Larger is worse.'),
  context: z.record(text, json).describe('What was done, and where.'),
  action: json,
  real: json,
  dreamt: json,
  differences: z.array(differenceSchema),
  backend: text.optional(),
  confidence: number.optional(),
});

const sectionSchema = z.strictObject({
  id: z.enum(SECTIONS),
  title: text,
  summary: text.describe('The finding, in one or two sentences.'),
  metrics: z.array(metricSchema),
  charts: z.array(z.union([barsChartSchema, linesChartSchema])),
  tables: z.array(tableSchema),
  worst: z.array(worstSchema).describe('The transitions that were got most wrong, in full.'),
  notes: z.array(text).describe('What could not be measured and why, and what may be misread.'),
  missing: text.optional().describe('Why figures that are read first were not counted.'),
  byConstruction: text
    .optional()
    .describe('Why figures are right whatever the model is: no gate on them proves anything.'),
});

const subjectSchema = z.strictObject({
  name: text,
  kind: text,
  version: text,
  sections: z.array(sectionSchema),
  samples: z.record(text, z.array(number.nullable())).describe('By `section.metric`: one value a unit.'),
});

const truthSchema = z.strictObject({
  kind: z.enum(['environment', 'recorded']),
  description: text,
  version: text,
  transitions: z.int().min(0),
  episodes: z.int().min(0),
});

const comparisonSchema = z.strictObject({
  metric: text,
  first: text,
  second: text,
  difference: estimateSchema,
  better,
  adjustedP: number.nullable().describe('p, corrected for how many comparisons the report makes.'),
  isSignificant: z.boolean(),
});

const gateSchema = z.strictObject({
  metric: text,
  limit: number,
  bound: z.enum(['at-least', 'at-most']),
  end: z.enum(['low', 'high', 'value']).describe('What was held against the limit.'),
  value: number.nullable(),
  passed: z.boolean(),
});

export const fidelityReportSchema: z.ZodType<FidelityReport> = z.strictObject({
  format: z.literal('reverie-fidelity/1'),
  scenario: text,
  family: text.min(1).describe('The kind of its world.'),
  truth: truthSchema.describe('What dreams are held against.'),
  subjects: z.array(subjectSchema).min(1).describe('The first is the one that gates look at.'),
  comparisons: z.array(comparisonSchema),
  gates: z.array(gateSchema),
  provenance: z.record(text, json).describe('Whatever one needs to do it again.'),
  incomplete: text.optional().describe('What is missing where measuring ended before its end.'),
});

// Reads a report of fidelity, from its file or from the folder of the run that made it.

export const FIDELITY_FILE = 'fidelity.json';

/**
 * @param path the file, or a folder that holds `fidelity.json`
 * @throws FILE_INVALID where there is none, FILE_INVALID where it is damaged, was edited, or is of
 *   another format
 */
export async function readFidelityReport(path: string): Promise<FidelityReport> {
  const file = fidelityFile(path);
  return openFidelityReport(await readFile(file, 'utf8'), file);
}

/** The report in a sealed text. `path` is for messages. @throws FILE_INVALID */
export function openFidelityReport(text: string, path: string): FidelityReport {
  const invalid = (problem: string, cause?: unknown) =>
    reverieError(
      'FILE_INVALID',
      {
        problem: `The fidelity report "${path}" cannot be used: ${problem}.`,
        hint: 'Make it anew with reverie fidelity; its file is not to be edited.',
      },
      cause,
    );
  let content: unknown;
  try {
    content = openSealed(text);
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
  const { success, data, error } = fidelityReportSchema.safeParse(content);
  if (!success) throw invalid(describeIssues(error));
  return data;
}

function fidelityFile(path: string): string {
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  const file = isFolder ? join(path, FIDELITY_FILE) : path;
  if (!existsSync(file))
    throw reverieError('FILE_INVALID', {
      problem: `There is no fidelity report at "${path}".`,
      hint: 'Name a run of reverie fidelity, or its fidelity.json.',
    });
  return file;
}

// Writes a report of fidelity so that it vouches for itself: whoever gates on it reads what was measured.

/**
 * Writes the report to `path`, in a folder that exists.
 * @throws FILE_INVALID for what JSON cannot hold (NaN, infinity) or what is no report, STORAGE_FULL,
 *   STORAGE_FAILED
 */
export async function writeFidelityReport(path: string, report: FidelityReport): Promise<void> {
  const { success, error } = fidelityReportSchema.safeParse(report);
  if (!success)
    throw reverieError('FILE_INVALID', {
      problem: `The fidelity report "${path}" cannot be used: ${describeIssues(error)}.`,
      hint: 'Make it anew with reverie fidelity; its file is not to be edited.',
    });
  await writeFileAtomic(path, sealedText(report));
}
