// Takes subjects through their instruments, chunk by chunk. A chunk that was measured is kept on disk before it counts, so a
// killed run goes on where it was, and no chunk is measured twice.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFolder, writeFileAtomic } from '../atomic-file.js';
import { concurrently } from '../concurrently.js';
import { reverieError } from '../errors.js';
import type { Json } from '../json.js';
import { openSealed, sealedText } from '../sealed-json.js';
import type { Finding, Instrument, Subject } from './instrument.js';
import { SECTIONS, type SectionId, type SubjectReport } from './report/fidelity-report.js';

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

/** @throws AbortError once `signal` is aborted, CHECKPOINT_CORRUPT, STORAGE_FULL, STORAGE_FAILED, and what a model throws */
export async function measureSubjects(
  subjects: readonly Subject[],
  options: MeasureOptions,
): Promise<readonly SubjectReport[]> {
  const reports: SubjectReport[] = [];
  for (const [index, subject] of subjects.entries()) reports.push(await measureSubject(subject, index, options));
  return reports;
}

async function measureSubject(subject: Subject, index: number, options: MeasureOptions): Promise<SubjectReport> {
  const addresses = subject.instruments.flatMap(({ id, chunks }) =>
    Array.from({ length: chunks }, (_, chunk): ChunkAddress => ({ subject: index, instrument: id, chunk })),
  );
  let done = 0;
  const chunks = await concurrently(addresses, options.concurrency, async (address) => {
    const rows = await chunkRows(subject, address, options);
    options.onChunk?.(address, ++done, addresses.length);
    return rows;
  });
  const findings = new Map<SectionId, Finding>();
  for (const instrument of subject.instruments) {
    const rows = chunks.filter((_, i) => addresses[i].instrument === instrument.id).flat();
    findings.set(instrument.id, instrument.conclude(rows));
  }
  for (const finding of subject.derive?.(findings) ?? []) findings.set(finding.section.id, finding);
  return reportOf(subject, findings);
}

async function chunkRows(subject: Subject, address: ChunkAddress, options: MeasureOptions): Promise<readonly Json[]> {
  const { identity, signal } = options;
  const folder = join(options.folder, String(address.subject), address.instrument);
  const path = join(folder, `${address.chunk}.json`);
  const key = `${identity}:${subject.version}`;
  const kept = await readChunk(path, key);
  if (kept !== undefined) return kept;
  signal?.throwIfAborted();
  const measure = options.measureChunk ?? (({ chunk }) => instrumentOf(subject, address).measure(chunk, signal));
  const rows = await measure(address, signal);
  await ensureFolder(folder);
  await writeFileAtomic(path, sealedText({ key, rows }));
  return rows;
}

/** What is kept of a chunk; undefined where nothing is, or something else was measured. */
async function readChunk(path: string, key: string): Promise<readonly Json[] | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const kept = openSealed(text) as { key: string; rows: readonly Json[] };
    return kept.key === key ? kept.rows : undefined;
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}

function instrumentOf(subject: Subject, { instrument }: ChunkAddress): Instrument {
  return subject.instruments.find(({ id }) => id === instrument)!;
}

function reportOf({ name, kind, version }: Subject, findings: ReadonlyMap<SectionId, Finding>): SubjectReport {
  const found = SECTIONS.flatMap((id) => findings.get(id) ?? []);
  const samples = found.flatMap(({ section, samples: own }) =>
    Object.entries(own).map(([metric, values]) => [`${section.id}.${metric}`, values] as const),
  );
  const sections = found.map(({ section }) => section);
  return { name, kind, version, sections, samples: Object.fromEntries(samples) };
}
