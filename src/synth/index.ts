// The room that dreams: rollouts of a policy inside a world model, in worker threads, durable, and their export.

export {
  type ActionForms,
  CallForms,
  type Choice,
  type ChosenAction,
  choiceText,
  chosenOf,
  type OfferedActions,
} from './choices/call-forms.js';
export { ChoicesEnvironment } from './choices/choices-environment.js';
export { shapeOf, spansOf, templateOf, wordsIn } from './choices/named-values.js';
export { WrittenActions } from './choices/written-actions.js';
export { type Draft, type DraftRequest, type DraftStep, draftDomain } from './drafting/draft-domain.js';
export type { DraftTrial } from './drafting/try-draft.js';
export { type EarlyExperienceRequest, earlyExperience } from './early-experience/early-experience.js';
export { RecordedUser } from './early-experience/recorded-user.js';
export type { EarlyExperienceRow, ReflectionRow, SkippedRow, WorldModelRow } from './early-experience/rows.js';
export { ExplorerAgent, type ExplorerOptions } from './episodes/agents/explorer-agent.js';
export { LlmAgent, type LlmAgentOptions } from './episodes/agents/llm-agent.js';
export { RandomAgent, sampleArguments, seenWords } from './episodes/agents/random-agent.js';
export { ReferenceAgent } from './episodes/agents/reference-agent.js';
export { ScriptedAgent, type ScriptedAgentOptions } from './episodes/agents/scripted-agent.js';
export {
  type EndedEpisode,
  type EpisodeSettings,
  episodeRecord,
  type Lived,
  settleVerdict,
} from './episodes/episode-record.js';
export { type Asker, assumedEstimate, type Estimate, measuredEstimate, type Range } from './episodes/estimate.js';
export { type KeepPicture, PICTURES_FOLDER, pictureKeeper } from './episodes/kept-pictures.js';
export { liveEpisode } from './episodes/live-episode.js';
export {
  type FailedRow,
  isFailed,
  packRow,
  produceRows,
  RowJournal,
  type RowsOutcome,
  type RowsRequest,
  unpackRow,
} from './episodes/produce-rows.js';

