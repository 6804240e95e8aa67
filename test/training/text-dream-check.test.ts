// A dream beside the real game: alike while it says the same, and told apart by the step at which it goes wrong.

import { describe, expect, it } from 'vitest';
import type { Prediction } from '../../src/env/tools/prediction.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { textEnvironment } from '../../src/env/tools/text-environment.js';
import type { CallQuery, Responder } from '../../src/env/tools/tools-family.js';
import { areFalse, checkDream, textGroups } from '../../src/training/text-loop.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { attic, attics, atticTraining } from '../rl/text/attic-training.js';

const clone = { tasks: 2, epochs: 30, lr: 3e-3 };

/** What answers as the rules do, but for what is changed of it. */
async function checkedAgainst(change: (exact: Prediction, query: CallQuery) => Prediction) {
  const { training, learner, told } = await atticTraining({ clone, rounds: 0, checkEpisodes: 16 });
  const domain = attics();
  const rules = rulesResponder(domain);
  const responder: Responder = {
    version: 'changed',
    close: async () => {},
    trusts: (backend) => backend === 'rules',
    answer: async (query) => change(await rules.answer(query), query),
  };
  const environment = () => textEnvironment(rulesEnvironment(domain, { responder, maxSteps: 15 }));
  const environments = [environment(), environment(), environment()];
  const tasks = Array.from({ length: 16 }, (_, i) => training.parts.tasks[i % 2]);
  const parts = { ...training.parts, tasks, dream: { environments: async () => environments } };
  await checkDream({ ...training, parts });
  await learner.close();
  const [check] = training.progress.checks;
  expect(told.at(-1)).toMatchObject({ kind: 'check', time: 0, steps: check.steps });
  return check;
}

const saidBy = ({ call }: CallQuery) => String(call.arguments.text);

describe('a dream beside the real game', () => {
  it('is one with it where it answers as the rules do', async () => {
    const check = await checkedAgainst((exact) => exact);
    expect(Object.values(check.apart)).toEqual([0, 0, 0, 0, 0]);
    expect(check.steps).toBe(check.realSteps);
    expect([check.realWins, check.confirmedWins]).toEqual([check.dreamWins, check.dreamWins]);
  });

  it('comes apart where no backend answers, at what was said then', async () => {
    const check = await checkedAgainst((exact, query) =>
      /^open/.test(saidBy(query))
        ? { ...exact, operations: [], observation: 'Error: nobody', isError: true, refused: ['nobody'] }
        : exact,
    );
    expect(check.apart.unanswered).toBeGreaterThan(0);
    expect(check.wrong).toEqual({ 'open: unanswered': check.apart.unanswered });
    expect(check.steps).toBeLessThan(check.realSteps);
    expect(check.dreamWins).toBe(0);
  });

  it('comes apart at what is said otherwise, and at what becomes so otherwise', async () => {
    const texts = await checkedAgainst((exact) => ({ ...exact, observation: `${exact.observation}!` }));
    expect(texts.apart).toMatchObject({ text: 16, state: 0 });
    expect(texts.steps).toBe(16);
    const states = await checkedAgainst((exact) => ({ ...exact, operations: [] }));
    expect(states.apart.state).toBeGreaterThan(0);
    expect(states.apart.text).toBe(0);
  });
});

describe('the gate of a dream', () => {
  it('goes by what surely are too few of its wins', () => {
    const isShut = (dreamWins: number, confirmedWins: number) => areFalse({ dreamWins, confirmedWins });
    expect([isShut(0, 0), isShut(3, 0), isShut(10, 5), isShut(10, 10)]).toEqual([false, false, false, false]);
    expect([isShut(4, 0), isShut(6, 0), isShut(20, 3)]).toEqual([true, true, true]);
  });

  /** Three rounds in a dream in which the game is won as soon as the crate is open. */
  async function dreamtOfCrates() {
    const rounds = { mode: 'dream-then-real' as const, rounds: 3, realRounds: 1, evalEvery: 10 };
    const { training, learner, told } = await atticTraining({ clone, checkEpisodes: 16, ...rounds });
    const wrong = attics(() => '(opened crate)');
    const environments = Array.from({ length: 16 }, () => attic(wrong));
    const tasks = Array.from({ length: 16 }, (_, i) => training.parts.tasks[i % 2]);
    const parts = { ...training.parts, tasks, dream: { environments: async () => environments } };
    await textGroups({ ...training, parts });
    await learner.close();
    return { progress: training.progress, updates: told.filter(({ kind }) => kind === 'update') };
  }

  it('does not learn from wins that are none, says so, and leaves real rounds as they are', async () => {
    const { progress, updates } = await dreamtOfCrates();
    expect(progress.checks[0].dreamWins).toBeGreaterThan(8);
    expect(progress.checks[0].confirmedWins).toBeLessThan(4);
    expect(updates.map(({ shut }) => shut)).toEqual([true, true, true, undefined]);
    expect([progress.round, progress.simulatedSteps]).toEqual([4, 0]);
    expect(updates[3].episodes).toBeGreaterThan(0);
    expect(progress.alarms).toHaveLength(1);
    expect(progress.alarms[0]).toMatchObject({
      round: 0,
      problem: expect.stringContaining('wins are not to be believed'),
    });
  });
});
