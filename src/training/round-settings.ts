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

/** Gradient steps a real step, and between two dreams. REDQ and DroQ take twenty, MBPO twenty to forty. */
const UPDATES_PER_STEP = 40;
const UPDATES_PER_CYCLE = 500;

/** Random steps for each element of an observation and an action, within bounds: as few as a first model can be fitted to. */
const STEPS_PER_ELEMENT = 20;
const [LEAST_RANDOM, MOST_RANDOM] = [100, 500];

/** Real steps of a round, within bounds: a quarter of the random ones. A policy is soon held against the world that it left the data for. */
const [LEAST_ROUND, MOST_ROUND] = [25, 100];
const ROUNDS_PER_EVALUATION = 2;

/** A rollout of a learner that knows its newest policy alone, and dreams of it. */
const ROLLOUT_STEPS = 250;

export function settleRounds(asked: AskedRounds, { obsDim, actionDim, learnsFrom }: RoundBody): RoundSettings {
  const elements = obsDim + actionDim;
  const initialRandomSteps = given(
    asked.initialRandomSteps,
    Math.min(MOST_RANDOM, Math.max(LEAST_RANDOM, STEPS_PER_ELEMENT * elements)),
  );
  const isReplayed = learnsFrom === 'replay';
  const quarter = Math.min(MOST_ROUND, Math.max(LEAST_ROUND, 5 * Math.round(initialRandomSteps / 20)));
  const stepsPerRound = given(asked.stepsPerRound, isReplayed ? quarter : ROLLOUT_STEPS);
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
    evalEvery: given(asked.evalEvery, isReplayed ? ROUNDS_PER_EVALUATION * stepsPerRound : stepsPerRound),
  };
}

function given(value: number | 'auto', otherwise: number): number {
  return value === 'auto' ? otherwise : value;
}
