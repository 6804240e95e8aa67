// How far apart real and dreamt return can be, given how wrong the dream is in one step: what theory promises, to be held
// against what was measured.

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
