// Cases of a study: kept one by one, found again, and told apart by their settings.

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { chosen, Study, type StudyCase } from '../../benchmarks/study-cases.js';

const CASE: StudyCase = {
  ...{ body: 'pendulum', arm: 'dream', seed: 50, hash: 'a' },
  ...{ realStepsToThreshold: 400, realSteps: 400, lastReturn: -99, wallSeconds: 9, shutRounds: 0 },
};

describe('a study', () => {
  it('goes on with the cases that it has, and with none of other settings', async () => {
    const root = mkdtempSync(join(tmpdir(), 'reverie-study-'));
    try {
      await new Study(root, 'id').keep(CASE);
      appendFileSync(join(root, 'benchmarks', 'studies', 'id.jsonl'), '{"body":"pend');
      const again = new Study(root, 'id');
      expect(again.find(CASE)).toEqual(CASE);
      expect(again.find({ ...CASE, hash: 'b' })).toBeUndefined();
      expect(again.find({ ...CASE, seed: 51 })).toBeUndefined();
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('what a sitting measures', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('is all, or what is asked for, and nothing that there is not', () => {
    expect(chosen(['a', 'b'], 'REVERIE_TEST_CHOICE')).toEqual(['a', 'b']);
    vi.stubEnv('REVERIE_TEST_CHOICE', 'b');
    expect(chosen(['a', 'b'], 'REVERIE_TEST_CHOICE')).toEqual(['b']);
    vi.stubEnv('REVERIE_TEST_CHOICE', 'b, c');
    expect(() => chosen(['a', 'b'], 'REVERIE_TEST_CHOICE')).toThrow('names c; there are: a, b');
  });
});
