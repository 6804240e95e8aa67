// The public API of worlds made of messages and tool calls (`reverie/tools`): what a program needs to simulate one of its
// own with a language model, live in it, and write datasets. The command line is made of the same parts.

export {
  GamePlay,
  type GameSource,
  type Message,
  makeDomain,
  type Prediction,
  type RemoteToolsEnvironment,
  type Responder,
  remoteEnvironment,
  rulesResponder,
  ScriptedUser,
  TextGame,
  type ToolsDomain,
  ToolsEpisodeEnvironment,
  type ToolsPolicy,
  type ToolsTask,
  textEnvironment,
  type UserSimulator,
  type Verdict,
  verifyEpisode,
} from './env/index.js';
export { Budget, type LanguageModel, makeLanguageModel, readBatchResults, writeBatchFiles } from './llm/index.js';
export { type EpisodeRecord, ExperienceStore, readEpisodeLogs } from './replay/index.js';
export { loadToolsScenario } from './run/index.js';
export {
  earlyExperience,
  exportEpisodes,
  filterEpisodes,
  LlmAgent,
  liveEpisode,
  makeCurriculum,
  makeTasks,
  planRow,
  QualityPipeline,
  ReferenceAgent,
} from './synth/index.js';
export {
  amplifyTrajectory,
  auditJudge,
  Judge,
  LlmUser,
  makeRouter,
  parseToolsModelConfig,
  runMustFail,
  shadowResponder,
} from './worldmodel/index.js';
