// How far apart real and dreamt return can be, given how wrong the dream is in one step: what theory promises, to be held
// against what was measured.

import type { DriftPoint, Finding } from '../instrument.js';
import type { FidelityChart, Metric, SectionId } from '../report/fidelity-report.js';
import { shown } from '../section.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import type { TrustHorizon } from './trust-horizon.js';

export interface ModelErrors {
  /**
   * Total variation between the real and the dreamt distribution of what follows, in [0, 1]. Of worlds that answer always the
   * same it is 0 or 1 a step, and its mean the share of wrong states.
   */
  readonly transition: number;
  /** Absolute difference of the reward of a step. */
  readonly reward: number;
}

export interface ReturnScale {
  /** Discount a step, in [0, 1). */
  readonly gamma: number;
  /** Largest absolute reward of a step, in either world. */
  readonly largestReward: number;
}

/**
 * Bound on |J(pi) - J^(pi)|, the difference of discounted return of any one policy:
 *
 *   e_R / (1 - g) + 2 g R_max e_P / (1 - g)^2
 *
 * The simulation lemma (Kearns & Singh 2002, Machine Learning 49), in the form that DreamGym's guarantee rests on (2511.03773,
 * theorem on policy improvement): J(pi') - J(pi) in the real environment is at least
 * E_dreamt[A_pi] / (1 - g) - 4 g V_max d / (1 - g)^2 - 2 (e_R / (1 - g) + 2 g R_max e_P / (1 - g)^2), where d bounds the
 * policy's step; its last term is this bound, once for each of the two policies. There e_R and e_P are suprema over states and
 * actions. For one policy the lemma also holds with their means over the states and actions that this policy visits for real
 * (discounted), which is what can be measured; means over other states promise nothing.
 */
export function returnGapBound(errors: ModelErrors, { gamma, largestReward }: ReturnScale): number {
  const reach = 1 - gamma;
  return errors.reward / reach + (2 * gamma * largestReward * errors.transition) / reach ** 2;
}

/** Difference of discounted return above which nothing is promised: no two policies, in whatever worlds, differ by more. */
export function largestReturnGap({ gamma, largestReward }: ReturnScale): number {
  return (2 * largestReward) / (1 - gamma);
}

/**
 * Probability that a dream of `steps` steps leaves the real one somewhere, where each step is wrong with probability `error`
 * given that none was before: 1 - (1 - e)^H. Both worlds can be coupled to agree until then, so the probability of success
 * differs by at most this, as does any return in [0, 1]. Tighter than `returnGapBound` for rewards at the end.
 */
export function probabilityOfLeaving(error: number, steps: number): number {
  return error >= 1 ? (steps > 0 ? 1 : 0) : -Math.expm1(steps * Math.log1p(-error));
}

export interface BranchErrors {
  /** e_m': total variation of the model's error under the current policy. */
  readonly model: number;
  /** e_pi: how far the policy has moved from the one that recorded the data, in total variation. */
  readonly policy: number;
}

/**
 * What branched rollouts of k steps may cost, MBPO (1906.08253, theorem 4.3):
 * 2 R_max [ g^(k+1) e_pi / (1 - g)^2 + g^k e_pi / (1 - g) + k e_m' / (1 - g) ].
 */
export function branchPenalty(
  { model, policy }: BranchErrors,
  { gamma, largestReward }: ReturnScale,
  length: number,
): number {
  const reach = 1 - gamma;
  const shift = (gamma ** (length + 1) * policy) / reach ** 2 + (gamma ** length * policy) / reach;
  return 2 * largestReward * (shift + (length * model) / reach);
}

/**
 * Length that makes MBPO's penalty least, a whole number from 0 on. As g / (1 - g)^2 + 1 / (1 - g) = 1 / (1 - g)^2, the
 * penalty falls at first only where e_m' < e_pi ln(1 / g) / (1 - g), about e_pi: dreaming pays where the model errs less than
 * the policy has moved.
 */
export function bestBranchLength(errors: BranchErrors, { gamma }: Pick<ReturnScale, 'gamma'>): number {
  const { model, policy } = errors;
  if (policy <= 0 || gamma <= 0) return 0;
  if (model <= 0) return Number.POSITIVE_INFINITY;
  const turning = Math.log((model * (1 - gamma)) / (policy * -Math.log(gamma))) / Math.log(gamma);
  if (turning <= 0) return 0;
  const scale = { gamma, largestReward: 1 };
  const [below, above] = [Math.floor(turning), Math.ceil(turning)];
  return branchPenalty(errors, scale, below) <= branchPenalty(errors, scale, above) ? below : above;
}

