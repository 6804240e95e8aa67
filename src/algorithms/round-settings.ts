// How long rounds are and how much is learned in them, where a scenario leaves it to the body: decided once, before a run
// begins, and the same for a dream and for the baselines it is held against.

import type { RoundSettings } from './training-settings.js';

/** Settings of rounds as a scenario gives them. */
export type AskedRounds = {
  readonly [Key in keyof RoundSettings]: Key extends AutoKey ? RoundSettings[Key] | 'auto' : RoundSettings[Key];
};
type AutoKey = 'initialRandomSteps' | 'stepsPerRound' | 'updatesPerRound' | 'cyclesPerRound' | 'evalEvery';

export interface RoundBody {
  readonly obsDim: number;
  readonly actionDim: number;
  /** What the learner learns from. */
  readonly learnsFrom: 'replay' | 'rollouts';
}

/** Gradient steps a real step, and between two dreams. Twenty is what REDQ, DroQ and MBPO take. */
const UPDATES_PER_STEP = 20;
const UPDATES_PER_CYCLE = 500;

/** Random steps for each element of an observation and an action, within bounds. */
const STEPS_PER_ELEMENT = 40;
const [LEAST_RANDOM, MOST_RANDOM] = [200, 1000];

/** Real steps of a round, within bounds: half of the random ones. */
const [LEAST_ROUND, MOST_ROUND] = [100, 250];

/** A rollout of a learner that knows its newest policy alone, and dreams of it. */
const ROLLOUT_STEPS = 250;

export function settleRounds(asked: AskedRounds, { obsDim, actionDim, learnsFrom }: RoundBody): RoundSettings {
  const elements = obsDim + actionDim;
  const initialRandomSteps = given(
    asked.initialRandomSteps,
    Math.min(MOST_RANDOM, Math.max(LEAST_RANDOM, STEPS_PER_ELEMENT * elements)),
  );
  const isReplayed = learnsFrom === 'replay';
  const half = Math.min(MOST_ROUND, Math.max(LEAST_ROUND, 50 * Math.round(initialRandomSteps / 100)));
  const stepsPerRound = given(asked.stepsPerRound, isReplayed ? half : ROLLOUT_STEPS);
  const updatesPerRound = given(asked.updatesPerRound, UPDATES_PER_STEP * stepsPerRound);
  return {
    ...asked,
    initialRandomSteps,
    stepsPerRound,
    updatesPerRound,
    cyclesPerRound: given(
      asked.cyclesPerRound,
      isReplayed ? Math.max(1, Math.round(updatesPerRound / UPDATES_PER_CYCLE)) : 1,
    ),
    evalEvery: given(asked.evalEvery, stepsPerRound),
  };
}

function given(value: number | 'auto', otherwise: number): number {
  return value === 'auto' ? otherwise : value;
}
