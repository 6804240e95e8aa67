// The aspects of fidelity by name: what scenarios ask for, what reports are ordered by, and what the page shows.

/** In the order they are read. */
export const FIDELITY_SECTIONS = [
  'one-step',
  'elements',
  'k-steps',
  'reward-end',
  'calibration',
  'rank',
  'distribution',
  'must-fail',
  'learning',
  'horizon',
] as const;
export type FidelitySectionId = (typeof FIDELITY_SECTIONS)[number];
