// Agents of text learn in a small game of ours: by imitation and as a group, and again to the same bytes.

import { describe, expect, it } from 'vitest';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { textEnvironment } from '../../src/env/tools/text-environment.js';
import { textGroups } from '../../src/training/text-loop.js';
import { roundsOf, type TextMode } from '../../src/training/text-training.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { attics, atticTraining } from '../rl/text/attic-training.js';

const clone = { tasks: 2, epochs: 30, lr: 3e-3 };

it('rounds are simulated or real by the mode, and records are gathered before the first simulated ones', () => {
  const told = (mode: TextMode) =>
    roundsOf({ mode, rounds: 6, realRounds: 2, gatherEvery: 4 })
      .map(({ where, gathers }) => (gathers ? where[0].toUpperCase() : where[0]))
      .join('');
  const modes = ['real', 'dream', 'dream-then-real', 'interleaved', 'value'] as const;
  expect(modes.map(told)).toEqual(['rrrrrr', 'Dddddd', 'Ddddddrr', 'DdddDd', 'Vvvvvv']);
});

describe('training in a game of text', () => {
  it('by GiGPO wins nearly always, where imitation alone did not', async () => {
    const { training, learner, told } = await atticTraining({ estimator: 'gigpo', clone, rounds: 10 });
    await textGroups(training);
    const [nothing, cloning, rounds] = training.progress.evaluations;
    expect([nothing.after, cloning.after, rounds.after]).toEqual(['nothing', 'cloning', 'rounds']);
    expect(rounds.wins).toBeGreaterThan(cloning.wins);
    expect(rounds.wins).toBeGreaterThanOrEqual(14);
    expect(training.progress.clonedSteps).toBe(10);
    const updates = told.filter(({ kind }) => kind === 'update');
    expect(updates).toHaveLength(10);
    expect(training.progress.realSteps).toBe(updates.at(-1)!.realSteps);
    await learner.close();
  });

  it('by PPO with a critic wins more than imitation, and the critic errs less and less', async () => {
    const { training, learner, told } = await atticTraining({ estimator: 'ppo', clone, rounds: 12 });
    await textGroups(training);
    const [, cloning, rounds] = training.progress.evaluations;
    expect(rounds.wins).toBeGreaterThan(cloning.wins);
    const errors = told.flatMap(({ kind, valueError }) => (kind === 'update' ? [valueError as number] : []));
    expect(errors.at(-1)!).toBeLessThan(errors[0] / 2);
    await learner.close();
  });

  it('gives the same bytes again', async () => {
    const run = async () => {
      const { training, learner, told } = await atticTraining({ clone: { ...clone, epochs: 5 }, rounds: 1 });
      await textGroups(training);
      const state = learner.state();
      await learner.close();
      return { told, state, progress: training.progress };
    };
    expect(await run()).toEqual(await run());
  });

  it('refuses a world that does not say which commands do something', async () => {
    const { training, learner } = await atticTraining({ rounds: 1 });
    const domain = { ...attics(), initialState: {}, rules: undefined };
    const silent = {
      ...domain,
      tasks: [{ ...domain.tasks[0], initialOperations: [], user: { opening: 'Go!', goal: 'go' } }],
    };
    const responder = rulesResponder(attics());
    const tools = rulesEnvironment(silent as never, { responder });
    const evalEnvironments = [textEnvironment(tools)];
    const parts = { ...training.parts, evalEnvironments, evalTasks: silent.tasks as never };
    await expect(textGroups({ ...training, parts })).rejects.toThrow(expect.objectContaining({ code: 'DOMAIN_UNFIT' }));
    await learner.close();
  });
});