export { agentOfRecipe, type RecipeConfig, recipeSchema } from './episodes/recipes/recipes.js';
export { episodeId, type PlanSettings, planRow, type RowPlan } from './episodes/row-plan.js';
export type { CardOptions } from './export/episodes/card.js';
export {
  type EpisodeExport,
  type EpisodeExportOptions,
  episodeExports,
  episodeFormatSchema,
  exportEpisodes,
  type WrittenEpisodes,
} from './export/episodes/export-episodes.js';
export { openAiMessage } from './export/episodes/messages.js';
export { exportMinari, type MinariExport, type MinariOptions } from './export/minari.js';
export type { ExportOptions } from './export/slice-task.js';
export type { TransitionSource } from './export/table.js';
export {
  type TransitionExport,
  type TransitionExportRequest,
  transitionExports,
  transitionFormatSchema,
  type WriteTransitions,
} from './export/transition-exports.js';
export { exportJsonl, exportParquet, TRANSITION_COLUMNS } from './export/transitions.js';
export type * from './fits/backend-fit.js';
export { type FittedBackendEntry, fittedBackends, fitterOf } from './fits/fitted-backends.js';
export { GOAL_KINDS, GuidedAgent, type GuidedAgentOptions, goalKindOf } from './guided/guided-agent.js';
export { UNVERIFIED_WEIGHT, type WrapRequest, wrapWalk } from './guided/wrap-walk.js';
export { type FindTricksRequest, findTricks, type Trick, type TricksReport } from './hacker/find-tricks.js';
export { type HackerConfig, hackerSchema } from './hacker/hacker-schema.js';
export { type Induction, induce } from './induction/induce.js';
export { type ProposedTask, proposeTasks } from './induction/proposed-tasks.js';
export { induceOperators } from './operators/induce-operators.js';
export { recordedTries } from './operators/recorded-tries.js';
export type { Transition } from './operators/tries.js';
export type { DiversityReport } from './quality/diversity.js';
export type { ExactJudgement, Fault, Filter, Forejudged, Judgement, QualityContext } from './quality/filter.js';
export { Forejudge } from './quality/forejudged.js';
export { judgeExactly, type PolicyRule, policyFilter } from './quality/policy.js';
export { type QualityConfig, qualitySchema } from './quality/quality-config.js';
export { filterEpisodes, makeFilters, type QualityInput, QualityPipeline } from './quality/quality-pipeline.js';
export {
  type DatasetReport,
  type FilterReport,
  type RemovedExample,
  type RemovedKind,
  stagesOf,
} from './quality/report.js';
export { type Split, type SplitShares, splitOf } from './quality/splits.js';
export { gramHashes, wordsOf } from './quality/text-hash.js';
export { openQueue } from './queue/open-queue.js';
export { openParcel, packParcel } from './queue/parcel.js';
export { parseQueueUrl, QUEUE_URL_FORMS } from './queue/queue-url.js';
export { type RolloutIdentity, rolloutId } from './queue/rollout-id.js';
export {
  DEFAULT_LEASE_MS,
  type Lease,
  type LivedRollout,
  MAX_LOST_LEASES,
  type Outcome,
  type QueueOptions,
  type QueueStats,
  type Refusal,
  type RolloutItem,
  type RolloutQueue,
  type RolloutState,
  type WorkerPresence,
} from './queue/rollout-queue.js';
export {
  branchedRollouts,
  dreamEpisodes,
  type EpisodeOptions,
  type EpisodeRequest,
  episodeRollouts,
} from './rollout/branched.js';
export { type HorizonSchedule, horizonSchedule } from './rollout/plan.js';
export { type ChunkRange, RolloutPool, type RolloutPoolOptions } from './rollout/pool.js';
export { cutAtRange, observedRange } from './rollout/range.js';
export type {
  Drawn,
  FrozenRolloutRequest,
  LiveRolloutRequest,
  OnDoubt,
  RolloutChunk,
  RolloutControls,
  RolloutCounts,
  RolloutProgress,
  RolloutRequest,
  RolloutResult,
  RolloutSettings,
  StartSource,
} from './rollout/request.js';
export { drawnStarts, drawStarts, startAt } from './rollout/starts.js';
export { type JournalledRollouts, type SaveRolloutsOptions, saveRollouts } from './saved-rollouts.js';
export {
  type Deficit,
  DeficitLedger,
  type DeficitName,
  deficitOf,
  deficitParts,
  deficitText,
} from './signals/deficits.js';
export { lostStep } from './signals/lost-step.js';
export { SignalFinder } from './signals/signals.js';
export {
  type DrawnSynthesisRequest,
  type SynthesisControls,
  type SynthesisRequest,
  synthesize,
  synthesizedChunks,
  synthesizeToJournal,
} from './synthesize.js';
export { type Admission, type AdmissionOptions, Admissions, admitTask } from './tasks/admission.js';
export { type AimedTask, aimedTasks } from './tasks/aimed-tasks.js';
export { Curriculum, type CurriculumOptions, type CurriculumTask, type Pick } from './tasks/curriculum.js';
export {
  alphaReward,
  type CurriculumScore,
  clamp,
  lossBand,
  noiseSchedule,
  novelty,
  outcomeVariance,
  product,
  type TaskStats,
  weighted,
} from './tasks/curriculum-scores.js';
export { type MadeTask, type MakeTasksRequest, makeTasks } from './tasks/make-tasks.js';
export type { RowOutcome } from './tasks/outcome-ledger.js';
export type { Rejection, RejectionCode, RejectionCounts, Strategy, TaskProposal } from './tasks/proposal.js';
export { prefilterEpisodes, type SeedFilterOptions, type SeedFilterResult } from './tasks/seed-filter.js';
export type { SeedFault, SeedReason } from './tasks/seed-rules.js';
export {
  type AdmissionConfig,
  admissionSchema,
  type CurriculumConfig,
  curriculumSchema,
  makeCurriculum,
  type SeedFilterConfig,
  type TasksConfig,
  tasksSchema,
} from './tasks/tasks-schema.js';
export { type VariationRequest, varyTask } from './tasks/vary-task.js';
