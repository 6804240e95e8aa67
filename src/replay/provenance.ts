// Checks the provenance of a batch and writes its per-row part into the columns. Nothing is stored that does not say
// where it was lived and, if it was dreamt, by which version of which model.

import { reverieError } from '../core/errors.js';
import type { Columns } from './columns.js';
import type { Origin } from './origins.js';
import type { Provenance, Source } from './transition.js';

/** Everything recorded about one row. */
export interface RowProvenance extends Origin {
  /** Insertion number of the row, unique in its buffer. */
  readonly rowId: number;
  readonly source: Source;
  readonly episode: number;
  readonly step: number;
  /** -1 for none. */
  readonly group: number;
  /** Row id in the real buffer; -1 for none. */
  readonly parent: number;
  /** NaN where unknown. */
  readonly logProb: number;
  readonly confidence: number;
  /** 0n for none. */
  readonly stateHash: bigint;
}

/** Throws PROVENANCE_INVALID or BATCH_MISMATCH unless `provenance` may enter a buffer of `source`. */
export function checkProvenance(provenance: Provenance, source: Source, rows: number): void {
  const { backend, modelVersion } = provenance;
  if (provenance.source !== source) {
    const problem = `its rows are ${provenance.source}, the buffer keeps ${source} rows only.`;
    throw reverieError('PROVENANCE_INVALID', { problem, hint: 'Real and synthetic rows live in separate buffers.' });
  }
  if (source === 'real' && modelVersion !== '') {
    const problem = `rows called real name a model ("${modelVersion}").`;
    throw reverieError('PROVENANCE_INVALID', {
      problem,
      hint: 'What a model answered is synthetic; store it as such.',
    });
  }
  if (source === 'synthetic' && (modelVersion === '' || backend === '' || backend === 'real')) {
    const problem = `synthetic rows need a backend (got "${backend}") and a model version (got "${modelVersion}").`;
    throw reverieError('PROVENANCE_INVALID', { problem, hint: 'Name what dreamt them, and its exact version.' });
  }
  if (!Number.isSafeInteger(provenance.seed)) {
    const problem = `its seed is ${provenance.seed}.`;
    throw reverieError('PROVENANCE_INVALID', { problem, hint: 'A seed is a safe integer.' });
  }
  checkLengths(provenance, rows);
  checkConfidence(provenance.confidence);
}

/** What the rows have in common, for the origin table. */
export function originOf(provenance: Provenance): Origin {
  const { backend, modelVersion, scenario, policyVersion, seed } = provenance;
  return { backend, modelVersion, scenario, task: provenance.task ?? '', policyVersion, seed };
}

/** Writes batch rows [from, from + count) to column rows [to, to + count). */
export function writeProvenance(columns: Columns, to: number, p: Provenance, from: number, count: number): void {
  const end = from + count;
  columns.episode.set(p.episode.subarray(from, end), to);
  columns.step.set(p.step.subarray(from, end), to);
  writeOr(columns.group, p.group, -1, to, from, count);
  writeOr(columns.parent, p.parent, -1, to, from, count);
  writeOr(columns.logProb, p.logProb, Number.NaN, to, from, count);
  writeOr(columns.confidence, p.confidence, 1, to, from, count);
  if (p.stateHash) columns.stateHash.set(p.stateHash.subarray(from, end), to);
  else columns.stateHash.fill(0n, to, to + count);
}

function writeOr<T extends Float32Array | Float64Array>(
  column: T,
  values: T | undefined,
  absent: number,
  to: number,
  from: number,
  count: number,
): void {
  if (values) column.set(values.subarray(from, from + count), to);
  else column.fill(absent, to, to + count);
}

function checkLengths(provenance: Provenance, rows: number): void {
  for (const column of ['episode', 'step', 'group', 'parent', 'logProb', 'confidence', 'stateHash'] as const) {
    const got = provenance[column]?.length;
    if (got !== undefined && got !== rows) throw reverieError('BATCH_MISMATCH', { column, got, want: rows, rows });
  }
}

function checkConfidence(confidence: Float32Array | undefined): void {
  const at = confidence?.findIndex((value) => !(value > 0 && value <= 1)) ?? -1;
  if (at < 0) return;
  const problem = `confidence of row ${at} is ${confidence?.[at]}.`;
  throw reverieError('PROVENANCE_INVALID', { problem, hint: 'Confidence lies in (0, 1].' });
}
