// The bound on the gap between real and dreamt return, made from measured errors, beside the gap that was measured.

import type { Metric } from '../report/fidelity-report.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import { estimateOf, type Findings, type HorizonPlan } from './horizon-evidence.js';
import { largestReturnGap, probabilityOfLeaving, returnGapBound } from './return-bounds.js';

export interface MeasuredBound {
  readonly bound: Estimate;
  /** Largest gap of a policy that was measured. */
  readonly gap: number;
  /** The bound promises less than that returns are finite. */
  readonly isVacuous: boolean;
  /** tools: bound on the difference of success that coupling gives. */
  readonly coupled?: Estimate;
  readonly notes: readonly string[];
}

/** Undefined where errors or the ladder of policies were not measured. */
export function measuredBound(
  findings: Findings,
  { family, gamma, maxSteps }: HorizonPlan,
  { transition, reward }: { readonly transition: Estimate; readonly reward: number },
): MeasuredBound | undefined {
  const gap = estimateOf(findings, 'rank', 'discounted-gap').value;
  const largestReward = estimateOf(findings, 'rank', 'largest-reward').value;
  if (gap === null || largestReward === null || transition.value === null) return undefined;
  const scale = { gamma, largestReward };
  const at = (share: number) => returnGapBound({ transition: share, reward }, scale);
  const bound = through(transition, at);
  // Where only the end of an episode is paid, returns lie in [0, R_max] whatever happens.
  const most = family === 'tools' ? largestReward : largestReturnGap(scale);
  const isVacuous = bound.value! >= most;
  const coupled =
    family === 'tools' ? through(transition, (share) => probabilityOfLeaving(share, maxSteps)) : undefined;
  return { bound, gap, isVacuous, coupled, notes: notesOf(family, bound.value!, gap, most) };
}

/** An increasing function of an estimate. */
function through({ value, low, high, n, method }: Estimate, of: (share: number) => number): Estimate {
  const at = (share: number | null) => (share === null ? null : of(share));
  return { value: at(value), low: at(low), high: at(high), n, method };
}

function notesOf(family: HorizonPlan['family'], bound: number, gap: number, most: number): string[] {
  const vacuous =
    bound >= most
      ? `The bound on returns is vacuous: it allows ${shown(bound)}, and no two worlds can differ by more than ${shown(most)}.`
      : `The bound on returns allows ${shown(bound)}; ${shown(gap)} was measured, and ${shown(most)} is the most there could be.`;
  return [
    vacuous,
    'The bound: |J - J^| <= e_R / (1 - g) + 2 g R_max e_P / (1 - g)^2 for each policy (simulation lemma; the model term of DreamGym, 2511.03773, theorem on policy improvement, has it twice). It is proved for the largest e_R and e_P anywhere; here they are means over the transitions that were judged.',
    ...(family === 'tools'
      ? [
          'e_R is 0: real and dreamt episodes are judged by the same exact verifier, so that all error lies in the state.',
        ]
      : [
          'Of a world that moves through real numbers e_P is a total variation: 1 wherever the model is not exactly right, however close it is. Drift says what this bound cannot.',
        ]),
  ];
}

export function boundMetrics(found: MeasuredBound | undefined): Metric[] {
  const ratio = found === undefined || found.gap === 0 ? NOTHING : through(found.bound, (bound) => bound / found.gap);
  return [
    {
      key: 'return-bound',
      label: 'Bound on the gap of returns',
      better: 'lower',
      unit: 'return',
      meaning:
        'Most that the discounted return of a policy could differ between the worlds, given the errors of single steps.',
      estimate: found?.bound ?? NOTHING,
    },
    {
      key: 'return-bound-ratio',
      label: 'Bound over the measured gap',
      better: 'neither',
      unit: 'number',
      meaning:
        'How many times larger the bound is than the largest gap of any policy of the ladder; below 1 it is broken.',
      estimate: ratio,
    },
    ...(found?.coupled === undefined
      ? []
      : [
          {
            key: 'success-bound',
            label: 'Bound on the gap of success',
            better: 'lower',
            unit: 'share',
            meaning:
              'Probability that a whole episode leaves the real one somewhere, 1 - (1 - e)^H, which success cannot differ by more than.',
            estimate: found.coupled,
          } as const,
        ]),
  ];
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}
