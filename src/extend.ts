// The API of plugins: what environments, domains, dynamics, backends, learners, protocols and kinds of a user's own are made with (`reverie/extend`).

export { z } from 'zod';
export { NO_COST } from './core/cost.js';
export type { ErrorEntry } from './core/error-catalogue/index.js';
export { describeIssues, errorsOf } from './core/errors.js';
export { contentHash } from './core/hash.js';
export type { Json, JsonObject } from './core/json.js';
export {
  applyOperations,
  boxSpace,
  type CallSpec,
  type CheckResult,
  ClockedEnvironment,
  compileSchema,
  type DomainEntry,
  discreteSpace,
  type EpisodeEnd,
  findGames,
  folderDomain,
  freezeDeep,
  type GameEntry,
  type GameFile,
  type GamesDomainOptions,
  gamesDomain,
  gamesHash,
  gamesNotFound,
  type Message,
  type Operation,
  readGame,
  recordOperations,
  rowSize,
  type SchemaCheck,
  type ToolCall,
  type ToolOutcome,
  type ToolRules,
  type ToolSpec,
  type ToolsDomain,
  type ToolsTask,
  type VerifierSpec,
} from './env/index.js';
export { definePlugin, type PluginEntries } from './run/index.js';
export {
  type BackendEntry,
  type BackendModel,
  MemorylessDynamics,
  readManifest,
  readModelPart,
  type StoredDynamics,
  type VectorDynamics,
  writeModelFolder,
} from './worldmodel/index.js';
