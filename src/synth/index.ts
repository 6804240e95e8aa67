// The room that dreams: rollouts of a policy inside a world model, in worker threads, durable, and their export.

export { branchedRollouts } from './rollout/branched.js';
export { dreamEpisodes, type EpisodeOptions, type EpisodeRequest, episodeRollouts } from './rollout/episodes.js';
export { type ChunkRange, RolloutPool, type RolloutPoolOptions } from './rollout/pool.js';
export type {
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
} from './rollout/request.js';
export { type HorizonSchedule, horizonSchedule } from './rollout/schedule.js';
export { type SynthesisControls, type SynthesisRequest, synthesize, synthesizedChunks } from './synthesize.js';
