export { allocateBatch, concatBatches, sliceBatch } from './batch.js';
export { type LoadOptions, ReplayBuffer, type ReplayBufferOptions } from './buffer.js';
export { isSavedBuffer } from './buffer-storage.js';
export { allocateColumns, type ColumnName, type Columns, viewColumns } from './columns.js';
export { type BufferDescription, describeBuffer } from './describe.js';
export { DiskRows, type DiskRowsOptions, STORE_FILE } from './disk-rows.js';
export {
  drawGroups,
  type EpisodeBatchOptions,
  type EpisodeWindowOptions,
  type EpisodeWindows,
  episodeWindows,
  type PackedEpisodes,
  type PaddedEpisodes,
  packedEpisodes,
  paddedEpisodes,
  shuffledBatches,
} from './episode-batch.js';
export { type Episode, EpisodeStore, type EpisodeStoreOptions, TOKEN_EPISODES, TOKEN_STEPS } from './episodes.js';
export { type Embedder, HashedTrigramEmbedder } from './experience/embedder.js';
export type * from './experience/experience.js';
export { type ExperienceConfig, experienceSchema } from './experience/experience-schema.js';
export { livedSteps, statesOf } from './experience/lived-steps.js';
export { RecordProblem } from './experience/logs/logged-call.js';
export { type LoggedConversation, readConversation } from './experience/logs/logged-conversation.js';
export { ReplayedCalls, stateAfter } from './experience/logs/logged-episode.js';
export {
  type EpisodeLogs,
  episodeLogFiles,
  filesAt,
  type LogOptions,
  type LogRecord,
  readEpisodeLogs,
  recordsOf,
  type SkippedRecord,
} from './experience/logs/read-episode-logs.js';
export {
  type AddedSteps,
  type ExperienceDescription,
  type ExperienceOptions,
  ExperienceStore,
  type QuarantinedVersion,
} from './experience/store.js';

export { callText, MAX_HISTORY } from './experience/tokens.js';
export { MemoryRows } from './memory-rows.js';
export { type MixtureDraw, type MixtureOptions, MixtureSampler, type MixtureSide } from './mixture.js';
export type { Origin } from './origins.js';
export { type PrioritizedOptions, PrioritizedSelector } from './prioritized.js';
export type { RowProvenance } from './provenance.js';
export { type RecencyOptions, RecencySelector } from './recency.js';
export { type RowIndices, type RowStorage, takeRows } from './row-storage.js';
export { SavedTransitions } from './saved-transitions.js';
export {
  allocate,
  type ColumnArray,
  type ColumnSet,
  type ColumnSpec,
  checkColumns,
  type Dtype,
  type Schema,
  scalar,
  tensor,
} from './schema.js';
export type { RowStore, Selector, SelectorState } from './selector.js';
export { SNAPSHOT_FILE } from './snapshot-file.js';
export { beginSnapshot, type SnapshotDraft, sealSnapshot, writeSnapshotRows } from './snapshot-rows.js';
export * from './transition.js';
export { UniformSelector } from './uniform.js';
export {
  gatherWindows,
  type WindowBatch,
  type WindowLayout,
  type WindowOptions,
  WindowSampler,
  type WindowSamplerOptions,
  type Windows,
  windowMasks,
  windowsOf,
} from './windows.js';