// The bound on the gap between real and dreamt return, made from measured errors, beside the gap that was measured.

export interface MeasuredBound {
  readonly bound: Estimate;
  /** Largest gap of a policy that was measured. */
  readonly gap: number;
  /** Bound on the difference of success that coupling gives. */
  readonly coupled?: Estimate;
  readonly notes: readonly string[];
}

/** Undefined where errors or the ladder of policies were not measured. */
export function measuredBound(
  findings: Findings,
  { rule, gamma, maxSteps }: HorizonPlan,
  { transition, reward }: HorizonEvidence,
): MeasuredBound | undefined {
  const gap = estimateOf(findings, 'rank', 'discounted-gap').value;
  const largestReward = estimateOf(findings, 'rank', 'largest-reward').value;
  if (gap === null || largestReward === null || transition.value === null || reward === undefined) return undefined;
  const scale = { gamma, largestReward };
  const bound = through(transition, (share) => returnGapBound({ transition: share, reward }, scale));
  const most = rule.bound.most(scale);
  const coupled = rule.bound.isCoupled
    ? through(transition, (share) => probabilityOfLeaving(share, maxSteps))
    : undefined;
  return { bound, gap, coupled, notes: notesOf(rule, bound.value!, gap, most) };
}

/** An increasing function of an estimate. */
function through({ value, low, high, n, method }: Estimate, of: (share: number) => number): Estimate {
  const at = (share: number | null) => (share === null ? null : of(share));
  return { value: at(value), low: at(low), high: at(high), n, method };
}

function notesOf({ bound: { note } }: HorizonRule, bound: number, gap: number, most: number): string[] {
  const vacuous =
    bound >= most
      ? `The bound on returns is vacuous: it allows ${shown(bound)}, and no two worlds can differ by more than ${shown(most)}.`
      : `The bound on returns allows ${shown(bound)}; ${shown(gap)} was measured, and ${shown(most)} is the most there could be.`;
  return [
    vacuous,
    'The bound: |J - J^| <= e_R / (1 - g) + 2 g R_max e_P / (1 - g)^2 for each policy (simulation lemma; the model term of DreamGym, 2511.03773, theorem on policy improvement, has it twice). It is proved for the largest e_R and e_P anywhere; here they are means over the transitions that were judged.',
    note,
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

// What the trust horizon is asked with, and what it is made from: figures of other sections.

export interface HorizonPlan {
  readonly rule: HorizonRule;
  /** What may go wrong up to the horizon, in the units of the rule. */
  readonly tolerance: number;
  /** Discount of the returns that the section on rank compares. */
  readonly gamma: number;
  /** Steps of an episode at most. */
  readonly maxSteps: number;
}

/** How a kind of world comes to a trust horizon: what it is made from, and how it is told. */
export interface HorizonRule {
  evidence(findings: Findings): HorizonEvidence;
  trusted(evidence: HorizonEvidence, tolerance: number): TrustHorizon;
  isMeasured(evidence: HorizonEvidence): boolean;
  /** What holds up to the horizon, as a clause. */
  within(tolerance: number): string;
  /** What so few judged units cannot show, as sentences; empty where it says all. */
  reach(evidence: HorizonEvidence): string;
  /** The section, and its figure, that it is made from. */
  readonly madeFrom: string;
  readonly caveat: string;
  /** Shown beside the plan's own. */
  readonly tolerances: readonly number[];
  /** Whether episodes may be branched anywhere, so that MBPO's length of branches says something. */
  readonly hasBranches: boolean;
  chart(evidence: HorizonEvidence, plan: HorizonPlan): FidelityChart;
  readonly bound: {
    readonly note: string;
    /** Two worlds cannot differ by more, whatever happens. */
    most(scale: ReturnScale): number;
    /** Whether episodes are rewarded at their end alone: success then differs no more often than states do. */
    readonly isCoupled: boolean;
  };
}

export interface HorizonEvidence {
  /** Of one step; its measure is the rule's. */
  readonly stepError: Estimate;
  readonly drift: readonly DriftPoint[];
  /** Errors that bounds on returns are made from; the reward's is undefined where it was not measured. */
  readonly transition: Estimate;
  readonly reward: number | undefined;
}

export type Findings = ReadonlyMap<SectionId, Finding>;

/** Estimate of a metric; NOTHING where the section or the metric is not there. */
export function estimateOf(findings: Findings, section: SectionId, key: string): Estimate {
  const metrics = findings.get(section)?.section.metrics ?? [];
  return metrics.find((metric) => metric.key === key)?.estimate ?? NOTHING;
}
