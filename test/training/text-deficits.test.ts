// What lost episodes of text lack, told from those that were won from the same start, and which tasks are taken for it.

import { describe, expect, it } from 'vitest';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import { textGroups } from '../../src/training/text-loop.js';
import type { PlayedText, TextStep } from '../../src/training/text-play.js';
import {
  countGrown,
  deficitsOf,
  type Grown,
  grownDeficits,
  type LivedText,
  livedTexts,
  needsOf,
  tasksOfRound,
} from '../../src/training/text-tasks.js';
import { atticTraining } from '../rl/text/attic-training.js';

/** An episode of these lines, of kinds that are their first two words; one that begins with `!` was refused. */
function played(lines: readonly string[], given: Partial<PlayedText> = {}): PlayedText {
  const steps = lines.map((line, i) => {
    const said = line.replace('!', '');
    const info = { predictions: [{ isError: line !== said }] };
    const situation = { text: line === lines[i - 1] ? lines[i - 1] : `screen ${i}`, admissible: [said] };
    return { situation, choice: 0, kind: said.split(' ').slice(0, 2).join(' '), info } as unknown as TextStep;
  });
  return { task: 'a', steps, messages: [], reward: 0, ...given };
}

const won = played(['tick box a', 'tick box b', 'press button ok'], { reward: 1 });
const lostBy = (episode: PlayedText, models = [won], before: LivedText[] = []) =>
  livedTexts([...models, episode], [...models.map(() => 1), 0], before).at(-1)!.lostBy;

describe('what lost an episode', () => {
  it('is what the nearest one that was won did there', () => {
    expect(lostBy(played(['press button ok']))).toBe('left-out tick box');
    expect(lostBy(played(['tick box a', 'tick box c', 'press button ok']))).toBe('wrong-argument tick box');
    expect(lostBy(played(['tick box b', 'tick box a', 'press link x', 'press button ok']))).toBe('unwanted press link');
    expect(lostBy(played(['press button ok', 'tick box a', 'tick box b']))).toBe('unwanted tick box');
    const other = played(['press link go'], { reward: 1 });
    expect(lostBy(played(['tick box a', 'tick box b']), [other, won])).toBe('left-out press button');
    expect(lostBy(played(['!tick box a', '!tick box a', '!tick box a', '!tick box a']))).toBe('loop');
  });

  it('is told from earlier episodes of the family, or by how it ended, where none was won from its start', () => {
    const before = livedTexts([won], [1], []);
    expect(before).toEqual([{ won: true, did: ['press button', 'tick box'] }]);
    expect(lostBy(played(['press button ok']), [], before)).toBe('left-out tick box');
    expect(lostBy(played(['!tick box a', 'press button ok']), [], before)).toBe('left-out tick box');
    expect(lostBy(played(['tick box c', 'press button ok']), [], before)).toBe('wrong-argument press button');
    expect(lostBy(played(['tick box c'], { truncated: true }), [], before)).toBe('cut-off');
    expect(lostBy(played([]), [], before)).toBe('cut-off');
  });
});

const win = (...did: string[]): LivedText => ({ won: true, did });
const loss = (name: string, ...did: string[]): LivedText => ({ won: false, did, lostBy: name });
const boxes = [win('press button', 'tick box'), loss('left-out tick box', 'press button')];
const families = {
  boxes,
  lists: [win('choose option', 'press button'), win('choose option', 'press button')],
  forms: [win('press button', 'tick box'), win('press button', 'tick box')],
};

describe('what is lacking', () => {
  it('is the share that it lost of the episodes that need it', () => {
    // Two of boxes and two of forms need a box to be ticked.
    expect(deficitsOf(families)).toEqual([['left-out tick box', 1 / 4]]);
    expect(deficitsOf({ ...families, links: [loss('loop'), loss('loop')] })[1]).toEqual(['loop', 2 / 8]);
    expect(deficitsOf({})).toEqual([]);
  });

  it('is needed by tasks that were never lost by it, and as much as by others where nothing is known', () => {
    expect(needsOf(['boxes', 'lists', 'forms', 'new'], families)).toEqual([1 / 4, 0, 1 / 4, (1 / 4 + 1 / 4) / 3]);
    expect(needsOf(['lists', 'new'], { lists: families.lists })).toEqual([1, 1]);
  });

  it('is what a round is lived on', () => {
    const tasks = Object.keys(families).map((family) => ({ id: `${family}.0`, family }) as ToolsTask);
    const grow = { band: [0, 1], replay: 0, window: 8, deficits: true } as const;
    const grown: Grown = Object.fromEntries(
      Object.entries(families).map(([family, lived]) => [family, { outcomes: [1, 1, 0, 0], taken: 1, lived }]),
    );
    const draw = (deficits: boolean) =>
      tasksOfRound({ tasks, round: 1, tasksPerRound: 40, seed: 1, grown, grow: { ...grow, deficits } });
    const counts = (drawn: readonly ToolsTask[]) =>
      Object.keys(families).map((name) => drawn.filter(({ family }) => family === name).length);
    expect(counts(draw(true))[1]).toBe(0);
    expect(Math.min(...counts(draw(true)).filter((_, i) => i !== 1))).toBeGreaterThan(10);
    expect(Math.min(...counts(draw(false)))).toBeGreaterThan(5);
    countGrown(grown, { ...grow, window: 3 }, [tasks[0]], [[1, 0]], [[won, played(['press button ok'])]]);
    expect(grown.boxes.lived!.map(({ lostBy: name }) => name)).toEqual([boxes[1].lostBy, undefined, boxes[1].lostBy]);
    expect(grownDeficits(grown)[0][0]).toBe('left-out tick box');
  });
});

it('is told round by round', async () => {
  const grow = { band: [0, 1], replay: 0, window: 16, deficits: true } as const;
  const { training, learner, told } = await atticTraining({ rounds: 2, grow });
  await textGroups(training);
  await learner.close();
  const lived = Object.values(training.progress.grown).flatMap((family) => family.lived ?? []);
  expect(lived.length).toBeGreaterThan(15);
  expect(lived.every((one) => one.won === (one.lostBy === undefined))).toBe(true);
  const updates = told.filter(({ kind }) => kind === 'update');
  expect(updates.map(({ deficits }) => typeof deficits)).toEqual(['object', 'object']);
});
