// Rows of a job: each once, in any order, however often the job is stopped; none knows more of others than it may.

import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { reverieError } from '../../../src/core/errors.js';
import { Rng } from '../../../src/core/rng.js';
import { type FailedRow, isFailed, produceRows, RowJournal } from '../../../src/synth/episodes/produce-rows.js';
import { temporaryFolder } from '../../temporary-folder.js';

interface Row {
  readonly row: number;
  /** Sum of the outcomes it was allowed to know. */
  readonly known: number;
}

const JOB = { format: 'test rows' };
const ROWS = 60;
const LAG = 8;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder('rows');
});

interface Trial {
  readonly concurrency: number;
  /** Rows after which the job is told to stop. */
  readonly stopAfter?: number;
  readonly fail?: (row: number) => Error | undefined;
  readonly folder?: string;
}

async function produce({ concurrency, stopAfter, fail, folder: at = folder }: Trial) {
  const journal = await RowJournal.open<Row | FailedRow>(at, JOB);
  const stop = new AbortController();
  const delays = Rng.fromSeed(concurrency).split('delays');
  const seen: number[] = [];
  const known: number[] = [];
  const made: number[] = [];
  try {
    const outcome = await produceRows<Row>({
      rows: ROWS,
      concurrency,
      lag: LAG,
      journal,
      signal: stop.signal,
      make: async (row) => {
        const now = known.slice(0, Math.max(0, row - LAG)).reduce((a, b) => a + b, 0);
        expect(seen.length).toBeGreaterThanOrEqual(row - LAG);
        await new Promise((resolve) => setTimeout(resolve, delays.uniform() * 4));
        const error = fail?.(row);
        if (error !== undefined) throw error;
        made.push(row);
        if (made.length === stopAfter) stop.abort(new Error('stopped'));
        return { row, known: now };
      },
      observe: (row, value) => {
        seen.push(row);
        known.push(isFailed(value) ? 0 : value.row + value.known / 7);
      },
    });
    return { outcome, made, seen, rows: await all(journal) };
  } finally {
    await journal.close();
  }
}

async function all(journal: RowJournal<Row | FailedRow>): Promise<(Row | FailedRow)[]> {
  return Promise.all(journal.rows.map((row) => journal.read(row)));
}

describe('rows', () => {
  it('are the same one at a time and eight at a time, and are observed in order', async () => {
    const alone = await produce({ concurrency: 1 });
    const together = await produce({ concurrency: 8, folder: join(folder, 'eight') });
    expect(together.rows).toEqual(alone.rows);
    expect(together.seen).toEqual(Array.from({ length: ROWS }, (_, row) => row));
    expect(together.outcome).toEqual({ done: ROWS, stoppedBy: undefined });
  });

  it('are each made once, however often the job is stopped', async () => {
    const undisturbed = await produce({ concurrency: 5, folder: join(folder, 'whole') });
    const made: number[] = [];
    for (const stopAfter of [1, 7, 13]) {
      await expect(produce({ concurrency: 5, stopAfter })).rejects.toThrow('stopped');
    }
    const last = await produce({ concurrency: 5 });
    made.push(...last.made);
    expect(last.rows).toEqual(undisturbed.rows);
    expect(made.length).toBeLessThan(ROWS - 20);
  });

  it('that fail for good keep their place, with the reason', async () => {
    const refused = reverieError('LLM_REPLY_INVALID', {
      model: 'm',
      problem: 'no JSON',
      retryable: true,
      ofModel: true,
    });
    const { rows, outcome } = await produce({ concurrency: 4, fail: (row) => (row === 3 ? refused : undefined) });
    expect(outcome.done).toBe(ROWS);
    expect(rows[3]).toMatchObject({ failed: { code: 'LLM_REPLY_INVALID' } });
  });

  it('stop without an error when the budget is spent, and go on with another', async () => {
    const spent = reverieError('BUDGET_SPENT', { limit: 'tokens', spent: 10, allowed: 10 });
    const stopped = await produce({ concurrency: 4, fail: (row) => (row >= 20 ? spent : undefined) });
    expect(stopped.outcome).toEqual({ done: 20, stoppedBy: 'tokens' });
    const rest = await produce({ concurrency: 4 });
    expect(rest.made.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => 20 + i));
  });
});
