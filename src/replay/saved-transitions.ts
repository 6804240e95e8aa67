// A saved buffer that stays on disk: its rows are read as they are needed, oldest first. For datasets larger than memory.

import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { allocateSome, COLUMN_NAMES, type ColumnName, type Columns, viewColumns } from './columns.js';
import type { Origin } from './origins.js';
import { asCorrupt, openSnapshot, SNAPSHOT_FILE, type SnapshotHeader } from './snapshot-file.js';
import { readSnapshotRows, rowsOf } from './snapshot-rows.js';
import type { Source } from './transition.js';

export class SavedTransitions {
  private constructor(
    /** The folder that it was saved to. */
    readonly folder: string,
    private readonly file: FileHandle,
    private readonly header: SnapshotHeader,
  ) {}

  /**
   * Opens what `ReplayBuffer.save` or a synthesis left in a folder. Header and size are checked, the rows' checksum is not: that
   * would be to read them all. Throws FILE_INVALID, CHECKPOINT_CORRUPT.
   */
  static async open(folder: string): Promise<SavedTransitions> {
    const { file, header } = await openSnapshot(join(folder, SNAPSHOT_FILE));
    return new SavedTransitions(folder, file, header);
  }

  get capacity(): number {
    return this.header.capacity;
  }

  get rows(): number {
    return rowsOf(this.header);
  }

  get obsDim(): number {
    return this.header.obsDim;
  }

  get actionDim(): number {
    return this.header.actionDim;
  }

  get source(): Source {
    return this.header.source;
  }

  /** The origins that column `origin` refers to by number. */
  get origins(): readonly Origin[] {
    return this.header.origins;
  }

  /** Row id of the oldest row; the others follow. */
  get firstRowId(): number {
    return this.header.inserted - this.rows;
  }

  /** Rows [from, from + rows) of the columns `names`, oldest first, in arrays of their own. Throws CHECKPOINT_CORRUPT. */
  async read<N extends ColumnName = ColumnName>(
    from: number,
    rows: number,
    names: readonly N[] = COLUMN_NAMES as readonly N[],
  ): Promise<Pick<Columns, N>> {
    const { obsDim, actionDim } = this;
    const columns = allocateSome(names, rows, obsDim, actionDim);
    // In a ring that went round, the oldest row lies behind the newest.
    const oldest = this.firstRowId % this.header.capacity;
    try {
      for (let done = 0; done < rows; ) {
        const at = (oldest + from + done) % this.header.capacity;
        const count = Math.min(this.header.capacity - at, rows - done);
        const part = viewColumns(columns, count, obsDim, actionDim, done);
        await readSnapshotRows(this.file, this.header, part, at);
        done += count;
      }
    } catch (error) {
      throw asCorrupt(join(this.folder, SNAPSHOT_FILE), error);
    }
    return columns;
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}
