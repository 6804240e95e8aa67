// Takes models through their instruments, chunk by chunk. A chunk that was measured is kept on disk before it counts, so a
// killed run resumes where it was, and no chunk is measured twice.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../core/canonical-json.js';
import { ReverieError, reverieError } from '../core/errors.js';
import { ensureFolder, openSealed, sealedText, storageError, writeFileAtomic } from '../core/files.js';
import { concurrently } from '../core/threads.js';
import { SECTIONS, type SectionId, type SubjectReport } from './report.js';
import type { Finding, Instrument, Subject } from './section.js';

export interface ChunkAddress {
  /** Place of the subject among those that are judged. */
  readonly subject: number;
  readonly instrument: SectionId;
  readonly chunk: number;
}

export interface MeasureOptions {
  /** Of the kept chunks. */
  readonly folder: string;
  /** Identifies all that rows depend on beside the subject: truth, plan, seed. */
  readonly identity: string;
  /** Chunks under way at once. */
  readonly concurrency: number;
  readonly signal?: AbortSignal;
  /** Measures a chunk elsewhere, such as in a worker thread; by default the instrument does it here. */
  readonly measureChunk?: (address: ChunkAddress, signal?: AbortSignal) => Promise<readonly Json[]>;
  readonly onChunk?: (address: ChunkAddress, done: number, total: number) => void;
}

/** What was measured before a budget was spent, or all of it. */
export interface Measured {
  readonly subjects: readonly SubjectReport[];
  /** The error of the spent budget, if one was: the last of `subjects` may then lack chunks, and further ones are missing. */
  readonly spent?: ReverieError;
}

/**
 * Measures until a budget is spent. Where chunks are missing a section says so, and the subject has no samples: what was
 * measured of it in part cannot be paired with others.
 * @throws AbortError once `signal` is aborted, CHECKPOINT_CORRUPT, STORAGE_FULL, STORAGE_FAILED, and what a model throws
 */
export async function measureWithinBudget(subjects: readonly Subject[], options: MeasureOptions): Promise<Measured> {
  const reports: SubjectReport[] = [];
  for (const [index, subject] of subjects.entries()) {
    const { report, spent } = await measureSubject(subject, index, options);
    if (report !== undefined) reports.push(report);
    if (spent !== undefined) return { subjects: reports, spent };
  }
  return { subjects: reports };
}

/** `report` is undefined where no chunk at all was measured. */
async function measureSubject(
  subject: Subject,
  index: number,
  options: MeasureOptions,
): Promise<{ readonly report?: SubjectReport; readonly spent?: ReverieError }> {
  const addresses = subject.instruments.flatMap(({ id, chunks }) =>
    Array.from({ length: chunks }, (_, chunk): ChunkAddress => ({ subject: index, instrument: id, chunk })),
  );
  let [done, spent]: [number, ReverieError | undefined] = [0, undefined];
  const chunks = await concurrently(addresses, options.concurrency, async (address) => {
    try {
      const rows = await chunkRows(subject, address, options, spent === undefined);
      if (rows === undefined) return undefined;
      done++;
      options.onChunk?.(address, done, addresses.length);
      return rows;
    } catch (error) {
      if (!(error instanceof ReverieError) || error.code !== 'BUDGET_SPENT') throw error;
      spent ??= error;
      return undefined;
    }
  });
  if (spent !== undefined && done === 0) return { spent };
  const findings = new Map<SectionId, Finding>();
  for (const instrument of subject.instruments) {
    const own = chunks.filter((_, i) => addresses[i].instrument === instrument.id);
    findings.set(instrument.id, concluded(instrument, own));
  }
  for (const finding of subject.derive?.(findings) ?? []) findings.set(finding.section.id, finding);
  const report = reportOf(subject, findings);
  return done === addresses.length ? { report } : { report: { ...report, samples: {} }, spent };
}

/** The finding of the chunks that are there; missing ones are reported. */
function concluded(instrument: Instrument, chunks: readonly (readonly Json[] | undefined)[]): Finding {
  const measured = chunks.filter((rows) => rows !== undefined);
  const finding = instrument.conclude(measured.flat());
  if (measured.length === chunks.length) return finding;
  const note = `A budget was spent: only ${measured.length} of ${chunks.length} parts of this section were measured.`;
  return { ...finding, section: { ...finding.section, notes: [note, ...finding.section.notes] } };
}

/** What is kept of a chunk, else what is measured now; undefined where nothing is kept and nothing more `mayBeMeasured`. */
async function chunkRows(
  subject: Subject,
  address: ChunkAddress,
  { folder, identity, signal, measureChunk }: MeasureOptions,
  mayBeMeasured: boolean,
): Promise<readonly Json[] | undefined> {
  const own = join(folder, String(address.subject), address.instrument);
  const path = join(own, `${address.chunk}.json`);
  const key = `${identity}:${subject.version}`;
  const kept = (await readKept(path)) as { key: string; rows: readonly Json[] } | undefined;
  if (kept?.key === key) return kept.rows;
  if (!mayBeMeasured) return undefined;
  signal?.throwIfAborted();
  const instrument = subject.instruments.find(({ id }) => id === address.instrument)!;
  const rows = await (measureChunk?.(address, signal) ?? instrument.measure(address.chunk, signal));
  await ensureFolder(own);
  await writeFileAtomic(path, sealedText({ key, rows }));
  return rows;
}

function reportOf({ name, kind, version }: Subject, findings: ReadonlyMap<SectionId, Finding>): SubjectReport {
  const found = SECTIONS.flatMap((id) => findings.get(id) ?? []);
  const samples = found.flatMap(({ section, samples: own }) =>
    Object.entries(own).map(([metric, values]) => [`${section.id}.${metric}`, values] as const),
  );
  const sections = found.map(({ section }) => section);
  return { name, kind, version, sections, samples: Object.fromEntries(samples) };
}

/** The content of a sealed file; undefined where there is none. @throws CHECKPOINT_CORRUPT for a damaged one, STORAGE_FAILED */
export async function readKept(path: string): Promise<object | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw storageError(path, error);
    return undefined;
  });
  if (text === undefined) return undefined;
  try {
    return openSealed(text);
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}
