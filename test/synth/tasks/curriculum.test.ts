// The curriculum: picks depend on outcomes in row order alone, follow the published scores and keep cap and floor.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import {
  Curriculum,
  type CurriculumOptions,
  type CurriculumTask,
  outcomeVariance,
  type Pick,
  type RowOutcome,
} from '../../../src/synth/tasks/curriculum.js';

const SKILL: Readonly<Record<string, number>> = { never: 0, seldom: 0.1, half: 0.5, often: 0.9, always: 1 };
const tasks: CurriculumTask[] = Object.keys(SKILL).map((id) => ({ id, synthetic: false }));
const options: CurriculumOptions = {
  syntheticCap: 0.3,
  exploration: 0.1,
  lag: 16,
};

function outcomeOf(row: number, task: string): RowOutcome {
  return { task, reward: Rng.fromSeed(77).split('outcome', row).uniform() < SKILL[task] ? 1 : 0 };
}

/** Runs `rows` rows; whenever a row is ready it is picked, and outcomes arrive shuffled within the lag. */
function run(rows: number, arrival: Rng | undefined, settings = options): Pick[] {
  const curriculum = new Curriculum(tasks, settings);
  const rng = Rng.fromSeed(5);
  const picks: Pick[] = [];
  const open: number[] = [];
  const finish = (at: number) => {
    const [row] = open.splice(at, 1);
    curriculum.observe(row, outcomeOf(row, picks[row].task));
  };
  for (let row = 0; row < rows; row++) {
    while (!curriculum.ready(row)) finish(arrival ? arrival.int(open.length) : 0);
    picks.push(curriculum.pick(row, rng));
    open.push(row);
  }
  return picks;
}

describe('picks', () => {
  it('are the same in whatever order outcomes arrive', () => {
    const inOrder = run(300, undefined);
    for (const seed of [1, 2, 3]) expect(run(300, Rng.fromSeed(seed))).toEqual(inOrder);
    expect(new Set(inOrder.map(({ task }) => task)).size).toBeGreaterThan(2);
  });

  it('wait for the outcomes they see, and for no others', () => {
    const curriculum = new Curriculum(tasks, options);
    expect([curriculum.ready(16), curriculum.ready(17)]).toEqual([true, false]);
    curriculum.observe(1, { task: 'half', reward: 1 });
    expect(curriculum.ready(17)).toBe(false);
    expect(() => curriculum.pick(17, Rng.fromSeed(0))).toThrow('Row 17 cannot pick a task yet');
    curriculum.observe(0, { task: 'half', reward: null });
    expect([curriculum.ready(18), curriculum.ready(19)]).toEqual([true, false]);
  });

  it('concentrate on tasks near 50 % with the variance of outcomes', () => {
    const late = run(1500, undefined).slice(500);
    const share = (task: string) => late.filter((pick) => pick.task === task).length / late.length;
    expect(share('half')).toBeGreaterThan(0.5);
    expect(share('half')).toBeGreaterThan(2 * Math.max(share('often'), share('seldom')));
    for (const settled of ['never', 'always']) {
      expect(share(settled)).toBeGreaterThan(0.005);
      expect(share(settled)).toBeLessThan(0.06);
    }
  });

  it('are shared by the rows of a group', () => {
    const picks = run(64, undefined, { ...options, group: 4 });
    for (let row = 0; row < 64; row += 4)
      expect(new Set(picks.slice(row, row + 4).map(({ task }) => task)).size).toBe(1);
  });
});

describe('cap and floor', () => {
  const many: CurriculumTask[] = [
    ...Array.from({ length: 10 }, (_, i) => ({ id: `o${i}`, synthetic: false })),
    ...Array.from({ length: 90 }, (_, i) => ({ id: `s${i}`, synthetic: true })),
  ];
  const draw = (settings: Partial<CurriculumOptions>, rows = 1500) => {
    const curriculum = new Curriculum(many, { ...options, ...settings, lag: rows });
    return Array.from({ length: rows }, (_, row) => curriculum.pick(row, Rng.fromSeed(9)));
  };
  const syntheticShare = (picks: Pick[]) => picks.filter(({ synthetic }) => synthetic).length / picks.length;

  it('hold the share of synthetic tasks, however many there are', () => {
    for (const cap of [0.3, 0.1, 0]) {
      const share = syntheticShare(draw({ syntheticCap: cap }));
      expect(share).toBeLessThan(cap + 3 * Math.sqrt((cap * (1 - cap)) / 1500) + 1e-9);
      expect(share).toBeGreaterThanOrEqual(cap - 3 * Math.sqrt((cap * (1 - cap)) / 1500));
    }
    expect(syntheticShare(draw({ syntheticCap: 1 }))).toBeCloseTo(0.9, 1);
  });
});

it('follows the published formula', () => {
  expect(outcomeVariance([1, 0, 1, 0])).toBe(0.25);
  expect(outcomeVariance([1, 0, 0, 0])).toBeCloseTo(0.1875, 12);
  expect(outcomeVariance([1])).toBe(0.25);
});
