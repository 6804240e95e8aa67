// Games as a domain of one tool: played line by line, saved, forked, judged, and told apart by their texts.

import { describe, expect, it, vi } from 'vitest';
import { type TextEnvironment, textEnvironment } from '../../src/env/tools/text-environment.js';
import { GamePlay, gamesDomain, NOTHING_HAPPENS } from '../../src/games/pddl/text-game.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { ATTIC, ATTIC_PROBLEM, attic } from './attic.js';

const WALKTHROUGH = [
  'open crate',
  'take torch from crate',
  'switch torch',
  'open crate',
  'go to south',
  'open chest',
  'put torch into chest',
  'go to north',
  'take book from crate',
  'go to south',
  'put book into chest',
];

function games(change: (problem: string) => string = (problem) => problem) {
  const read = vi.fn(() => ({ ...ATTIC, problem: change(ATTIC_PROBLEM), walkthrough: WALKTHROUGH, goal: 'tidy up' }));
  const other = vi.fn(() => ({ ...ATTIC, problem: ATTIC_PROBLEM.replace('(locked safe)', '') }));
  const domain = gamesDomain({
    id: 'attics',
    version: '1',
    games: [
      { id: 'locked', split: 'train', tags: ['one'], read },
      { id: 'unlocked', split: 'test', read: other },
    ],
  });
  return { domain, read, other };
}

function environment({ domain } = games()): TextEnvironment {
  return textEnvironment(rulesEnvironment(domain, { maxSteps: 50 }));
}

describe('games as a domain', () => {
  it('are read when they are played', async () => {
    const all = games();
    const env = environment(all);
    expect(all.read).not.toHaveBeenCalled();
    const { observation, info } = await env.reset({ task: 'unlocked' });
    expect(observation).toBe('Up in the attic.\n\nYou see a crate, and a safe.');
    expect(info.admissible).toEqual(['go to south', 'look', 'open crate', 'open safe']);
    expect([all.read.mock.calls.length, all.other.mock.calls.length > 0]).toEqual([0, true]);
  });

  it('say and allow what the game does, and end where it is won', async () => {
    const env = environment();
    const play = new GamePlay(attic());
    expect((await env.reset({ task: 'locked' })).observation).toBe(play.reset());
    for (const command of [...WALKTHROUGH.slice(0, 3), 'dance', ...WALKTHROUGH.slice(4)]) {
      const step = await env.step(command);
      expect(step.observation).toBe(play.step(command));
      expect(step.info.admissible).toEqual(play.admissible());
      expect([step.reward, step.terminated]).toEqual(play.isWon ? [1, true] : [0, false]);
    }
    expect(play.isWon).toBe(true);
  });

  it('go on from a snapshot, here and in another environment', async () => {
    const [env, fork] = [environment(), environment()];
    await env.reset({ task: 'locked' });
    for (const command of WALKTHROUGH.slice(0, 6)) await env.step(command);
    const snapshot = JSON.parse(JSON.stringify(await env.snapshot()));
    await fork.restore(snapshot);
    for (const command of WALKTHROUGH.slice(6)) expect(await fork.step(command)).toEqual(await env.step(command));
  });

  it('have a typed state that names things as the texts do, changed by what a command changes', async () => {
    const env = environment();
    await env.reset({ task: 'locked' });
    await env.step('open crate');
    const { predictions } = (await env.step('take book from crate')).info as {
      predictions: { operations: unknown; isError: boolean }[];
    };
    expect(predictions[0].operations).toEqual([
      { op: 'add', path: '/facts/held/book', value: true },
      { op: 'remove', path: '/facts/in/book, crate' },
      { op: 'add', path: '/facts/not_in/book, crate', value: true },
    ]);
    const refused = await env.step('dance');
    expect(refused.observation).toBe(NOTHING_HAPPENS);
    expect((refused.info.predictions as { isError: boolean }[])[0].isError).toBe(true);
  });

  it('refuse a state of other texts', async () => {
    const env = environment();
    await env.reset({ task: 'locked' });
    await env.step('open crate');
    const changed = environment(games((problem) => problem.replace('(locked safe)', '')));
    await changed.reset({ task: 'unlocked' });
    const { rules } = changed.tools.domain;
    expect(() => rules!.admissible!(env.tools.state)).toThrow(expect.objectContaining({ code: 'GAME_CHANGED' }));
  });
});
