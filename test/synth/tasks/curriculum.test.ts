// The curriculum: picks depend on outcomes in row order alone, follow the published scores and keep cap and floor.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import {
  Curriculum,
  type CurriculumOptions,
  type CurriculumTask,
  type Pick,
} from '../../../src/synth/tasks/curriculum.js';
import {
  alphaReward,
  clamp,
  lossBand,
  noiseSchedule,
  novelty,
  outcomeVariance,
  product,
  type TaskStats,
  weighted,
} from '../../../src/synth/tasks/curriculum-scores.js';
import type { RowOutcome } from '../../../src/synth/tasks/outcome-ledger.js';

const BLANK: TaskStats = {
  task: 't',
  synthetic: false,
  hard: false,
  attempts: 0,
  rewards: [],
  progress: 0,
  hardShare: 0,
};

const SKILL: Readonly<Record<string, number>> = { never: 0, seldom: 0.1, half: 0.5, often: 0.9, always: 1 };
const tasks: CurriculumTask[] = Object.keys(SKILL).map((id) => ({ id, synthetic: false }));
const options: CurriculumOptions = {
  score: outcomeVariance(),
  parts: { variance: outcomeVariance(), alpha: alphaReward(), novelty: novelty() },
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

  it('of a row can be asked again after later outcomes came in', () => {
    const curriculum = new Curriculum(tasks, options);
    const rng = Rng.fromSeed(5);
    const first: Pick[] = [];
    for (let row = 0; row < 100; row++) {
      first.push(curriculum.pick(row, rng));
      curriculum.observe(row, outcomeOf(row, first[row].task));
    }
    expect([40, 3, 99, 16].map((row) => curriculum.pick(row, rng))).toEqual([40, 3, 99, 16].map((row) => first[row]));
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

  it('say what each score thought and would have picked', () => {
    const picks = run(400, undefined);
    const exploited = picks.filter(({ explored }) => !explored);
    for (const pick of exploited) {
      expect(pick.counterfactual.variance).toBe(pick.task);
      expect(pick.scores.variance).toBe(pick.score);
      expect(pick.probability).toBeGreaterThan(0);
    }
    expect(exploited.some((pick) => pick.counterfactual.novelty !== pick.task)).toBe(true);
  });
});

describe('cap and floor', () => {
  const many: CurriculumTask[] = [
    ...Array.from({ length: 10 }, (_, i) => ({ id: `o${i}`, synthetic: false })),
    ...Array.from({ length: 90 }, (_, i) => ({ id: `s${i}`, synthetic: true })),
  ];
  const draw = (settings: Partial<CurriculumOptions>, rows = 4000) => {
    const curriculum = new Curriculum(many, { ...options, ...settings, lag: rows });
    return Array.from({ length: rows }, (_, row) => curriculum.pick(row, Rng.fromSeed(9)));
  };
  const syntheticShare = (picks: Pick[]) => picks.filter(({ synthetic }) => synthetic).length / picks.length;

  it('hold the share of synthetic tasks, however many there are and however well they score', () => {
    const loving = (stats: TaskStats) => (stats.synthetic ? 1000 : 1);
    for (const [cap, score] of [
      [0.3, outcomeVariance()],
      [0.1, loving],
      [0, loving],
    ] as const) {
      const share = syntheticShare(draw({ syntheticCap: cap, score }));
      expect(share).toBeLessThan(cap + 3 * Math.sqrt((cap * (1 - cap)) / 4000) + 1e-9);
      expect(share).toBeGreaterThanOrEqual(cap - 3 * Math.sqrt((cap * (1 - cap)) / 4000));
    }
    expect(syntheticShare(draw({ syntheticCap: 1 }))).toBeCloseTo(0.9, 1);
  });

  it('keep every task in sight', () => {
    const only = (stats: TaskStats) => (stats.task === 'o0' ? 1 : 0);
    const picks = draw({ score: only, exploration: 0.2, syntheticCap: 1 });
    expect(new Set(picks.map(({ task }) => task)).size).toBe(100);
    expect(picks.filter(({ explored }) => explored).length / picks.length).toBeCloseTo(0.2, 1);
    const { probability } = picks.find(({ task }) => task === 'o5')!;
    expect(probability).toBeCloseTo(0.002, 6);
  });

  it('give probabilities that sum to 1', () => {
    const curriculum = new Curriculum(many, { ...options, lag: 1e6 });
    const seen = new Map<string, number>();
    for (let row = 0; row < 5000; row++) {
      const pick = curriculum.pick(row, Rng.fromSeed(1));
      seen.set(pick.task, pick.probability);
    }
    expect(seen.size).toBe(100);
    expect([...seen.values()].reduce((a, b) => a + b)).toBeCloseTo(1, 9);
  });
});

describe('new tasks', () => {
  it('are picked from the row they are given for, whenever they were added', () => {
    const late: CurriculumTask = { id: 'late', synthetic: true, fromRow: 50 };
    const eager = new Curriculum([...tasks, late], { ...options, lag: 1000 });
    const patient = new Curriculum(tasks, { ...options, lag: 1000 });
    const rng = Rng.fromSeed(3);
    const before = Array.from({ length: 50 }, (_, row) => patient.pick(row, rng));
    patient.add([late]);
    expect(Array.from({ length: 50 }, (_, row) => eager.pick(row, rng))).toEqual(before);
    const after = Array.from({ length: 200 }, (_, i) => patient.pick(50 + i, rng));
    expect(after.map(({ task }) => task)).toContain('late');
    expect(Array.from({ length: 200 }, (_, i) => eager.pick(50 + i, rng))).toEqual(after);
  });

  it('are seeded by the tasks of highest score', () => {
    const curriculum = new Curriculum(tasks, { ...options, lag: 0 });
    for (let row = 0; row < 50; row++) curriculum.observe(row, outcomeOf(row, Object.keys(SKILL)[row % 5]));
    expect(curriculum.best(50, 1)[0].task).toBe('half');
  });
});

describe('scores', () => {
  it('follow the published formulas', () => {
    expect(outcomeVariance()({ ...BLANK, rewards: [1, 0, 1, 0] })).toBe(0.25);
    expect(outcomeVariance()({ ...BLANK, rewards: [1, 0, 0, 0] })).toBeCloseTo(0.1875, 12);
    expect(outcomeVariance({ prior: 0.1 })({ ...BLANK, rewards: [1] })).toBe(0.1);
    expect(alphaReward({ beta: 4 })({ ...BLANK, rewards: [1, 1] })).toBeCloseTo(Math.exp(-1), 12);
    expect(alphaReward()({ ...BLANK, rewards: [1, 0] })).toBe(1);
    expect([0.2, 0.25, 0.5, 0.75, 0.8].map((lossRank) => lossBand()({ ...BLANK, lossRank }))).toEqual([0, 1, 1, 1, 0]);
    expect(novelty()({ ...BLANK, attempts: 3 })).toBe(0.5);
  });

  it('draw hard tasks as often as the schedule says, however many there are', () => {
    const mixed: CurriculumTask[] = Array.from({ length: 20 }, (_, i) => ({
      id: `${i}`,
      synthetic: false,
      hard: i < 2,
    }));
    const score = noiseSchedule({ start: 0, end: 0.8, base: 4 });
    const curriculum = new Curriculum(mixed, { score, syntheticCap: 1, exploration: 0, lag: 1e6, rows: 8000 });
    const hard = (from: number) => {
      const picks = Array.from({ length: 1500 }, (_, i) => curriculum.pick(from + i, Rng.fromSeed(2)));
      return picks.filter(({ task }) => Number(task) < 2).length / 1500;
    };
    const expected = (row: number) => (0.8 * (4 ** (row / 8000) - 1)) / 3;
    for (const from of [0, 3000, 6500]) expect(hard(from)).toBeCloseTo(expected(from + 750), 1);
    expect(noiseSchedule({ end: 1, base: 1 })({ ...BLANK, hard: true, hardShare: 0.5, progress: 0.5 })).toBe(1);
  });

  it('keep tasks whose loss ranks in the middle', () => {
    const curriculum = new Curriculum(tasks, { ...options, score: lossBand(), lag: 0 });
    for (const [row, task] of Object.keys(SKILL).entries()) curriculum.observe(row, { task, reward: 0, loss: row });
    expect(curriculum.stats(5).map(({ lossRank }) => lossRank)).toEqual([0.1, 0.3, 0.5, 0.7, 0.9]);
    expect(curriculum.best(5, 3).map(({ task }) => task)).toEqual(['seldom', 'half', 'often']);
  });

  it('are composed', () => {
    const [one, two] = [() => 1, () => 2];
    expect(
      weighted([
        [one, 3],
        [two, 0.5],
      ])(BLANK),
    ).toBe(4);
    expect(product(two, two, () => 0)(BLANK)).toBe(0);
    expect([clamp(two, 0, 1)(BLANK), clamp(one, 1.5, 3)(BLANK)]).toEqual([1, 1.5]);
  });

  it('of one’s own that answer nonsense are refused by name', () => {
    const curriculum = new Curriculum(tasks, { ...options, score: () => 0 / 0 });
    expect(() => curriculum.pick(0, Rng.fromSeed(0))).toThrow('score "the score" of task "never" is NaN');
  });
});

describe('bad input', () => {
  it('is refused', () => {
    const curriculum = new Curriculum(tasks, options);
    expect(() => curriculum.add([{ id: 'half', synthetic: true }])).toThrow('task "half" is there twice');
    expect(() => new Curriculum([{ id: 'a', synthetic: true }], options)).toThrow('there is no original task');
    curriculum.observe(0, { task: 'half', reward: 1 });
    curriculum.observe(0, { task: 'half', reward: 1 });
    expect(() => curriculum.observe(0, { task: 'half', reward: 0 })).toThrow('row 0 was given two outcomes');
    expect(() => curriculum.observe(1, { task: 'half', reward: Number.NaN })).toThrow('row 1 has reward NaN');
    expect(() => curriculum.observe(-1, { task: 'half', reward: 0 })).toThrow('row -1 is no row number');
  });
});
