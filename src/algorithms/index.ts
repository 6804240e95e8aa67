// The loops of the house, each a file that is read top to bottom: collect, fit, dream, learn, evaluate, keep. They hold no
// maths and no files: parts come from below (rl, synth, worldmodel, replay), and a run keeps what they do.

export { type Collected, Collector, type CollectorState, type EpisodeSummary } from './collector.js';
export { type DreamPlan, type HeldOutSkill, horizonAt, type ModelEvidence, planDream, skillOf } from './dream-plan.js';
export { type DreamRollout, type DreamRolloutRequest, dreamRollout } from './dream-rollout.js';
export { DreamWorld, type WorldState } from './dream-world.js';
export { type ExplorationSettings, Explorer } from './exploration.js';
export { type GenerationSummary, GenerativeReplay, type GenerativeState } from './generative-replay.js';
export { type Recorder, type Recording, type RecordingPorts, record, recorderOf, type Stretch } from './recording.js';
export { settleRounds } from './round-settings.js';
export { TextPolicyAgent } from './text-agent.js';
export type { LivedText } from './text-deficits.js';
export { isWon } from './text-evaluation.js';
export { solutions, type TextExpert, walkthroughs } from './text-experts.js';
export { textGroups } from './text-groups.js';
export { olderNeeded } from './text-lag.js';
export { type PlayedText, type PlayOptions, playTexts, type TextStart, type TextStep } from './text-play.js';
export { grownDeficits } from './text-tasks.js';
export {
  type DreamCheck,
  evenly,
  type Gathered,
  newProgress,
  type RunDrift,
  roundsOf,
  type TextDream,
  type TextEvaluation,
  type TextGroupParts,
  type TextGroupPorts,
  type TextGroupSettings,
  type TextMode,
  type TextProgress,
  type TextTraining,
  type TextValues,
  type ValueFit,
  type VersionDrift,
} from './text-training.js';
export {
  fitValues,
  isKnown,
  recordedValues,
  returnsOf,
  type ValuedEpisode,
  type ValuedStep,
  type ValueFitSettings,
} from './text-values.js';
export type { WonText, WonTexts } from './text-won.js';
export { train } from './train.js';
export {
  type Counters,
  type TrainableLearner,
  type TrainEvaluation,
  Training,
  type TrainingParts,
} from './training.js';
export type * from './training-settings.js';
export {
  type ArmSummary,
  type ArmsRequest,
  type BreakEven,
  compareWarmStart,
  DREAM_ARM,
  judgePolicy,
  MANY_UPDATES_ARM,
  medianSteps,
  SCRATCH_ARM,
  type TrainedArm,
  trainEveryArm,
  type WarmStart,
} from './warm-start.js';
