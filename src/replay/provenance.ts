// Where rows come from: checked when they are stored, written into columns, and kept once for all rows that share it. Nothing is
// stored that does not say where it was collected and, if it was simulated, by which version of which model.

import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { type Columns, columnMismatch } from './columns.js';
import type { Provenance, Source } from './transition.js';

/** What all rows of one appended batch have in common. */
export const originSchema = z.strictObject({
  backend: z.string(),
  modelVersion: z.string(),
  scenario: z.string(),
  task: z.string(),
  policyVersion: z.string(),
  seed: z.int(),
});
export type Origin = Readonly<z.infer<typeof originSchema>>;

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
  /** NaN where unknown. */
  readonly confidence: number;
  /** 0n for none. */
  readonly stateHash: bigint;
}

/** Throws DATA_MISMATCH unless `provenance` may enter a buffer of `source`. */
export function checkProvenance(provenance: Provenance, source: Source, rows: number): void {
  const { backend, modelVersion, seed, confidence } = provenance;
  const refuse = (problem: string, hint: string) =>
    reverieError('DATA_MISMATCH', { problem: `Provenance of the batch is not acceptable: ${problem}`, hint });
  if (provenance.source !== source) {
    const problem = `its rows are ${provenance.source}, the buffer keeps ${source} rows only.`;
    throw refuse(problem, 'Real and synthetic rows live in separate buffers.');
  }
  if (source === 'real' && modelVersion !== '') {
    const problem = `rows called real name a model ("${modelVersion}").`;
    throw refuse(problem, 'What a model answered is synthetic; store it as such.');
  }
  if (source === 'synthetic' && (modelVersion === '' || backend === '' || backend === 'real')) {
    const problem = `synthetic rows need a backend (got "${backend}") and a model version (got "${modelVersion}").`;
    throw refuse(problem, 'Name what simulated them, and its exact version.');
  }
  if (!Number.isSafeInteger(seed)) throw refuse(`its seed is ${seed}.`, 'A seed is a safe integer.');
  for (const column of ['episode', 'step', 'group', 'parent', 'logProb', 'confidence', 'stateHash'] as const) {
    const got = provenance[column]?.length;
    if (got !== undefined && got !== rows) throw columnMismatch(column, got, rows, rows);
  }
  const at = confidence?.findIndex((value) => !(value > 0 && value <= 1)) ?? -1;
  if (at >= 0) throw refuse(`confidence of row ${at} is ${confidence?.[at]}.`, 'Confidence lies in (0, 1].');
}

/** What the rows have in common, for the origin table. */
export function originOf(provenance: Provenance): Origin {
  const { backend, modelVersion, scenario, policyVersion, seed } = provenance;
  return { backend, modelVersion, scenario, task: provenance.task ?? '', policyVersion, seed };
}

/** Columns that say nothing, as long as they were last asked for: most batches leave most of them out. */
const ABSENT: {
  [K in 'group' | 'parent' | 'logProb' | 'confidence' | 'stateHash']: (rows: number, source: Source) => Columns[K];
} = {
  group: (rows) => new Float64Array(rows).fill(-1),
  parent: (rows) => new Float64Array(rows).fill(-1),
  logProb: (rows) => new Float32Array(rows).fill(Number.NaN),
  confidence: (rows, source) => new Float32Array(rows).fill(source === 'real' ? 1 : Number.NaN),
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
      if ((kept[name]?.length ?? -1) < rows) kept[name] = ABSENT[name](rows, provenance.source);
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

/** The dictionary of origins: rows share few of them, so a row stores one number. */
export class OriginTable {
  private readonly ids = new Map<string, number>();

  constructor(private readonly entries: Origin[] = []) {
    entries.forEach((entry, id) => {
      this.ids.set(keyOf(entry), id);
    });
  }

  list(): readonly Origin[] {
    return this.entries;
  }

  at(id: number): Origin {
    return this.entries[id];
  }

  /** Number of an origin, new or known. */
  intern(origin: Origin): number {
    const key = keyOf(origin);
    const id = this.ids.get(key) ?? this.entries.push(origin) - 1;
    this.ids.set(key, id);
    return id;
  }
}

function keyOf(o: Origin): string {
  return JSON.stringify([o.backend, o.modelVersion, o.scenario, o.task, o.policyVersion, o.seed]);
}
