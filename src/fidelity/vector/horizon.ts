// How many steps of a dream of numbers may be trusted: as far as drift, as it was measured, stays within the tolerance.

import { complement, toleranceLine } from '../horizon/horizon.js';
import { estimateOf, type HorizonRule, largestReturnGap } from '../horizon/return-bounds.js';
import { horizonOfDrift } from '../horizon/trust-horizon.js';

/** The tolerance is drift, in standard deviations of each element, as `k-steps` measures it. */
export const driftRule: HorizonRule = {
  evidence: (findings) => ({
    drift: findings.get('k-steps')?.drift ?? [],
    stepError: complement(estimateOf(findings, 'one-step', 'state-within')),
    transition: complement(estimateOf(findings, 'one-step', 'state-exact')),
    reward: estimateOf(findings, 'one-step', 'reward-error').value ?? undefined,
  }),
  trusted: ({ drift }, tolerance) => horizonOfDrift(drift, tolerance),
  isMeasured: ({ drift }) => drift.length > 0,
  within: (tolerance) => `drift stays within ${tolerance} standard deviations`,
  reach: () => '',
  madeFrom: 'many steps (drift)',
  caveat:
    'It is that of the policies and states the truth was recorded with; a policy that goes elsewhere has another.',
  tolerances: [0.1, 0.25, 0.5, 1],
  hasBranches: true,
  chart: ({ drift }, { tolerance }) => ({
    kind: 'lines',
    title: 'Drift and what is tolerated',
    caption: 'The trust horizon is where the upper edge of the band first crosses the line.',
    xTitle: 'dreamt steps',
    yTitle: 'drift (standard deviations)',
    series: [
      { name: 'drift', points: drift.map(({ step, value, low, high }) => ({ x: step, y: value, low, high })) },
      toleranceLine(
        drift.map(({ step }) => step),
        tolerance,
      ),
    ],
  }),
  bound: {
    note: 'Of a world that moves through real numbers e_P is a total variation: 1 wherever the model is not exactly right, however close it is. Drift says what this bound cannot.',
    most: largestReturnGap,
    isCoupled: false,
  },
};
