// The errands that a small language model is trained on: solvable, not to be fooled, and held out by thing and place; and the
// figure made of what came out.

import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeErrands } from '../../benchmarks/errands.js';
import { pointsBetween } from '../../benchmarks/smollm2-arms.js';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { nativeDomain } from '../controlled/native-domain.js';
import { liveThrough } from '../packs/own-scenario.js';
import { temporaryFolder } from '../temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('errands in the inn', () => {
  const folder = temporaryFolder('errands');
  let domain: ToolsDomain;
  beforeAll(async () => {
    await writeErrands(ROOT, folder, 48, 24);
    domain = await nativeDomain('errands', folder);
  });

  it('are as many as were asked for, each once', () => {
    const of = (split: string) => domain.tasks.filter((task) => task.split === split);
    expect([of('train').length, of('test').length]).toEqual([48, 24]);
    expect(new Set(domain.tasks.map(({ id }) => id)).size).toBe(72);
  });

  it('can be done, and no way to fail that they list earns anything', async () => {
    for (const task of domain.tasks) {
      expect((await liveThrough(domain, task, task.reference!)).reward, task.id).toBe(1);
      for (const failure of task.failures!) {
        expect((await liveThrough(domain, task, failure)).reward, `${task.id}: ${failure.name}`).toBe(0);
      }
    }
  });

  it('never have a thing and a place together in both splits', () => {
    const families = (split: string) => domain.tasks.filter((task) => task.split === split).map(({ family }) => family);
    const trained = new Set(families('train'));
    expect(families('test').filter((family) => trained.has(family))).toEqual([]);
  });
});

describe('points of success', () => {
  const rewards = (...all: (number | null)[]) => ({ rewards: all });

  it('are the mean over seeds and tasks; an episode without a reward did not succeed', () => {
    const { value } = pointsBetween([
      [rewards(1, 1, 0, 1), rewards(0, null, 0, 1)],
      [rewards(1, null, 0, 0), rewards(0, 0, 0, 0)],
    ]);
    expect(value).toBe(37.5);
  });

  it('have an interval that grows with what differs between tasks and seeds, and is none where nothing does', () => {
    const same = pointsBetween([[rewards(1, 1), rewards(0, 0)]]);
    expect(same).toEqual({ value: 100, low: 100, high: 100 });
    const tasks = pointsBetween([[rewards(1, 0), rewards(0, 0)]]);
    expect([tasks.low, tasks.high]).toEqual([0, 100]);
    const seeds = pointsBetween([
      [rewards(1, 1), rewards(0, 0)],
      [rewards(0, 0), rewards(0, 0)],
    ]);
    expect([seeds.low, seeds.high]).toEqual([0, 100]);
  });
});
