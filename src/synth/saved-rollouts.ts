// Rollouts that go to disk as they are dreamt: chunks into the journal, then from the journal into the file of a replay buffer,
// by the worker threads. No more than the chunks under way is in memory, however many rows there are.

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerPool } from '../core/pool.js';
import { inOrder, poolTask } from '../core/pool-task.js';
import { ReplayBuffer } from '../replay/buffer.js';
import {
  beginSnapshot,
  SavedTransitions,
  SNAPSHOT_FILE,
  type SnapshotDraft,
  sealSnapshot,
  writeSnapshotRows,
} from '../replay/snapshot.js';
import { type PiecePlace, readPiece } from './journal.js';
import { unpackRecord } from './rollout/chunk.js';
import type { RolloutCounts } from './rollout/plan.js';
import { provenanceOfChunk, type SharedProvenance } from './rollout/result.js';

/** What a journal holds of a finished job. */
export interface JournalledRollouts {
  readonly counts: RolloutCounts;
  readonly pieces: readonly JournalledPiece[];
  readonly provenance: SharedProvenance;
}

export interface JournalledPiece extends PiecePlace {
  readonly rows: number;
}

export interface SaveRolloutsOptions {
  readonly folder: string;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly pool: WorkerPool;
  readonly signal?: AbortSignal;
  /** Told as rows are in their place. */
  readonly onRows?: (rows: number) => void;
}

/** Pieces are put together to so many rows for a thread. */
const RANGE_ROWS = 32_768;

/**
 * Saves a job's rows as a replay buffer, the same file as `ReplayBuffer.save` makes of them. Throws FILE_INVALID, what
 * `ReplayBuffer.append` throws, STORAGE_FULL, STORAGE_FAILED.
 */
export async function saveRollouts(
  { counts, pieces, provenance }: JournalledRollouts,
  { folder, obsDim, actionDim, pool, signal, onRows }: SaveRolloutsOptions,
): Promise<SavedTransitions> {
  const draft = draftOf(join(folder, SNAPSHOT_FILE), counts.rows, provenance, { obsDim, actionDim });
  await beginSnapshot(draft);
  const work = async (range: LaidRange, stop: AbortSignal) => {
    await pool.run(layTask, () => ({ draft, provenance, ...range }), {
      signal: stop,
      label: `rows ${range.first} and on`,
    });
    return range.rows;
  };
  let done = 0;
  for await (const rows of inOrder(rangesOf(pieces), work, { ahead: pool.workers + 1, signal })) {
    done += rows;
    onRows?.(done);
  }
  await pool.run(sealTask, () => draft, { signal });
  return SavedTransitions.open(folder);
}

function draftOf(
  path: string,
  rows: number,
  { source, backend, modelVersion, scenario, task = '', policyVersion, seed }: SharedProvenance,
  dims: { readonly obsDim: number; readonly actionDim: number },
): SnapshotDraft {
  const origins = rows === 0 ? [] : [{ backend, modelVersion, scenario, task, policyVersion, seed }];
  return { path, header: { source, capacity: Math.max(1, rows), ...dims, inserted: rows, origins } };
}

interface LaidRange {
  readonly first: number;
  readonly rows: number;
  readonly pieces: readonly JournalledPiece[];
}

function* rangesOf(pieces: readonly JournalledPiece[]): Generator<LaidRange> {
  let first = 0;
  let open: JournalledPiece[] = [];
  const rowsOf = () => open.reduce((sum, piece) => sum + piece.rows, 0);
  for (const piece of pieces) {
    if (piece.rows > 0) open.push(piece);
    const rows = rowsOf();
    if (rows < RANGE_ROWS) continue;
    yield { first, rows, pieces: open };
    first += rows;
    open = [];
  }
  if (open.length > 0) yield { first, rows: rowsOf(), pieces: open };
}

interface LayInput extends LaidRange {
  readonly draft: SnapshotDraft;
  readonly provenance: SharedProvenance;
}

/** Puts pieces of a journal at their rows of the file. */
export const layTask = poolTask(
  import.meta.url,
  'layTask',
  async ({ draft, provenance, first, rows, pieces }: LayInput): Promise<void> => {
    const { obsDim, actionDim, source } = draft.header;
    // A buffer checks and lays out rows as it does everywhere.
    const buffer = new ReplayBuffer({ capacity: rows, obsDim, actionDim, source });
    const file = await open(pieces[0].path, 'r');
    try {
      for (const piece of pieces) {
        const chunk = unpackRecord(await readPiece(file, piece));
        buffer.append(chunk, provenanceOfChunk(chunk, provenance));
      }
    } finally {
      await file.close();
    }
    await writeSnapshotRows(draft, first, buffer.columns());
  },
);

/** Checksum and place, in a thread too: it is a pass over all there is. */
export const sealTask = poolTask(import.meta.url, 'sealTask', (draft: SnapshotDraft) => sealSnapshot(draft));
