// The API of plugins: what environments, domains, dynamics, learners, protocols and kinds of a user's own are made with (`reverie/extend`).

export { z } from 'zod';
export {
  boxSpace,
  ClockedEnvironment,
  type DomainEntry,
  discreteSpace,
  findGames,
  folderDomain,
  type GameEntry,
  type GameFile,
  type GamesDomainOptions,
  gamesDomain,
  gamesHash,
  readGame,
  rowSize,
} from './env/index.js';
export { definePlugin, type PluginEntries } from './run/index.js';
export {
  MemorylessDynamics,
  readManifest,
  readModelPart,
  type StoredDynamics,
  type VectorDynamics,
  writeModelFolder,
} from './worldmodel/index.js';
