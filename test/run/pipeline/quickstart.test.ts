// The ways of training that a quickstart compares, as scenarios; and the price of a real step as it is told.

import { describe, expect, it } from 'vitest';
import { breakEvenText, warmStartArms } from '../../../src/run/pipeline/quickstart.js';
import { loadScenario } from '../../../src/run/scenario.js';
import { DREAM_ARM, MANY_UPDATES_ARM, SCRATCH_ARM } from '../../../src/training/warm-start.js';

const armsOf = async (name: string, set: string[] = [], profile?: string) => {
  const arms = await warmStartArms(await loadScenario(name, { set, profile }));
  return Object.fromEntries(arms.map((arm) => [arm.name, arm.scenario.config]));
};

describe('the arms of a quickstart', () => {
  it('are the learner from scratch, with as many updates on real rows, and in the dream', async () => {
    const arms = await armsOf('cartpole-swingup');
    expect(Object.keys(arms)).toEqual([SCRATCH_ARM, MANY_UPDATES_ARM, DREAM_ARM]);
    const { [SCRATCH_ARM]: scratch, [MANY_UPDATES_ARM]: many, [DREAM_ARM]: dream } = arms;
    expect(scratch.train).toMatchObject({ mode: 'real', updatesPerStep: 2, realSteps: 12_000 });
    expect(many.replay.realRatio).toBe(1);
    expect(many.train).toEqual({ ...dream.train, realSteps: 12_000 });
    expect(dream.train).toMatchObject({ mode: 'dream', realSteps: 3000, stopAtThreshold: true });
  });

  it('are other learners too where they are named, as large and after the same, as often updated as in their papers', async () => {
    const arms = await armsOf('pendulum', [
      'quickstart.baselines=[many-updates, redq, droq, ppo, sac]',
      'rl.gamma=0.9',
    ]);
    expect(Object.keys(arms)).toEqual([SCRATCH_ARM, MANY_UPDATES_ARM, 'redq', 'droq', 'ppo', DREAM_ARM]);
    expect(arms['redq'].rl).toMatchObject({ algorithm: 'redq', hidden: [64, 64], gamma: 0.9, critics: 10 });
    expect(arms['droq'].train).toMatchObject({ mode: 'real', updatesPerStep: 'auto' });
    expect(arms['ppo'].rl).toMatchObject({ algorithm: 'ppo', gamma: 0.9 });
    const prioritized = ['replay.selector.kind=prioritized', 'replay.selector.alpha=0.5'];
    const { ppo, redq } = await armsOf('pendulum', ['quickstart.baselines=[ppo, redq]', ...prioritized]);
    expect(ppo.replay.selector).toEqual({ kind: 'uniform' });
    expect(redq.replay.selector).toMatchObject({ kind: 'prioritized', alpha: 0.5 });
  });
});

it('the price of a real step is told in seconds, and in money where an hour of the computer has a price', () => {
  const from = { kind: 'from', secondsPerStep: 0.5 } as const;
  expect(breakEvenText(from)).toContain('more than 0.5 s');
  expect(breakEvenText({ kind: 'always' })).toContain('at any price');
  expect(breakEvenText({ kind: 'never' })).toContain('does not pay');
});
