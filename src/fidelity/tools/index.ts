// How far a dream of tools is from the real: instruments for models that answer calls.

export { type AskedOptions, AskedQuestions } from './asked-questions.js';
export { type CalibrationOptions, calibrationInstrument } from './calibration.js';
export {
  answersOf,
  type CarriedOut,
  type CarriedStep,
  type CarryOutRequest,
  carryOut,
  carryOutForReal,
} from './carried-out.js';
export { type DistributionOptions, distributionInstrument, type SaidOptions, saidInstrument } from './distribution.js';
export { type KStepsOptions, kStepsInstrument } from './k-steps.js';
export {
  type DecidedEnd,
  type LivedEpisode,
  LivedEpisodes,
  type LivedOptions,
  type LivedRow,
} from './lived-episodes.js';
export { type MustFailOptions, mustFailInstrument } from './must-fail.js';
export { type OneStepOptions, oneStepInstrument } from './one-step.js';
export {
  type CarrySequence,
  carriedBy,
  type DreamtSequence,
  type DreamtStep,
  type TrueSequence,
  type TrueStep,
} from './open-loop.js';
export { type UnaidedOptions, unaidedResponder } from './own-task.js';
export { patientAnswer, patiently } from './patience.js';
export {
  CHANGE_GROUPS,
  type ChangeGroup,
  changeGroup,
  type DrawOptions,
  drawQuestions,
  questionId,
  questionOf,
  shuffled,
  type ToolsQuestion,
  type TrueAnswer,
} from './question.js';
export { isReadBackRight, isSameObservation, type ReadBack, readBacksOf } from './read-backs.js';
export { type RewardEndOptions, rewardEndInstrument } from './reward-end.js';
export { askQuestion, type StepOptions, type StepRow } from './step-row.js';
export { unmeasured } from './unmeasured.js';
