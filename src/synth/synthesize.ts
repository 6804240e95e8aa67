// A rollout job that survives being killed: each chunk is durable in a journal before anyone sees it, and a run that is
// started again resumes after the last one. However often it is killed, the bytes are those of an undisturbed run. What is in
// the journal goes into the file of a replay buffer: memory holds the chunks under way, and no more.

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReplayBuffer } from '../replay/buffer.js';
import {
  beginSnapshot,
  SavedTransitions,
  SNAPSHOT_FILE,
  type SnapshotDraft,
  sealSnapshot,
  writeSnapshotRows,
} from '../replay/snapshot.js';
import { type JobDescription, Journal, type PiecePlace, readPiece } from './journal.js';
import { type ChunkRecord, unpackRecord } from './rollout/chunk.js';
import {
  type Drawn,
  type FrozenRolloutRequest,
  type RolloutControls,
  type RolloutCounts,
  RolloutPlan,
  type RolloutResult,
  type Starts,
} from './rollout/plan.js';
import {
  mergeChunks,
  provenanceOfChunk,
  type RolloutPool,
  type SharedProvenance,
  sharedProvenance,
  sumCounts,
} from './rollout/pool.js';

interface InJournal {
  readonly pool: RolloutPool;
  /** Folder of the journal; one job each. */
  readonly journal: string;
}

export type SynthesisRequest = FrozenRolloutRequest & InJournal;
/** The same for a job that has more start states than memory. */
export type DrawnSynthesisRequest = Drawn<FrozenRolloutRequest> & InJournal;

export interface SynthesisControls extends RolloutControls {
  /** Told once, after opening the journal: what an earlier run left. */
  readonly onResume?: (found: { readonly chunks: number; readonly cutBytes: number }) => void;
}

/** Chunks and bytes that may be on their way to the disk at once: enough to share a sync. */
const UNSYNCED = 8;
const UNSYNCED_BYTES = 64 * 2 ** 20;
/** Start states hashed at once. */
const HASHED_STARTS = 65_536;

/**
 * Runs a job, or what is left of it, and answers all of it. Throws as `RolloutPool.branchedRollouts`, and
 * STATE_MISMATCH, FILE_INVALID, STORAGE_FULL, STORAGE_FAILED; what was finished before stays in the journal.
 */
export async function synthesize(request: SynthesisRequest, controls: SynthesisControls = {}): Promise<RolloutResult> {
  const chunks = [];
  for await (const { record } of journalledRecords(request, controls)) chunks.push(unpackRecord(record));
  return mergeChunks(chunks, request, new RolloutPlan(request));
}

/** What a journal holds of a finished job. */
interface JournalledRollouts {
  readonly counts: RolloutCounts;
  readonly pieces: readonly JournalledPiece[];
  readonly provenance: SharedProvenance;
}

interface JournalledPiece extends PiecePlace {
  readonly rows: number;
}

/** As `synthesize`, with all rows left in the journal, whence `saveRollouts` takes them; the calling thread only writes. */
export async function synthesizeToJournal(
  request: SynthesisRequest | DrawnSynthesisRequest,
  controls: SynthesisControls = {},
): Promise<JournalledRollouts> {
  const pieces: JournalledPiece[] = [];
  let counts = sumCounts([]);
  for await (const { counts: more, place } of journalledRecords(request, controls)) {
    pieces.push({ ...place, rows: more.rows });
    counts = sumCounts([counts, more]);
  }
  return { counts, pieces, provenance: sharedProvenance(request, new RolloutPlan(request)) };
}

/** Chunks of an earlier run, then the others, each once it is durable. */
async function* journalledRecords(
  request: SynthesisRequest | DrawnSynthesisRequest,
  { signal, onResume, onProgress }: SynthesisControls,
): AsyncGenerator<ChunkRecord & { readonly place: PiecePlace }> {
  const plan = new RolloutPlan(request);
  const journal = await Journal.open(request.journal, await describe(request, plan));
  try {
    onResume?.({ chunks: journal.pieces, cutBytes: journal.cutBytes });
    let rows = 0;
    for await (const record of oldAndNew(journal, request, signal)) {
      rows += record.counts.rows;
      onProgress?.({ chunksDone: record.index + 1, chunks: plan.chunks, rows });
      yield { ...record, place: journal.place(record.index) };
    }
  } finally {
    await journal.close();
  }
}

