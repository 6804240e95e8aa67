// The room of fidelity: how far a dream is from the real, as numbers with intervals.

export type { HorizonPlan } from './horizon/horizon-evidence.js';
export { horizonFindings } from './horizon/horizon-finding.js';
export {
  type BranchErrors,
  bestBranchLength,
  branchPenalty,
  largestReturnGap,
  type ModelErrors,
  probabilityOfLeaving,
  type ReturnScale,
  returnGapBound,
} from './horizon/return-bounds.js';
export { horizonOfDrift, horizonOfErrors, realRatioAt, type TrustHorizon } from './horizon/trust-horizon.js';
export { type Trust, type TrustQuery, trustedSteps } from './horizon/trusted-steps.js';
export type * from './instrument.js';
export {
  type Choice,
  ChoiceModel,
  ChoosingAgent,
  type Demonstration,
  type Propose,
  shownChoices,
} from './learning/choice/choosing-agent.js';
export { learningInstrument, unlearnable } from './learning/learning-instrument.js';
export type { LearningOptions, LearningRow, LearningSource, Ratio } from './learning/learning-source.js';
export {
  type ChunkAddress,
  type Measured,
  type MeasureOptions,
  measureSubjects,
  measureWithinBudget,
  readKept,
} from './measure.js';

export { rankInstrument, unrankable } from './rank/rank-instrument.js';
export { crossedBootstrap, type LadderReturns, type LadderStatistic } from './rank/rank-metrics.js';
export type { EpisodeReturn, RankOptions, RankRow, RankSource, World } from './rank/rank-source.js';
export { compareSubjects } from './report/compare.js';
export * from './report/fidelity-report.js';
export { type BarsFigure, type CurvesFigure, type Figure, type FigureSeries, figuresOf } from './report/figures.js';
export { type Gate, judgeGates, parseGates, requireMetric } from './report/gate.js';
export { type Headline, headlineMetrics, headlines } from './report/headlines.js';
export { fidelityMarkdown } from './report/markdown.js';
export { notesOf, tablesOf } from './report/merged-text.js';
export { metricsOf, type ShownSubject } from './report/metric-lookup.js';
export { type ModelCardOptions, modelCard } from './report/model-card.js';
export { FIDELITY_FILE, openFidelityReport, readFidelityReport } from './report/read-report.js';
export {
  headlineRows,
  type MetricRow,
  type SectionGroup,
  type ShownReport,
  sectionGroups,
  truthText,
  turnOf,
  withoutSamples,
} from './report/shown-report.js';
export { differenceText, estimateText, gateText, intervalText, valueText } from './report/wording.js';
export { writeFidelityReport } from './report/write-report.js';
export { type Estimate, NOTHING } from './statistics/estimate.js';
export { type AskedOptions, AskedQuestions } from './tools/asked-questions.js';
export { type CalibrationOptions, calibrationInstrument } from './tools/calibration.js';
export {
  answersOf,
  type CarriedOut,
  type CarriedStep,
  type CarryOutRequest,
  carryOut,
  carryOutForReal,
} from './tools/carried-out.js';
export {
  type DistributionOptions,
  distributionInstrument,
  type SaidOptions,
  saidInstrument,
} from './tools/distribution.js';
export { type KStepsOptions, kStepsInstrument } from './tools/k-steps.js';
export {
  type DecidedEnd,
  type LivedEpisode,
  LivedEpisodes,
  type LivedOptions,
  type LivedRow,
} from './tools/lived-episodes.js';
export { type MustFailOptions, mustFailInstrument } from './tools/must-fail.js';
export { type OneStepOptions, oneStepInstrument } from './tools/one-step.js';
export {
  type CarrySequence,
  carriedBy,
  type DreamtSequence,
  type DreamtStep,
  type TrueSequence,
  type TrueStep,
} from './tools/open-loop.js';
export { type UnaidedOptions, unaidedResponder } from './tools/own-task.js';
export { patientAnswer, patiently } from './tools/patience.js';
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
} from './tools/question.js';
export { isReadBackRight, isSameObservation, type ReadBack, readBacksOf } from './tools/read-backs.js';
export { type RewardEndOptions, rewardEndInstrument } from './tools/reward-end.js';
export { askQuestion, type StepOptions, type StepRow } from './tools/step-row.js';
export { unmeasured } from './tools/unmeasured.js';
export { forecasterOf } from './vector/forecast.js';
export { vectorInstruments } from './vector/instruments.js';
export { type Ground, groundOf, type Judged, type Replay, type VectorPlan } from './vector/plan.js';
export type { Forecast, Forecaster, VectorSubjectModel } from './vector/subject-model.js';
export type { DriftStart, TruthEpisode, VectorTruth } from './vector/truth.js';
