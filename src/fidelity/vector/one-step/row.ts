// What is kept of one transition.

/** What the model says of one transition. */
export type OneStepRow = {
  /** Next observation. */
  readonly next: readonly number[];
  readonly reward: number;
  readonly terminated: number;
  /** Of the whole vector, a share for each element, in standard deviations of its change; null without spread. */
  readonly nll: number | null;
  /** Mean over elements, in the same units. */
  readonly crps: number | null;
};
