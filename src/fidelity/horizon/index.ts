// The trust horizon, what it implies, and bounds on returns.

export type { HorizonPlan } from './horizon-evidence.js';
export { horizonFindings } from './horizon-finding.js';
export {
  type BranchErrors,
  bestBranchLength,
  branchPenalty,
  largestReturnGap,
  type ModelErrors,
  probabilityOfLeaving,
  type ReturnScale,
  returnGapBound,
} from './return-bounds.js';
export { horizonOfDrift, horizonOfErrors, realRatioAt, type TrustHorizon } from './trust-horizon.js';
export { type Trust, type TrustQuery, trustedSteps } from './trusted-steps.js';
