// The room of fidelity: how far a dream is from the real, as numbers with intervals.

export { horizonFindings } from './horizon/horizon.js';
export {
  type BranchErrors,
  bestBranchLength,
  branchPenalty,
  type HorizonPlan,
  largestReturnGap,
  type ModelErrors,
  probabilityOfLeaving,
  type ReturnScale,
  returnGapBound,
} from './horizon/return-bounds.js';
export {
  horizonOfDrift,
  horizonOfErrors,
  realRatioAt,
  type Trust,
  type TrustHorizon,
  type TrustQuery,
  trustedSteps,
} from './horizon/trust-horizon.js';

export type * from './instrument.js';
export { gatesOn, type ReportRequest, reportOn, requireMeasured, uniquelyNamed } from './judging.js';
export { type FidelityKind, instrumentsOf, type Question } from './kind.js';
export { kindNamed, registerKind } from './kinds.js';
export {
  type Choice,
  ChoiceModel,
  ChoosingAgent,
  type Demonstration,
  type Propose,
  shownChoices,
} from './learning/choosing-agent.js';
export {
  type LearningOptions,
  type LearningRow,
  type LearningSource,
  learningInstrument,
  type Ratio,
  unlearnable,
} from './learning/learning.js';
export {
  type ChunkAddress,
  type Measured,
  type MeasureOptions,
  measureSubjects,
  measureWithinBudget,
  readKept,
} from './measure.js';
export { type RankOptions, type RankSource, rankInstrument, unrankable, type World } from './rank/rank.js';
export {
  crossedBootstrap,
  type EpisodeReturn,
  type LadderReturns,
  type LadderStatistic,
  type RankRow,
} from './rank/rank-metrics.js';
export { compareSubjects } from './report/compare.js';
export * from './report/fidelity-report.js';
export {
  type BarsFigure,
  type CurvesFigure,
  type Figure,
  type FigureSeries,
  figuresOf,
  notesOf,
  tablesOf,
} from './report/figures.js';
export { type Gate, judgeGates, parseGates, requireMetric } from './report/gate.js';
export { fidelityMarkdown, type ModelCardOptions, modelCard } from './report/markdown.js';
export { FIDELITY_FILE, openFidelityReport, readFidelityReport, writeFidelityReport } from './report/report-file.js';
export {
  constructionOf,
  type Headline,
  headlineMetrics,
  headlineRows,
  headlines,
  type MetricRow,
  metricsOf,
  type SectionGroup,
  type ShownReport,
  type ShownSubject,
  sectionGroups,
  truthText,
  turnOf,
  withoutSamples,
} from './report/shown-report.js';
export { differenceText, estimateText, gateText, intervalText, valueText } from './report/wording.js';
export { unmeasured } from './section.js';
export { type FidelityInputs, type FidelityServices, type FidelitySetup, isUrl, type OpenedSubjects } from './setup.js';
export { spearman } from './statistics/agreement.js';
export { bootstrapEstimate } from './statistics/bootstrap.js';
export { auroc } from './statistics/confidence.js';
export { type Estimate, NOTHING } from './statistics/estimate.js';
export {
  type AskedOptions,
  AskedQuestions,
  askQuestion,
  patientAnswer,
  patiently,
  type StepOptions,
  type StepRow,
} from './tools/answers.js';
export { type CalibrationOptions, calibrationInstrument } from './tools/calibration.js';
export {
  type DistributionOptions,
  distributionInstrument,
  type SaidOptions,
  saidInstrument,
} from './tools/distribution.js';
export { stepErrorRule } from './tools/horizon.js';
export type { AnsweringModel, ToolsGround, ToolsJudged } from './tools/judged.js';
export { type KStepsOptions, kStepsInstrument } from './tools/k-steps.js';
export { toolsKind } from './tools/kind.js';
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
  answersOf,
  type CarriedOut,
  type CarriedStep,
  type CarryOutRequest,
  type CarrySequence,
  carriedBy,
  carryOut,
  carryOutForReal,
  type DreamtSequence,
  type DreamtStep,
  type TrueSequence,
  type TrueStep,
} from './tools/open-loop.js';
export { type ToolsJudging, type ToolsSubject, toolsSubjects } from './tools/opening.js';
export { type UnaidedOptions, unaidedResponder } from './tools/own-task.js';
export {
  CHANGE_GROUPS,
  type ChangeGroup,
  changeGroup,
  type DrawOptions,
  drawQuestions,
  isReadBackRight,
  isSameObservation,
  questionId,
  questionOf,
  type ReadBack,
  type RealCall,
  readBacksOf,
  recordingRules,
  shuffled,
  type ToolsQuestion,
  type TrueAnswer,
} from './tools/question.js';
export { type RewardEndOptions, rewardEndInstrument } from './tools/reward-end.js';
export { openServedTools, type ServedTools } from './tools/served.js';
export {
  type Forecaster,
  type Ground,
  groundOf,
  type Judged,
  type Replay,
  type VectorPlan,
  type VectorSubjectModel,
} from './vector/ground.js';
export { driftRule } from './vector/horizon.js';
export { vectorKind } from './vector/kind.js';
export { openVectorSubjects } from './vector/opening.js';
export type { VectorHost, VectorSetup } from './vector/setup.js';
export type { DriftStart, TruthEpisode, VectorTruth } from './vector/truth.js';
