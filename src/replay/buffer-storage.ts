// The rows of a replay buffer from one place to another: from what was saved to memory or to a store on disk, and from an old
// store to a new one. What is larger than memory goes some rows at a time.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { transitionSchema } from './columns.js';
import { DiskRows, STORE_FILE } from './disk-rows.js';
import { MemoryRows } from './memory-rows.js';
import type { Origin } from './origins.js';
import { SavedTransitions } from './saved-transitions.js';
import type { ColumnSet } from './schema.js';
import { originSchema, readSnapshot, SNAPSHOT_FILE, type SnapshotHeader } from './snapshot-file.js';
import type { Source } from './transition.js';

/** Rows that are held in memory at once where all of them are on disk. */
export const PIECE_ROWS = 1 << 15;

type BufferHeader = Omit<SnapshotHeader, 'inserted'>;

/** Whether a folder holds what `ReplayBuffer.save` leaves, from memory or from disk. */
export function isSavedBuffer(folder: string): boolean {
  return [SNAPSHOT_FILE, STORE_FILE].some((file) => existsSync(join(folder, file)));
}

/** What a store on disk keeps beside the rows of a buffer. */
const noteSchema = z.strictObject({
  source: z.enum(['real', 'synthetic']),
  obsDim: z.int().min(1),
  actionDim: z.int().min(1),
  origins: z.array(originSchema),
});

export function noteOf({ source, obsDim, actionDim, origins }: Omit<BufferHeader, 'capacity'>): Json {
  return { source, obsDim, actionDim, origins: origins.map((origin) => ({ ...origin })) };
}

/** Throws CHECKPOINT_CORRUPT for a store of rows that are no transitions, and closes it. */
export function headerOfStore(storage: DiskRows): BufferHeader {
  const { capacity, folder, schema, note } = storage;
  const parsed = noteSchema.safeParse(note);
  const { obsDim = 0, actionDim = 0 } = parsed.data ?? {};
  if (parsed.success && JSON.stringify(schema) === JSON.stringify(transitionSchema(obsDim, actionDim)))
    return { ...parsed.data, capacity };
  storage.close();
  const problem = 'its rows are not the transitions of a replay buffer.';
  throw reverieError('CHECKPOINT_CORRUPT', { path: join(folder, STORE_FILE), problem });
}

interface LoadedRows {
  readonly header: BufferHeader;
  readonly storage: MemoryRows;
}

export async function memoryOfFile(folder: string): Promise<LoadedRows> {
  const { header, columns } = await readSnapshot(join(folder, SNAPSHOT_FILE));
  const { obsDim, actionDim, capacity, inserted } = header;
  const schema = transitionSchema(obsDim, actionDim);
  return { header, storage: MemoryRows.of(schema, capacity, inserted, { ...columns }) };
}

export async function memoryOfStore(folder: string): Promise<LoadedRows> {
  const store = DiskRows.open(folder);
  try {
    const header = headerOfStore(store);
    return { header, storage: MemoryRows.of(store.schema, store.capacity, store.inserted, store.content()) };
  } finally {
    store.close();
  }
}

/** The rows of a saved buffer in a new store, whose ring has room for `wanted` rows where given. */
export async function copiedStore(from: string, folder: string, wanted?: number): Promise<DiskRows> {
  const saved = await savedRows(from);
  try {
    const { source, obsDim, actionDim, firstRowId, origins } = saved;
    const capacity = wanted ?? saved.capacity;
    const schema = transitionSchema(obsDim, actionDim);
    const storage = DiskRows.create({ folder, schema, capacity, firstId: wanted === undefined ? firstRowId : 0 });
    storage.note = noteOf({ source, obsDim, actionDim, origins: [...origins] });
    for (let at = Math.max(0, saved.rows - capacity); at < saved.rows; at += PIECE_ROWS) {
      const rows = Math.min(PIECE_ROWS, saved.rows - at);
      storage.append(await saved.read(at, rows), rows);
    }
    storage.flush();
    return storage;
  } finally {
    await saved.close();
  }
}

/** The newest rows in a store beside the old one, which goes. */
export function movedStore(old: DiskRows, rows: number): DiskRows {
  const folder = old.folder.endsWith('~') ? old.folder.slice(0, -1) : `${old.folder}~`;
  const storage = DiskRows.create({ folder, schema: old.schema, capacity: old.capacity });
  storage.note = old.note;
  for (let at = old.size - rows; at < old.size; at += PIECE_ROWS) {
    const count = Math.min(PIECE_ROWS, old.size - at);
    storage.append(old.slice(at, count), count);
  }
  old.close();
  rmSync(old.folder, { recursive: true, force: true });
  return storage;
}

/** Saved rows as they lie on disk, oldest first. */
interface SavedRows {
  readonly source: Source;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly capacity: number;
  readonly rows: number;
  readonly firstRowId: number;
  readonly origins: readonly Origin[];
  read(from: number, rows: number): Promise<ColumnSet>;
  close(): Promise<void>;
}

async function savedRows(folder: string): Promise<SavedRows> {
  if (existsSync(join(folder, STORE_FILE))) {
    const store = DiskRows.open(folder);
    return {
      ...headerOfStore(store),
      ...{ rows: store.size, firstRowId: store.inserted - store.size },
      read: async (from, count) => store.slice(from, count),
      close: async () => store.close(),
    };
  }
  const saved = await SavedTransitions.open(folder);
  const { source, obsDim, actionDim, capacity, rows, firstRowId, origins } = saved;
  return {
    ...{ source, obsDim, actionDim, capacity, rows, firstRowId, origins },
    read: async (from, count) => ({ ...(await saved.read(from, count)) }),
    close: () => saved.close(),
  };
}
