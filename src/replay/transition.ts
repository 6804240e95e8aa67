// What one step is, and a batch of them as a structure of arrays. Nothing is stored without its provenance.

/** Where a transition was collected. */
export type Source = 'real' | 'synthetic';

/**
 * Provenance of a batch: one value shared by all rows, or a column of `rows` values.
 * Text is shared per batch or given as a column; storage keeps it in a dictionary.
 */
export interface Provenance {
  readonly source: Source;
  /** Who answered: `real`, `ensemble`, `onnx`, `rules`, `replay`, `llm`, ... */
  readonly backend: string;
  /** Exact version of the model that simulated it; empty for real. */
  readonly modelVersion: string;
  readonly scenario: string;
  readonly task?: string;
  readonly policyVersion: string;
  /** Seed of the stream that made the batch. */
  readonly seed: number;
  /** Per row: episode number, unique within a run. */
  readonly episode: Float64Array;
  /** Per row: step within the episode (for a branched rollout: within the branch). */
  readonly step: Uint32Array;
  /** Per row: group of episodes branched from one state; -1 for none. */
  readonly group?: Float64Array;
  /** Per row: row id (in the real buffer) of the transition a branch started from; -1 for none. */
  readonly parent?: Float64Array;
  /** Per row: log-probability of the action; NaN where unknown. */
  readonly logProb?: Float32Array;
  /** Per row: model's confidence in (0, 1]; 1 for real, NaN where unknown. */
  readonly confidence?: Float32Array;
  /** Per row: 64-bit hash of the canonical state, where the environment has one. */
  readonly stateHash?: BigUint64Array;
}

/** `rows` transitions; arrays are row-major, [rows, dim]. */
export interface TransitionBatch {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
  /** 1 = ended by the task: stops bootstrapping. */
  readonly terminated: Uint8Array;
  /** 1 = ended by the clock or by disagreement: does not. */
  readonly truncated: Uint8Array;
  readonly nextObs: Float32Array;
}
