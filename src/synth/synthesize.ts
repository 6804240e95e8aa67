// A rollout job that survives being killed: each chunk is durable in a journal before anyone sees it, and a run that is
// started again goes on after the last one. However often it is killed, the bytes are those of an undisturbed run.

import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { History } from '../worldmodel/starts.js';
import { type JobDescription, Journal, type PiecePlace } from './journal.js';
import { type ChunkRecord, unpackRecord } from './rollout/chunk.js';
import {
  type Drawn,
  type FrozenRolloutRequest,
  type RolloutChunk,
  type RolloutControls,
  RolloutPlan,
  type RolloutResult,
  type StartSource,
  type Starts,
} from './rollout/plan.js';
import type { RolloutPool } from './rollout/pool.js';
import { identityOf, mergeChunks, sharedProvenance, sumCounts } from './rollout/result.js';
import type { JournalledPiece, JournalledRollouts } from './saved-rollouts.js';

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
 * Lives a job, or what is left of it, and answers all of it. Throws as `RolloutPool.branchedRollouts`, and
 * STATE_MISMATCH, FILE_INVALID, STORAGE_FULL, STORAGE_FAILED; what was finished before stays in the journal.
 */
export async function synthesize(request: SynthesisRequest, controls: SynthesisControls = {}): Promise<RolloutResult> {
  const chunks: RolloutChunk[] = [];
  for await (const { record } of journalledRecords(request, controls)) chunks.push(unpackRecord(record));
  return mergeChunks(chunks, request, new RolloutPlan(request), identityOf(request));
}

/** As `synthesize`, chunk by chunk in order, for jobs larger than memory. A chunk is durable when it is answered. */
export async function* synthesizedChunks(
  request: SynthesisRequest | DrawnSynthesisRequest,
  controls: SynthesisControls = {},
): AsyncGenerator<RolloutResult> {
  const plan = new RolloutPlan(request);
  for await (const { record } of journalledRecords(request, controls)) {
    yield mergeChunks([unpackRecord(record)], request, plan, identityOf(request));
  }
}

/**
 * As `synthesize`, with all rows left in the journal, whence `saveRollouts` takes them: memory holds the chunks under way and no
 * more, and the calling thread only writes.
 */
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
  return { counts, pieces, provenance: sharedProvenance(request, new RolloutPlan(request), identityOf(request)) };
}

/** A chunk that is durable. */
interface JournalledRecord extends ChunkRecord {
  readonly place: PiecePlace;
}

async function* journalledRecords(
  request: SynthesisRequest | DrawnSynthesisRequest,
  controls: SynthesisControls,
): AsyncGenerator<JournalledRecord> {
  const plan = new RolloutPlan(request);
  const journal = await Journal.open(request.journal, await describe(request, plan));
  try {
    controls.onResume?.({ chunks: journal.pieces, cutBytes: journal.cutBytes });
    let rows = 0;
    for await (const record of oldAndNew(journal, request, controls.signal)) {
      rows += record.counts.rows;
      controls.onProgress?.({ chunksDone: record.index + 1, chunks: plan.chunks, rows });
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
  return {
    format: 'reverie rollouts 1',
    ...identityOf(request),
    ...('startIds' in request ? arraysHashed(request) : await sourceHashed(request.starts)),
    branches: plan.branches,
    chunkSize: plan.chunkSize,
    firstEpisode: plan.firstEpisode,
    rng: `${high}:${low}`,
    seed: plan.seed,
    scenario: request.scenario ?? '',
    task: request.task ?? null,
    horizon: settings.horizon,
    propagation: settings.propagation ?? null,
    disagreementLimit: settings.disagreementLimit ?? null,
    onDoubt: settings.onDoubt ?? null,
    confidence: settings.confidence ?? null,
    deterministicPolicy: settings.deterministicPolicy ?? null,
    deterministicModel: settings.deterministicModel ?? null,
    // Another device rounds in another way.
    ...(device && { device: `${device.kind} ${device.precision}` }),
  };
}

function arraysHashed({ starts, history, startIds }: Starts): Record<string, string> {
  return {
    starts: sha256(starts),
    ...(history && { history: historyParts(history).map(sha256).join(' ') }),
    startIds: sha256(Float64Array.from(startIds)),
  };
}

/** The same of states that are drawn, a few at a time; the loop that shows progress goes on between. */
async function sourceHashed(source: StartSource): Promise<Record<string, string>> {
  const [starts, startIds, history] = [createHash('sha256'), createHash('sha256'), createHash('sha256')];
  let remembers = false;
  for (let from = 0; from < source.rows; from += HASHED_STARTS) {
    const count = Math.min(HASHED_STARTS, source.rows - from);
    const taken = source.take(Uint32Array.from({ length: count }, (_, row) => from + row));
    starts.update(bytesOf(taken.starts));
    startIds.update(bytesOf(Float64Array.from(taken.startIds)));
    remembers = taken.history !== undefined;
    for (const part of historyParts(taken.history)) history.update(bytesOf(part));
    await nextTurn();
  }
  return {
    starts: starts.digest('hex'),
    ...(remembers && { history: history.digest('hex') }),
    startIds: startIds.digest('hex'),
  };
}

function historyParts(history: History | undefined): readonly (Float32Array | Uint32Array)[] {
  return history === undefined ? [] : [history.lengths, history.obs, history.action];
}

function sha256(values: Float32Array | Float64Array | Uint32Array): string {
  return createHash('sha256').update(bytesOf(values)).digest('hex');
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
