// What is kept of rewards and ends.

export type RewardEndRow =
  /** What was dreamt to follow one transition. */
  | { readonly kind: 'step'; readonly reward: number; readonly terminated: number }
  /** What a dream under recorded actions came to, up to its own end. */
  | { readonly kind: 'sequence'; readonly return: number; readonly steps: number };
