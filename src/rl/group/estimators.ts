// The learners of text that a scenario can name: they differ in how advantages are made, and share everything else.

import { type Named, Registry } from '../../core/registry.js';
import { type Estimator, gigpo, grpo, ppo, rloo } from './advantages.js';

export interface EstimatorEntry extends Named {
  readonly estimate: Estimator;
  /** It compares with what a critic expects, which the network then has; its advantages are standardised over a round. */
  readonly hasCritic?: boolean;
}

export const groupEstimators = new Registry<EstimatorEntry>('group learner', [
  { name: 'grpo', summary: 'Returns relative to the group (2402.03300).', estimate: grpo },
  {
    name: 'gigpo',
    summary: 'As grpo, and steps relative to others that were chosen in the same state (2505.10978).',
    estimate: gigpo,
  },
  { name: 'rloo', summary: 'Returns less the mean of the others (2402.14740).', estimate: rloo },
  {
    name: 'ppo',
    summary: 'Generalised advantages of the values of a critic (1707.06347).',
    estimate: ppo,
    hasCritic: true,
  },
]);
