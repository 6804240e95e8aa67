// What the worth of dreamt data is measured on: the same learner, given as much data, of which a share is dreamt.

/** One learner that was trained: its share of dreamt data; null: one that was not trained at all, the floor. */
export type Ratio = number | null;

export interface LearningSource {
  /** Shares of dreamt data, each once; with 0, which all others are compared with. */
  readonly ratios: readonly number[];
  /** Learners of each share. */
  readonly seeds: number;
  /**
   * Returns of real episodes, the same ones for all learners, of the learner number `seed` trained with that share. Learners of
   * one seed begin alike. A function of its arguments alone.
   */
  learn(ratio: Ratio, seed: number, signal?: AbortSignal): Promise<readonly number[]>;
}

/** One trained learner. */
export type LearningRow = {
  readonly ratio: Ratio;
  readonly seed: number;
  readonly returns: readonly number[];
};

export interface LearningOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** What a learner is given, in the plural; default `rows`. */
  readonly unit?: 'rows' | 'episodes';
  /** What a reader must know of the learner and its rows. */
  readonly notes?: readonly string[];
}
