// Learners (SAC, REDQ, DroQ, TD3+BC, PPO, PETS, behaviour cloning), the policies they make, and how good those are.

export { Bc, type BcMetrics, type Demonstrations, makeBc } from './bc/bc.js';
export {
  type CheckpointManifest,
  checkpointManifestSchema,
  type LearnedFrom,
  type LoadedLearner,
  learnedFromSchema,
  loadLearner,
  readManifest,
  saveLearner,
} from './checkpoint.js';
export {
  type BcConfig,
  bcConfigSchema,
  type DroqConfig,
  droqConfigSchema,
  type PetsConfig,
  type PpoConfig,
  petsConfigSchema,
  ppoConfigSchema,
  type RedqConfig,
  redqConfigSchema,
  type SacConfig,
  sacConfigSchema,
  type Td3BcConfig,
  td3BcConfigSchema,
} from './config.js';
export { makeDroq } from './droq/droq.js';
export {
  type EvaluateOptions,
  type Evaluation,
  evaluatePolicy,
  type ReturnSummary,
  summariseReturns,
} from './evaluate.js';
export { exportPolicy } from './export-policy.js';
export type {
  Estimator,
  GroupEpisode,
  GroupOptions,
} from './group/advantages.js';
export { echoTrap, type WatchedRound } from './group/echo-trap.js';
export { type EstimatorEntry, groupEstimators } from './group/estimators.js';
export { type GroupLessons, groupLessons, type LivedEpisode, spreadOf } from './group/group-lessons.js';
export type {
  Learner,
  LearnerKind,
  LearnerState,
  PlanningLearner,
  ReplayLearner,
  RolloutLearner,
} from './learner.js';
export { type LearnerEntry, learners, type MakeLearner, makeLearner } from './learners.js';
export { loadPolicy } from './load-policy.js';
export { makePets, Pets } from './pets/pets.js';
export { CEM_DEFAULTS, type CemOptions, CemPlanner } from './planners/cem.js';
export { ICEM_DEFAULTS, type IcemOptions, IcemPlanner } from './planners/icem.js';
export { type Choices, discreteChoices, MCTS_DEFAULTS, type MctsOptions, MctsPlanner } from './planners/mcts.js';
export { MPPI_DEFAULTS, type MppiOptions, MppiPlanner } from './planners/mppi.js';
export { PLANNED, type PlannerMethod, PlannerPolicy } from './planners/planner-policy.js';
export { type Plan, SHOOTING_DEFAULTS, type ShootingOptions } from './planners/shooting.js';
export { StateCounts } from './planners/state-counts.js';
export { type GaeInput, type GaeOutput, generalisedAdvantage, makePpo, Ppo, type PpoMetrics } from './ppo/ppo.js';
export { RandomPolicy } from './random-policy.js';
export { makeRedq, Redq, type RedqMetrics } from './redq/redq.js';
export { type Rollout, RolloutCollector } from './rollout.js';
export { makeSac, Sac, type SacMetrics } from './sac/sac.js';
export { type Script, ScriptedPolicy, type ScriptSource } from './scripted-policy.js';
export type { Spaces } from './spaces.js';
export {
  DIFFUSION_DEFAULTS,
  type DiffusionOptions,
  DRAW_DEFAULTS,
  type DrawOptions,
  fitDiffusion,
  RowDiffusion,
  type WatchDraw,
} from './synther/row-diffusion.js';
export { makeTd3Bc, Td3Bc, type Td3BcMetrics } from './td3-bc/td3-bc.js';
export { LearningThread } from './text/learning-thread.js';
export { type MakeTextLearner, type MakeTextValues, type TextNetworkEntry, textNetworks } from './text/networks.js';
export type {
  TextChoice,
  TextDecision,
  TextLearner,
  TextLearnerState,
  TextLesson,
  TextObjective,
  TextPolicy,
  TextSituation,
  TextTurn,
  TextUpdateMetrics,
  TextUpdateOptions,
} from './text/text-policy.js';
export type { TextValueModel, ValueLesson } from './text/value-model.js';
export { isNumbered, kindOf, tokensOf } from './text/words.js';
