// Settings that find themselves: from what a model has shown to how it is simulated in.

import { describe, expect, it } from 'vitest';
import { isRefitDue, planDream, resolveRounds } from '../../src/training/settings.js';

const OPEN = { gate: 'auto', horizon: 'auto', disagreementLimit: 'auto', startsPerRound: 'auto' } as const;
const TRIAL = { windows: 200, longest: 50, trustedSteps: 8, r2: 0.9, rewardR2: 0.95, doubt: 0.2 };
const SKILL = { model: 0.97, simple: 0.4, reward: 0.8 };

describe('the plan of a dream', () => {
  it('follows what the model has shown', () => {
    const plan = planDream(OPEN, 'auto', { trial: TRIAL, skill: SKILL }, 500);
    expect(plan).toMatchObject({ isOpen: true, horizon: 8, disagreementLimit: 1, realRatio: 0.2, starts: 6250 });
    expect(plan.reasons['rollout.gate']).toBe('open: held out, the model explains 97 % of what changes');
    expect(plan.reasons['rollout.horizon']).toBe('simulated states stay near the real ones up to step 8');
  });

  it('ends branches no sooner for a policy whose newest steps are easily predicted', () => {
    const limits = [0.001, 0.2, 3].map((doubt) => planDream(OPEN, 'auto', { trial: { ...TRIAL, doubt } }, 0));
    expect(limits.map(({ disagreementLimit }) => disagreementLimit)).toEqual([1, 1, 1]);
    expect(planDream(OPEN, 'auto', { trial: { ...TRIAL, doubt: null } }, 0).disagreementLimit).toBe(null);
  });

  it('leaves what is pinned as it is', () => {
    const pinned = { gate: 'open', horizon: [0, 100, 1, 5], disagreementLimit: null, startsPerRound: 70 } as const;
    const plan = planDream(pinned, 0.05, { trial: TRIAL, skill: { ...SKILL, model: -1 } }, 100);
    expect(plan).toMatchObject({ isOpen: true, horizon: 5, disagreementLimit: null, realRatio: 0.05, starts: 70 });
    expect(new Set(Object.values(plan.reasons))).toEqual(new Set(['pinned']));
  });

  it.each([
    ['explains too little', { skill: { ...SKILL, model: 0.3, simple: 0 } }],
    ['explains less than a simple model', { skill: { ...SKILL, model: 0.7, simple: 0.9 } }],
    ['does not know the reward', { skill: { ...SKILL, reward: 0.1 } }],
    ['is worse than the mean on newer episodes', { skill: SKILL, trial: { ...TRIAL, r2: -0.4 } }],
  ])('does not open to a model that %s', (_, evidence) => {
    const { isOpen, reasons } = planDream(OPEN, 'auto', evidence, 0);
    expect(isOpen).toBe(false);
    expect(reasons['rollout.gate']).toMatch(/^shut: /);
  });

  it('opens to a model that a simple one is hardly ahead of by squared errors', () => {
    expect(planDream(OPEN, 'auto', { skill: { ...SKILL, model: 0.92, simple: 0.95 } }, 0).isOpen).toBe(true);
  });

  it('opens to a model of which nothing is known, for one step', () => {
    const plan = planDream(OPEN, 'auto', {}, 0);
    expect(plan).toMatchObject({ isOpen: true, horizon: 1, disagreementLimit: null });
    expect(plan.reasons['rollout.disagreementLimit']).toBe(plan.reasons['rollout.horizon']);
    expect(plan.reasons['replay.realRatio']).toBe('no rows were held out');
    expect(planDream({ ...OPEN, horizon: 3 }, 'auto', {}, 0).horizon).toBe(3);
  });
});

describe('a refit', () => {
  const due = (refitEvery: number | 'auto', fittedAt: number, inserted: number, r2 = 0.95) =>
    isRefitDue({ refitEvery }, { fittedAt, evidence: { trial: { ...TRIAL, r2 }, skill: SKILL } }, inserted);

  it('is due once a tenth of the rows is new, or 250, or the model is worse on new rows than held out', () => {
    expect([1099, 1100].map((rows) => due('auto', 1000, rows))).toEqual([false, true]);
    expect([30_249, 30_250].map((rows) => due('auto', 30_000, rows))).toEqual([false, true]);
    expect(due('auto', 1000, 1025, 0.8)).toBe(true);
  });

  it('comes first of all, and then as often as is asked', () => {
    expect([0, 100].map((fittedAt) => due(500, fittedAt, 599))).toEqual([true, false]);
    expect(due(500, 100, 600)).toBe(true);
  });
});

describe('rounds', () => {
  const rest = {
    realSteps: 1,
    evalEpisodes: 5,
    keepPolicyEvery: null,
    threshold: null,
    stopAtThreshold: false,
  };
  const auto = 'auto' as const;
  const open = {
    ...rest,
    initialRandomSteps: auto,
    stepsPerRound: auto,
    updatesPerStep: auto,
    updatesPerRound: auto,
    cyclesPerRound: auto,
    evalEvery: auto,
  };

  it('are as long as the body is large', () => {
    const small = resolveRounds(open, { obsDim: 3, actionDim: 1, learnsFrom: 'replay' });
    const large = resolveRounds(open, { obsDim: 17, actionDim: 6, learnsFrom: 'replay' });
    expect(small).toMatchObject({
      initialRandomSteps: 100,
      stepsPerRound: 25,
      updatesPerStep: 1,
      updatesPerRound: 1000,
      cyclesPerRound: 2,
    });
    const asPublished = resolveRounds(open, { obsDim: 17, actionDim: 6, learnsFrom: 'replay', updatesPerStep: 10 });
    expect(asPublished).toMatchObject({
      stepsPerRound: 100,
      updatesPerStep: 10,
      updatesPerRound: 1000,
      cyclesPerRound: 2,
    });
    expect(large).toMatchObject({ initialRandomSteps: 1e3, stepsPerRound: 100, updatesPerRound: 4000, evalEvery: 200 });
  });

  it('are rollouts for a learner that knows its newest policy alone', () => {
    const settled = resolveRounds(open, { obsDim: 3, actionDim: 1, learnsFrom: 'rollouts' });
    expect(settled).toMatchObject({ stepsPerRound: 250, cyclesPerRound: 1 });
  });
});
