// Chunks are kept and measured once; a budget that is spent leaves what was measured until then.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { reverieError } from '../../src/core/errors.js';
import { measureWithinBudget } from '../../src/fidelity/measure.js';
import type { SectionId } from '../../src/fidelity/report.js';
import type { Instrument, Subject } from '../../src/fidelity/section.js';
import { temporaryFolder } from '../temporary-folder.js';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder('measure');
});

/** Pays one of `budget` for every chunk it measures. */
function paid(budget: { left: number }, id: SectionId, chunks: number): Instrument<number> {
  return {
    id,
    chunks,
    measure: async (chunk) => {
      if (budget.left === 0) throw reverieError('BUDGET_SPENT', { limit: 'calls', spent: 1, allowed: 1 });
      budget.left--;
      return [chunk];
    },
    conclude: (rows) => ({
      section: { id, title: id, summary: rows.join(), metrics: [], charts: [], tables: [], worst: [], notes: [] },
      samples: { row: [...rows] },
    }),
  };
}

function subjectsWith(budget: { left: number }): Subject[] {
  return ['first', 'second', 'third'].map((name) => ({
    ...{ name, kind: 'test', version: name },
    instruments: [paid(budget, 'one-step', 2), paid(budget, 'k-steps', 2)] as unknown as Instrument[],
  }));
}

const options = () => ({ folder, identity: 'x', concurrency: 1 });

it('a chunk that is kept and cannot be read is no missing one: it is not paid for again', async () => {
  const budget = { left: 20 };
  await measureWithinBudget(subjectsWith(budget), options());
  const kept = join(folder, '0', 'one-step', '0.json');
  rmSync(kept);
  mkdirSync(kept);
  await expect(measureWithinBudget(subjectsWith(budget), options())).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(budget.left).toBe(8);
});

describe('a spent budget', () => {
  it('leaves whole models whole, tells what is missing of the one it ended in, and leaves out the rest', async () => {
    const { subjects, spent } = await measureWithinBudget(subjectsWith({ left: 7 }), options());
    expect(spent?.code).toBe('BUDGET_SPENT');
    expect(subjects.map(({ name }) => name)).toEqual(['first', 'second']);
    expect(subjects[0].samples).toEqual({ 'one-step.row': [0, 1], 'k-steps.row': [0, 1] });
    expect(subjects[1].samples).toEqual({});
    const [oneStep, kSteps] = subjects[1].sections;
    expect([oneStep.summary, oneStep.notes]).toEqual(['0,1', []]);
    expect([kSteps.summary, kSteps.notes]).toEqual(['0', [expect.stringMatching(/only 1 of 2 parts/)]]);
  });

  it('ends a run that resumes later, and nothing is paid twice', async () => {
    await measureWithinBudget(subjectsWith({ left: 7 }), options());
    const budget = { left: 5 };
    const { subjects: reports } = await measureWithinBudget(subjectsWith(budget), options());
    expect(reports.map(({ sections }) => sections.map(({ summary }) => summary))).toEqual([
      ['0,1', '0,1'],
      ['0,1', '0,1'],
      ['0,1', '0,1'],
    ]);
    expect(budget.left).toBe(0);
  });

  it('before anything was measured leaves nothing', async () => {
    expect(await measureWithinBudget(subjectsWith({ left: 0 }), options())).toMatchObject({
      subjects: [],
      spent: { code: 'BUDGET_SPENT' },
    });
  });
});