async function* oldAndNew(
  journal: Journal,
  request: SynthesisRequest | DrawnSynthesisRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<ChunkRecord> {
  const finished = journal.pieces;
  for (let index = 0; index < finished; index++) {
    signal?.throwIfAborted();
    const record = await journal.readRecord(index);
    yield { index, record, counts: unpackRecord(record).counts };
  }
  const unsynced: { record: ChunkRecord; durable: Promise<void> }[] = [];
  let bytes = 0;
  const oldest = async () => {
    const { record, durable } = unsynced.shift()!;
    await durable;
    bytes -= record.record.length;
    return record;
  };
  for await (const record of request.pool.records(request, { from: finished, signal })) {
    const durable = journal.appendRecord(record.record);
    // Seen when its turn comes; until then a failure must not count as unhandled.
    durable.catch(() => {});
    unsynced.push({ record, durable });
    bytes += record.record.length;
    while (unsynced.length >= UNSYNCED || bytes > UNSYNCED_BYTES) yield await oldest();
  }
  while (unsynced.length > 0) yield await oldest();
}

/** All that decides the bytes of a job, and nothing else: not the workers. */
async function describe(request: SynthesisRequest | DrawnSynthesisRequest, plan: RolloutPlan): Promise<JobDescription> {
  const { settings } = plan;
  const { device } = request.pool;
  const [low, high] = request.rng.state().key;
  const { backend, modelVersion, policyVersion } = sharedProvenance(request, plan);
  return {
    format: 'reverie rollouts 1',
    ...{ backend, modelVersion, policyVersion },
    ...(await startsHashed(request, plan)),
    chunkSize: plan.chunkSize,
    firstEpisode: plan.firstEpisode,
    rng: `${high}:${low}`,
    seed: plan.seed,
    scenario: request.scenario ?? '',
    horizon: settings.horizon,
    propagation: settings.propagation ?? null,
    disagreementLimit: settings.disagreementLimit ?? null,
    range: settings.range ? `${settings.range.low} to ${settings.range.high}` : null,
    // Another device rounds in another way.
    ...(device && { device: `${device.kind} ${device.precision}` }),
  };
}

/** Start states are taken a few at a time; the loop that shows progress goes on between. */
async function startsHashed(
  request: SynthesisRequest | DrawnSynthesisRequest,
  plan: RolloutPlan,
): Promise<Record<string, string>> {
  const hashes = { starts: createHash('sha256'), startIds: createHash('sha256') };
  const add = ({ starts, startIds }: Starts) => {
    hashes.starts.update(bytesOf(starts));
    hashes.startIds.update(bytesOf(Float64Array.from(startIds)));
  };
  if ('startIds' in request) add(request);
  else {
    for (let from = 0; from < plan.starts.rows; from += HASHED_STARTS) {
      const count = Math.min(HASHED_STARTS, plan.starts.rows - from);
      add(plan.starts.take(Uint32Array.from({ length: count }, (_, row) => from + row)));
      await nextTurn();
    }
  }
  return Object.fromEntries(Object.entries(hashes).map(([name, hash]) => [name, hash.digest('hex')]));
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

interface SaveRolloutsOptions {
  readonly folder: string;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly signal?: AbortSignal;
  /** Called as rows are in their place. */
  readonly onRows?: (rows: number) => void;
}

/**
 * Saves a job's rows as a replay buffer, the same file as `ReplayBuffer.save` makes of them. Throws FILE_INVALID, what
 * `ReplayBuffer.append` throws, STORAGE_FULL, STORAGE_FAILED.
 */
export async function saveRollouts(
  { counts: { rows }, pieces, provenance }: JournalledRollouts,
  { folder, obsDim, actionDim, signal, onRows }: SaveRolloutsOptions,
): Promise<SavedTransitions> {
  const { source, backend, modelVersion, scenario, policyVersion, seed } = provenance;
  const origins = rows === 0 ? [] : [{ backend, modelVersion, scenario, task: '', policyVersion, seed }];
  const header = { source, capacity: Math.max(1, rows), obsDim, actionDim, inserted: rows, origins };
  const draft: SnapshotDraft = { path: join(folder, SNAPSHOT_FILE), header };
  await beginSnapshot(draft);
  const filled = pieces.filter((piece) => piece.rows > 0);
  const file = filled.length === 0 ? undefined : await open(filled[0].path, 'r');
  try {
    let done = 0;
    for (const piece of filled) {
      signal?.throwIfAborted();
      // A buffer checks and lays out rows as it does everywhere.
      const buffer = new ReplayBuffer({ capacity: piece.rows, obsDim, actionDim, source });
      const chunk = unpackRecord(await readPiece(file!, piece));
      buffer.append(chunk, provenanceOfChunk(chunk, provenance));
      await writeSnapshotRows(draft, done, buffer.columns());
      done += piece.rows;
      onRows?.(done);
    }
  } finally {
    await file?.close();
  }
  signal?.throwIfAborted();
  await sealSnapshot(draft);
  return SavedTransitions.open(folder);
}
