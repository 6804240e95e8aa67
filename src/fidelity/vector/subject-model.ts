// A model under judgement, as the instruments for vectors see it: something that says what follows, how sure it is, and
// an environment to live in. A served environment has only the last.

import type { VectorEnvironment } from '../../env/index.js';
import type { VectorWorldModel } from '../../worldmodel/index.js';

export interface VectorSubjectModel {
  readonly name: string;
  /** `ensemble`, `onnx`, `exact`, `served`. */
  readonly kind: string;
  readonly version: string;
  /** Absent where one can only live in it from its own reset on. */
  readonly model?: VectorWorldModel;
  /** How sure the model is of what it says; absent where it says one thing only. */
  readonly forecast?: Forecaster;
  /** What a reader should know of how this model was judged. */
  readonly notes?: readonly string[];
  /**
   * An environment whose episode of `reset({ seed })` starts where the real environment's episode of that seed starts. The
   * caller closes it.
   */
  dream(seed: number): Promise<VectorEnvironment>;
}

/** What is foreseen of each row as an equal mixture of Gaussians, element by element; raw units. */
export interface Forecast {
  /** Gaussians of the mixture. */
  readonly components: number;
  /** [components, rows, obsDim] of the next observation. */
  readonly mean: Float32Array;
  /** [components, rows, obsDim] */
  readonly std: Float32Array;
}

/** obs [rows, obsDim] and action [rows, actionDim] to what is foreseen. Says the same when asked twice. */
export type Forecaster = (obs: Float32Array, action: Float32Array, rows: number) => Promise<Forecast>;
