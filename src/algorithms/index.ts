// The room of loops: how collecting, fitting, dreaming and learning follow on each other.

export { type Collected, Collector, type CollectorState, type EpisodeSummary } from './collector.js';
export { type DreamRollout, type DreamRolloutRequest, dreamRollout } from './dream-rollout.js';
