// The public API of worlds made of messages and tool calls (`reverie/tools`): what a program needs to simulate one of its
// own with a language model, live in it, and write datasets. The command line is made of the same parts.

export type { ToolsDomain, ToolsTask, Verdict } from './env/tools/domain.js';
export { makeDomain } from './env/tools/domains.js';
export type { Message } from './env/tools/message.js';
export type { Prediction } from './env/tools/prediction.js';
export { rulesResponder } from './env/tools/rules-responder.js';
export { ScriptedUser } from './env/tools/scripted-user.js';
export { textEnvironment } from './env/tools/text-environment.js';
export { ToolsEpisodeEnvironment } from './env/tools/tools-environment.js';
export type { Responder, ToolsPolicy, UserSimulator } from './env/tools/tools-family.js';
export { verifyEpisode } from './env/tools/verify-episode.js';
export { GamePlay, type GameSource, TextGame } from './games/pddl/text-game.js';
export { Budget } from './llm/budget.js';
export type { LanguageModel } from './llm/language-model.js';
export { makeLanguageModel } from './llm/served-model.js';
export type { EpisodeRecord } from './replay/experience/experience.js';
export { readEpisodeLogs } from './replay/experience/logs/read-episode-logs.js';
export { ExperienceStore } from './replay/experience/store.js';
export { loadToolsScenario } from './run/scenario.js';
export { earlyExperience } from './synth/early-experience/early-experience.js';
export { ReferenceAgent } from './synth/episodes/agents/baseline-agents.js';
export { LlmAgent } from './synth/episodes/agents/llm-agent.js';
export { planRow, runEpisode } from './synth/episodes/run-episode.js';
export { exportEpisodes } from './synth/export/episodes/export-episodes.js';
export { filterEpisodes, QualityPipeline } from './synth/quality/quality-pipeline.js';
export { Curriculum } from './synth/tasks/curriculum.js';
export { makeTasks } from './synth/tasks/make-tasks.js';
export { amplifyTrajectory } from './worldmodel/llm/amplify.js';
export { LlmUser } from './worldmodel/llm/llm-user.js';
export { runMustFail } from './worldmodel/must-fail/run-must-fail.js';
export { Judge } from './worldmodel/reward/judge.js';
export { auditJudge } from './worldmodel/reward/judge-audit.js';
export { makeRouter } from './worldmodel/tools/router.js';
export { parseToolsModelConfig } from './worldmodel/tools/tools-model-schema.js';
