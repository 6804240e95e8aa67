// Which tasks a round is lived on: all in turn, or more of the families that are half mastered, each time others of them.

import { expect, it } from 'vitest';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import { textGroups } from '../../src/training/text-loop.js';
import { countGrown, familiesWithin, type Grown, tasksOfRound } from '../../src/training/text-tasks.js';
import { atticTraining } from '../rl/text/attic-training.js';

const families = ['easy', 'half', 'hard'];
const tasks = families.flatMap((family) =>
  Array.from({ length: 8 }, (_, i) => ({ id: `${family}.${i}`, family }) as ToolsTask),
);
const grow = { band: [0.25, 0.75], replay: 0.25, window: 8 } as const;
const ids = (list: readonly ToolsTask[]) => list.map(({ id }) => id);
const draw = (round: number, grown: Grown = {}, given: object = { grow }) =>
  tasksOfRound({ tasks, round, tasksPerRound: 8, seed: 1, grown, ...given });

/** As many episodes of each family, won as often as it says. */
function known(): Grown {
  const grown: Grown = {};
  const won = { easy: [1, 1, 1, 1, 1, 1, 1, 1], half: [1, 0, 1, 0, 0, 1, 0, 1], hard: [0, 0, 0, 0, 0, 0, 0, 0] };
  for (const family of families)
    countGrown(grown, grow, [tasks.find((task) => task.family === family)!], [won[family as 'easy']]);
  return grown;
}

it('takes most of a round from what is half mastered, and each time others of it', () => {
  const grown = known();
  expect(familiesWithin(tasks, grow, grown)).toEqual(['half']);
  const drawn = draw(3, grown);
  expect(drawn.slice(2).every(({ family }) => family === 'half')).toBe(true);
  expect(new Set(ids(drawn.slice(2))).size).toBe(6);
  expect(ids(drawn)).toEqual(ids(draw(3, known())));
});

it('tries what it knows nothing of, and all in turn where nothing is half mastered', () => {
  expect(familiesWithin(tasks, grow, {})).toEqual(families);
  const { half: _half, ...rest } = known();
  expect(familiesWithin(tasks, grow, rest)).toEqual(['half']);
  const none = { ...known(), half: known().easy };
  expect(ids(draw(2, none))).toEqual(ids(draw(2, {}, { grow: undefined })));
});

it('counts the last episodes alone', () => {
  const grown = known();
  countGrown(grown, grow, [tasks[0]], [[0, 0, 0, 0]]);
  expect(grown.easy).toEqual({ outcomes: [1, 1, 1, 1, 0, 0, 0, 0], taken: 2 });
});

it('is kept between the rounds of a training', async () => {
  const { training, learner, told } = await atticTraining({ rounds: 2, grow: { ...grow, replay: 0 } });
  await textGroups(training);
  await learner.close();
  const lived = Object.values(training.progress.grown).reduce((sum, { taken }) => sum + taken, 0);
  expect(lived).toBe(4);
  const within = told.flatMap(({ kind, familiesWithin: count }) => (kind === 'update' ? [count as number] : []));
  expect(within).toHaveLength(2);
});
