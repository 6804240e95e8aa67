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

/** Throws DATA_MISMATCH or DATA_MISMATCH unless `provenance` may enter a buffer of `source`. */
export function checkProvenance(provenance: Provenance, source: Source, rows: number): void {
  const { backend, modelVersion } = provenance;
  if (provenance.source !== source) {
    const problem = `its rows are ${provenance.source}, the buffer keeps ${source} rows only.`;
    throw reverieError('DATA_MISMATCH', {
      problem: `Provenance of the batch is not acceptable: ${problem}`,
      hint: 'Real and synthetic rows live in separate buffers.',
    });
  }
  if (source === 'real' && modelVersion !== '') {
    const problem = `rows called real name a model ("${modelVersion}").`;
    throw reverieError('DATA_MISMATCH', {
      problem: `Provenance of the batch is not acceptable: ${problem}`,
      hint: 'What a model answered is synthetic; store it as such.',
    });
  }
  if (source === 'synthetic' && (modelVersion === '' || backend === '' || backend === 'real')) {
    const problem = `synthetic rows need a backend (got "${backend}") and a model version (got "${modelVersion}").`;
    throw reverieError('DATA_MISMATCH', {
      problem: `Provenance of the batch is not acceptable: ${problem}`,
      hint: 'Name what dreamt them, and its exact version.',
    });
  }
  if (!Number.isSafeInteger(provenance.seed)) {
    const problem = `its seed is ${provenance.seed}.`;
    throw reverieError('DATA_MISMATCH', {
      problem: `Provenance of the batch is not acceptable: ${problem}`,
      hint: 'A seed is a safe integer.',
    });
  }
  checkLengths(provenance, rows);
  checkConfidence(provenance.confidence);
}

/** What the rows have in common, for the origin table. */
export function originOf(provenance: Provenance): Origin {
  const { backend, modelVersion, scenario, policyVersion, seed } = provenance;
  return { backend, modelVersion, scenario, task: provenance.task ?? '', policyVersion, seed };
}

/** Columns that say nothing, as long as they were last asked for: most batches leave most of them out. */
const ABSENT: { [K in 'group' | 'parent' | 'logProb' | 'confidence' | 'stateHash']: (rows: number) => Columns[K] } = {
  group: (rows) => new Float64Array(rows).fill(-1),
  parent: (rows) => new Float64Array(rows).fill(-1),
  logProb: (rows) => new Float32Array(rows).fill(Number.NaN),
  confidence: (rows) => new Float32Array(rows).fill(1),
  stateHash: (rows) => new BigUint64Array(rows),
};

type ProvenanceColumns = Pick<Columns, 'origin' | 'episode' | 'step' | keyof typeof ABSENT>;

/** Makes columns of provenance, and keeps those that are the same for every batch. */
export class ProvenanceWriter {
  private readonly kept: Partial<ProvenanceColumns> = {};

  /** The stored columns of `rows` rows; some are views, stale after the next call. */
  columns(provenance: Provenance, rows: number, origin: number): ProvenanceColumns {
    const absent = <K extends keyof typeof ABSENT>(name: K): Columns[K] => {
      const kept = this.kept as Partial<Columns>;
      if ((kept[name]?.length ?? -1) < rows) kept[name] = ABSENT[name](rows);
      return kept[name]!.subarray(0, rows) as Columns[K];
    };
    return {
      origin: new Uint32Array(rows).fill(origin),
      episode: provenance.episode,
      step: provenance.step,
      group: provenance.group ?? absent('group'),
      parent: provenance.parent ?? absent('parent'),
      logProb: provenance.logProb ?? absent('logProb'),
      confidence: provenance.confidence ?? absent('confidence'),
      stateHash: provenance.stateHash ?? absent('stateHash'),
    };
  }
}

function checkLengths(provenance: Provenance, rows: number): void {
  for (const column of ['episode', 'step', 'group', 'parent', 'logProb', 'confidence', 'stateHash'] as const) {
    const got = provenance[column]?.length;
    if (got !== undefined && got !== rows)
      throw reverieError('DATA_MISMATCH', {
        problem: `Batch column "${column}" has ${got} values where ${rows} are needed.`,
        hint: `Columns are row-major [rows, dim]; check rows (${rows}) and the dimensions of the buffer.`,
      });
  }
}

function checkConfidence(confidence: Float32Array | undefined): void {
  const at = confidence?.findIndex((value) => !(value > 0 && value <= 1)) ?? -1;
  if (at < 0) return;
  const problem = `confidence of row ${at} is ${confidence?.[at]}.`;
  throw reverieError('DATA_MISMATCH', {
    problem: `Provenance of the batch is not acceptable: ${problem}`,
    hint: 'Confidence lies in (0, 1].',
  });
}
