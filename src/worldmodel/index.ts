// The room of world models: what would happen next, and environments made of it.

export {
  BatchedDream,
  type BatchedDreamOptions,
  type BatchedDreamSnapshot,
  type BatchedStep,
} from './batched-dream.js';
export { Dream, type DreamOptions } from './dream.js';
export type * from './dynamics.js';
export type {
  DeviceSupport,
  DynamicsEntry,
  DynamicsKind,
  FitNote,
  FitRequest,
  Fitted,
  HeldOutFigures,
  HeldOutReport,
  ModelSection,
} from './dynamics-kind.js';
export {
  type EnsembleConfig,
  type EnsembleConfigInput,
  ensembleConfigSchema,
  parseEnsembleConfig,
} from './ensemble/config.js';
export type { EnsembleDescription, FitReport } from './ensemble/contents.js';
export { ensembleDeviceFit } from './ensemble/device-fit.js';
export { EnsembleModel } from './ensemble/ensemble-model.js';
export { type FitOptions, fitEnsemble } from './ensemble/fit.js';
export type { MemberAnswer } from './ensemble/member-sessions.js';
export type { MemberReport } from './ensemble/member-training.js';
export type { FitProgress } from './ensemble/training-pool.js';
export { TabularModel } from './exact/tabular-model.js';
export { isName, nextId, parseExpression, type Scope } from './induced/expression.js';
export { InducedBook, type InducedOutcome } from './induced/induced-outcome.js';
export { dynamicsKinds, folderDeviceFit, loadWorldModel, modelSectionSchema, sectionDeviceFit } from './kinds.js';
export { type AmplifiedTrajectory, type AmplifyRequest, amplifyTrajectory } from './llm/amplify.js';
export { LlmUser, type LlmUserOptions } from './llm/llm-user.js';
export { MemorylessDynamics, type ObservationCarry, type StepQuestion, type VectorPrediction } from './memoryless.js';
export { readManifest, readModelPart, writeModelFolder } from './model-folder.js';
export type { Spaces } from './model-spaces.js';
export { type ModelTrial, tryModel } from './model-trial.js';
export { isTrueChange } from './must-fail/answer-truth.js';
export {
  FLATTERY,
  type GeneratedProbes,
  type GenerateOptions,
  generateProbes,
} from './must-fail/generated-probes.js';
export { generateSuccesses, type SuccessOptions } from './must-fail/generated-successes.js';
export { mustSucceed, type Probe, type ProbeKind, probeSchema, readProbes } from './must-fail/probe.js';
export {
  faultsText,
  type MustFailReport,
  type MustFailRequest,
  type ProbeFailure,
  type ProbeFault,
  readMustFail,
  requireMustFail,
  requireMustSucceed,
  runMustFail,
  writeMustFail,
} from './must-fail/run-must-fail.js';
export { OnnxDynamics } from './onnx/onnx-dynamics.js';
export { type OnnxManifest, onnxManifestSchema } from './onnx/onnx-manifest.js';
export { type Parameter, splitByNames, type TakenAction, takenAction } from './operators/actions.js';
export {
  type Binding,
  isVariable,
  type Literal,
  objectsOf,
  readLiteral,
  truthOf,
  writeLiteral,
} from './operators/literal.js';
export {
  bindingOf,
  fitting,
  lazyBindingOf,
  type Operator,
  type OperatorEffect,
  type OperatorsFile,
  operatorsFileSchema,
  type Precondition,
  type Variable,
  variablesIn,
  type Wording,
} from './operators/operator.js';
export { type NothingKnown, OperatorBook, type OperatorOutcome } from './operators/operator-book.js';
export { factKey, Situation } from './operators/situation.js';
export { isSo, listed, saidOf } from './operators/wording.js';
export { readAudit, requireAudited, writeAudit } from './reward/audit-file.js';
export { Judge, type Judgement, type JudgeQuestion } from './reward/judge.js';
export {
  type AuditOptions,
  type AuditReport,
  auditJudge,
  type LabelledEpisode,
  type Rate,
  readLabelledEpisodes,
} from './reward/judge-audit.js';
export { type JudgedVerdict, type JudgeEpisodeOptions, judgeEpisode } from './reward/judge-episode.js';
export {
  type AuditLimits,
  type JudgeConfig,
  type JudgeConfigInput,
  judgeSchema,
} from './reward/judge-schema.js';
export { isWithin, type ObservedRange, type SeenRange, seenRange, widenedRange } from './seen-range.js';
export { batchOfStarts, beginFrom, type History, pickHistory, type Start, type StartStates } from './starts.js';

export { type CheckedProposal, checkProposal, type ProposalLimits, type ProposalQuery } from './state.js';
export { backendSettings } from './tools/assemble-router.js';
export type * from './tools/backend-model.js';
export { routerBackends } from './tools/backends.js';
export { type IdPattern, idPatternOf } from './tools/id-pattern.js';
export {
  backendFiles,
  hasNetwork,
  makeRouter,
  type RouterParts,
  routerDeviceFit,
} from './tools/make-router.js';
export { comparableObservation } from './tools/observation-text.js';
export { type ProvenanceQuery, unknownIds } from './tools/provenance.js';
export { difference, NO_ROW, type ShadowOptions, ShadowResponder, shadowResponder } from './tools/shadow.js';
export {
  addRowCounts,
  type ErrorEstimates,
  estimatesOf,
  type ShadowCounts,
  ShadowEstimates,
  type ShadowRow,
  type ShareEstimate,
  trustHorizon,
  wilson,
} from './tools/shadow-estimates.js';
export {
  parseToolsModelConfig,
  type ToolsModelConfig,
  type ToolsModelConfigInput,
  toolsModelSchema,
} from './tools/tools-model-schema.js';
export { episodeWeight } from './tools/uncertainty.js';
