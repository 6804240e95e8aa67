// Worlds of numbers, as a kind that can be judged.

import type { FidelityKind, Question } from '../kind.js';
import { unlearnable } from '../learning/learning.js';
import { unrankable } from '../rank/rank.js';
import { calibrationInstrument } from './calibration.js';
import { distributionInstrument } from './distribution.js';
import type { Judged } from './ground.js';
import { driftRule } from './horizon.js';
import { kStepsInstrument } from './k-steps.js';
import { oneStepInstrument } from './one-step.js';
import { rewardEndInstrument } from './reward-end.js';

const NO_POLICIES = 'No policies were opened.';

export const vectorKind: FidelityKind<Judged> = {
  name: 'vector',
  questions: [
    { id: 'one-step', ask: oneStepInstrument },
    { id: 'k-steps', ask: kStepsInstrument },
    { id: 'reward-end', ask: rewardEndInstrument },
    { id: 'calibration', ask: calibrationInstrument },
    { id: 'distribution', ask: distributionInstrument },
    { id: 'rank', ask: ({ policies, subject }) => policies?.rank?.(subject) ?? unrankable(NO_POLICIES) },
    { id: 'learning', ask: ({ policies, subject }) => policies?.learning?.(subject) ?? unlearnable(NO_POLICIES) },
  ] as readonly Question<Judged>[],
  horizon: driftRule,
  card: { tag: 'model-based-rl', world: 'transitions of numbers' },
};
