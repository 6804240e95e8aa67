// The learners' settings: zod schemas whose defaults are the measured ones. Unknown keys are refused.

import { z } from 'zod';

const layerSizes = z.array(z.int().min(1).max(4096)).min(1).max(8);
const activation = z.enum(['relu', 'tanh', 'swish']);
const fraction = z.number().min(0).max(1);
const rate = z.number().positive();

/**
 * Soft actor-critic (1812.05905): twin critics, squashed Gaussian, tuned temperature.
 * The defaults are those that learn a cart-pole swing-up in the fewest real steps and least time at two updates a step;
 * bodies with more joints want wider layers and `batchSize` 256.
 */
export const sacConfigSchema = z.strictObject({
  hidden: layerSizes.default([64, 64]),
  activation: activation.default('relu'),
  actorLr: rate.default(1e-3),
  criticLr: rate.default(1e-3),
  alphaLr: rate.default(1e-3),
  gamma: fraction.default(0.99),
  /** Share of the critics that flows into their targets at every step. */
  tau: fraction.default(0.01),
  batchSize: z.int().min(1).default(64),
  /** Entropy (nats, of the action normalised to [-1, 1]) the temperature steers to; `auto` = -actionDim. */
  targetEntropy: z.union([z.literal('auto'), z.number()]).default('auto'),
  initAlpha: rate.default(0.2),
  rewardScale: rate.default(1),
  /** Layer normalisation before each critic activation (DroQ, 2110.02034): steady at many updates a step, a third slower. */
  criticLayerNorm: z.boolean().default(true),
});
export type SacConfig = z.infer<typeof sacConfigSchema>;

/** Proximal policy optimisation (1707.06347), with the details of CleanRL's `ppo.py`. */
export const ppoConfigSchema = z.strictObject({
  hidden: layerSizes.default([64, 64]),
  activation: activation.default('tanh'),
  lr: rate.default(3e-4),
  gamma: fraction.default(0.99),
  gaeLambda: fraction.default(0.95),
  epochs: z.int().min(1).default(10),
  batchSize: z.int().min(2).default(64),
  clipRatio: z.number().positive().default(0.2),
  /** Clip the value's move too, by `clipRatio`. */
  clipValue: z.boolean().default(true),
  normaliseAdvantage: z.boolean().default(true),
  entropyCoefficient: z.number().min(0).default(0),
  valueCoefficient: z.number().min(0).default(0.5),
  maxGradNorm: rate.default(0.5),
  /** Stop the epochs of an update once the mean approximate KL of one passes this; null = never. */
  targetKl: z.number().positive().nullable().default(0.02),
  /** Log standard deviation of a Gaussian policy at the start, in units of the action normalised to [-1, 1]. */
  initLogStd: z.number().min(-5).max(1).default(-0.5),
});
export type PpoConfig = z.infer<typeof ppoConfigSchema>;

/** Behaviour cloning: a Box action by squared error or Gaussian likelihood, a discrete one always by cross-entropy. */
export const bcConfigSchema = z.strictObject({
  hidden: layerSizes.default([64, 64]),
  activation: activation.default('relu'),
  lr: rate.default(1e-3),
  weightDecay: z.number().min(0).default(0),
  batchSize: z.int().min(1).default(64),
  loss: z.enum(['mse', 'nll']).default('mse'),
  initLogStd: z.number().min(-5).max(1).default(-1),
});
export type BcConfig = z.infer<typeof bcConfigSchema>;
