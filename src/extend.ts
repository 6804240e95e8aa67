// The API of plugins: what environments, domains, dynamics, backends, learners and kinds of a user's own are made with,
// and what is kept for learners to draw from (`reverie/extend`).

export { z } from 'zod';
export type { Json, JsonObject } from './core/canonical-json.js';
export { contentHash } from './core/canonical-json.js';
export { NO_COST } from './core/cost.js';
export type { ErrorEntry } from './core/error-catalogue.js';
export { describeIssues, errorsOf } from './core/errors.js';
export { ClockedEnvironment } from './env/clocked-environment.js';
export { pythonPackage } from './env/gymnasium/python-process.js';
export { textsNamed } from './env/screens/screen-actions.js';
export type { ScreenElement, ScreenState } from './env/screens/screen-state.js';
export { boxSpace, discreteSpace, rowSize } from './env/space-values.js';
export { applyOperations, recordOperations } from './env/state/operations.js';
export { compileSchema, type SchemaCheck } from './env/state/state.js';
export type {
  CallSpec,
  CheckResult,
  DomainEntry,
  EpisodeEnd,
  ToolOutcome,
  ToolRules,
  ToolSpec,
  ToolsDomain,
  ToolsTask,
  VerifierSpec,
} from './env/tools/domain.js';
export { folderDomain } from './env/tools/domains.js';
export { freezeDeep } from './env/tools/load-domain.js';
export type { Message, ToolCall } from './env/tools/message.js';
export type { Operation } from './env/tools/prediction.js';
export {
  findGames,
  type GameEntry,
  type GameFile,
  type GamesDomainOptions,
  gamesDomain,
  gamesHash,
  gamesNotFound,
  readGame,
} from './games/pddl/text-game.js';
export type { Selector } from './replay/selectors.js';
export { PrioritizedSelector, UniformSelector } from './replay/selectors.js';
export { definePlugin, type PluginEntries } from './run/define-plugin.js';
export {
  type ApplicationOptions,
  type ApplicationStart,
  type ApplicationTask,
  applicationDomain,
  type FoundApplication,
} from './screens/application-domain.js';
export { screenGraphDomain } from './screens/graph/graph-domain.js';
export type { AppJudge, AppSpec, PageContract } from './screens/page/page-browser.js';
export { clickOn, elementsBelow, fillIn, findElement, selectIn } from './screens/screen-actions.js';
export {
  appNotFound,
  pagesNotFound,
  pageUnknown,
  type ScreensDomainOptions,
  screensDomain,
} from './screens/screens-domain.js';
export { drawBySeed, pickBySeed, type ScreenPage, type SeededPage, seededPages } from './screens/seeded-pages.js';
export type { StoredDynamics, VectorDynamics } from './worldmodel/dynamics.js';
export { MemorylessDynamics } from './worldmodel/memoryless.js';
export { readManifest, readModelPart, writeModelFolder } from './worldmodel/model-folder.js';
export type { BackendEntry, BackendModel } from './worldmodel/tools/backend-model.js';
