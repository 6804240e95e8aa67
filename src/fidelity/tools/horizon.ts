// How many steps of a dream with a typed state may be trusted: as many as are all right with the probability that is asked for,
// by the share of single steps after which the state is wrong.

import { complement, toleranceLine } from '../horizon/horizon.js';
import { estimateOf, type HorizonEvidence, type HorizonRule, probabilityOfLeaving } from '../horizon/return-bounds.js';
import { horizonOfErrors } from '../horizon/trust-horizon.js';

/** Steps that the chart shows at most. */
const MOST_STEPS = 50;

/** The tolerance is the probability of a wrong state somewhere. */
export const stepErrorRule: HorizonRule = {
  evidence: (findings) => {
    const stepError = complement(estimateOf(findings, 'one-step', 'state-exact'));
    return { stepError, drift: [], transition: stepError, reward: 0 };
  },
  trusted: ({ stepError }, tolerance) => horizonOfErrors(stepError, tolerance),
  isMeasured: ({ stepError }) => stepError.value !== null,
  within: (tolerance) => `a state is wrong somewhere with a probability of at most ${tolerance}`,
  reach,
  madeFrom: 'one step (state-exact)',
  caveat:
    'It takes steps to be as likely wrong late as early, and those of the questions that were asked to be those of an episode; k-steps measures the rest.',
  tolerances: [0.05, 0.1, 0.2, 0.5],
  hasBranches: false,
  chart: ({ stepError: { value, low, high } }, { tolerance, maxSteps }) => {
    const steps = Array.from({ length: Math.min(maxSteps, MOST_STEPS) }, (_, i) => i + 1);
    const points = steps.map((x) => ({
      x,
      y: probabilityOfLeaving(value!, x),
      low: probabilityOfLeaving(low ?? value!, x),
      high: probabilityOfLeaving(high ?? value!, x),
    }));
    return {
      kind: 'lines',
      title: 'Probability that a dream has left the real',
      caption: 'From the error of single steps; the trust horizon is where the upper edge first crosses the line.',
      xTitle: 'dreamt steps',
      yTitle: 'probability',
      series: [{ name: 'a wrong state somewhere', points }, toleranceLine(steps, tolerance)],
    };
  },
  bound: {
    note: 'e_R is 0: real and dreamt episodes are judged by the same exact verifier, so that all error lies in the state.',
    // Only the end of an episode is paid: returns lie in [0, R_max] whatever happens.
    most: ({ largestReward }) => largestReward,
    isCoupled: true,
  },
};

/** No error at all is a matter of how many steps were judged. */
function reach({ stepError: { value, n } }: HorizonEvidence): string {
  if (value !== 0) return '';
  return ` None of the ${n} judged steps was wrong: ${n} steps cannot show more than this, and more of them might.`;
}
