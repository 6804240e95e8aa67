// What is kept of how sure a model was of one transition.

export type CalibrationRow = {
  /** Of each element: predicted chance of less than what really followed. */
  readonly pit: readonly number[];
  /** Of each element: error over the standard deviation that the model stated. */
  readonly z: readonly number[];
  /**
   * How far the elites disagree, or, of a model with one opinion, how much noise it states: root mean square over elements in
   * standard deviations of their change.
   */
  readonly doubt: number;
  /** 1 where the predicted mean is within tolerance of what really followed. */
  readonly isRight: number;
};
