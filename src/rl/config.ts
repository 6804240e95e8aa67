// The learners' settings: zod schemas whose defaults are the measured ones. Unknown keys are refused.

import { z } from 'zod';

const layerSizes = z.array(z.int().min(1).max(4096)).min(1).max(8);
const activation = z.enum(['relu', 'tanh', 'swish']);
const fraction = z.number().min(0).max(1);
const rate = z.number().positive();
const rows = z.int().min(1).max(65536);

const HIDDEN = 'Layer widths of every network.';
const ACTIVATION = 'What follows each hidden layer.';

/** Settings with nothing left to the body (auto-settings.ts). */
export type Decided<Config> = {
  readonly [Key in keyof Config]: Exclude<Config[Key], 'auto' | Readonly<Record<string, number>>>;
};

const orAuto = <S extends z.ZodType>(value: S) => z.union([value, z.literal('auto')]).default('auto');

const gamma = orAuto(fraction).describe(
  'Discount of a reward one step later; `auto`: 1 - seconds of a step ÷ 2.7, .99 to .997; .99 where not known.',
);

const tau = (share: number) =>
  fraction.default(share).describe('Share of the critics that flows into their targets at every step.');

const INIT_ALPHA = 'Temperature at the start: how much entropy counts against reward.';
const PRESET = 'Published settings, of `rl` and `train`, below those given beside them (files in scenarios/presets).';

/** What all soft actor-critics are told. */
const SOFT_KEYS = {
  preset: z.enum(['sac', 'redq', 'droq', 'mbpo']).optional().describe(PRESET),
  hidden: orAuto(layerSizes).describe('Layers; `auto`: [64, 64] for a critic of up to 24 inputs, else [256, 256].'),
  activation: activation.default('relu').describe(ACTIVATION),
  lr: orAuto(rate).describe('Step size of Adam, for all that is learned; `auto`: 0.001 up to 24 inputs, else 0.0003.'),
  gamma,
  batchSize: orAuto(rows).describe('Rows of a gradient step; `auto`: 64 for up to 24 inputs, else 256.'),
  targetEntropy: z
    .union([z.literal('auto'), z.number(), z.record(z.string(), z.number())])
    .default('auto')
    .describe(
      'Entropy the temperature steers to, nats of the action normalised to [-1, 1]: a number, or numbers by `env.id` (minus the elements of an action for others); `auto`: minus the elements of an action for up to 12 elements of an observation and an action, else half of that.',
    ),
  initAlpha: rate.default(0.2).describe(INIT_ALPHA),
  rewardScale: rate.default(1).describe('Rewards are multiplied by this before they are learned from.'),
};

/**
 * Soft actor-critic (1812.05905): twin critics, squashed Gaussian, tuned temperature.
 * The defaults are those that learn a cart-pole swing-up in the fewest real steps and least time at two updates a step.
 */
export const sacConfigSchema = z.strictObject({
  ...SOFT_KEYS,
  tau: tau(0.01),
  criticLayerNorm: z
    .boolean()
    .default(true)
    .describe('Layer normalisation in the critics (DroQ, 2110.02034): steady at many updates a step, a third slower.'),
});
export type SacConfig = Decided<z.infer<typeof sacConfigSchema>>;

const ENSEMBLE_KEYS = {
  ...SOFT_KEYS,
  tau: tau(0.005),
  policyEvery: z.int().min(1).default(20).describe('Steps of the critics for each step of the policy.'),
};

/** REDQ (2101.05982): many critics, of which a few drawn ones make each target. Twenty updates a real step in its paper. */
export const redqConfigSchema = z.strictObject({
  ...ENSEMBLE_KEYS,
  critics: z.int().min(1).max(64).default(10).describe('Critics.'),
  drawn: z
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Critics drawn at each step; the target is their minimum. No more than `critics`.'),
  criticLayerNorm: z.boolean().default(false).describe('Layer normalisation in the critics.'),
});

/** DroQ (2110.02034): two critics with dropout and layer normalisation. Twenty updates a real step in its paper. */
export const droqConfigSchema = z.strictObject({
  ...ENSEMBLE_KEYS,
  dropout: z.number().min(0).max(0.9).default(0.01).describe("Share of the critics' hidden units left out at a step."),
});

/** SAC with SimBa's residual critics and scaled observations (2410.09754). Its authors' are 512 wide, with two updates a step and decay of weights. */
export const simbaConfigSchema = z.strictObject({
  ...ENSEMBLE_KEYS,
  hidden: layerSizes.default([64, 64]).describe("Widths of critics' residual blocks, all alike, and of policy layers."),
  lr: rate.default(3e-4).describe('Step size of Adam, for all that is learned.'),
  initAlpha: rate.default(0.1).describe(INIT_ALPHA),
  policyEvery: z.int().min(1).default(10).describe('Steps of the critics for each step of the policy.'),
});

/** TD3+BC (2106.06860), with its paper's settings but for the discount; offline, observations are scaled to those of the records. */
export const td3BcConfigSchema = z.strictObject({
  hidden: layerSizes.default([256, 256]).describe(HIDDEN),
  activation: activation.default('relu').describe(ACTIVATION),
  lr: rate.default(3e-4).describe('Step size of Adam, for critics and policy.'),
  gamma,
  tau: fraction
    .default(0.005)
    .describe('Share of the networks that flows into their targets at every step of the policy.'),
  batchSize: rows.default(256).describe('Rows of a gradient step.'),
  alpha: z
    .number()
    .min(0)
    .default(2.5)
    .describe('How much value counts against staying near the actions of the data; 0: cloning alone.'),
  policyEvery: z.int().min(1).default(2).describe('Steps of the critics for each step of the policy.'),
  rewardScale: rate.default(1).describe('Rewards are multiplied by this before they are learned from.'),
});
export type Td3BcConfig = Decided<z.infer<typeof td3BcConfigSchema>>;

/** Proximal policy optimisation (1707.06347), with observations and rewards scaled by what was seen, as in CleanRL's `ppo_continuous_action.py`. */
export const ppoConfigSchema = z.strictObject({
  hidden: layerSizes.default([64, 64]).describe(HIDDEN),
  activation: activation.default('tanh').describe(ACTIVATION),
  lr: rate.default(3e-4).describe('Step size of Adam, for policy and value together.'),
  gamma,
  gaeLambda: fraction
    .default(0.95)
    .describe('How far advantages look ahead (1506.02438): 0 one step, 1 to the end of the rollout.'),
  epochs: z.int().min(1).default(10).describe('Passes over a rollout in one update, at most.'),
  batchSize: rows.min(2).default(64).describe('Rows of a gradient step; a rollout of fewer rows is not learned from.'),
  clipRatio: z
    .number()
    .positive()
    .default(0.2)
    .describe('How far the probability of an action may move from that of the rollout before its gradient is cut.'),
  entropyCoefficient: z.number().min(0).default(0).describe("Weight of the policy's entropy in the objective."),
  valueCoefficient: z.number().min(0).default(0.5).describe("Weight of the value's squared error in the objective."),
  targetKl: z
    .number()
    .positive()
    .nullable()
    .default(0.02)
    .describe('Stop the epochs of an update once the mean approximate KL of one passes this; null: never.'),
  initLogStd: z
    .number()
    .min(-5)
    .max(1)
    .default(-0.5)
    .describe(
      'Log standard deviation of a Gaussian policy at the start, in units of the action normalised to [-1, 1].',
    ),
});
export type PpoConfig = Decided<z.infer<typeof ppoConfigSchema>>;

/** Planning in a model (PETS, 1805.12114), and the policy that is taught what was planned. */
export const petsConfigSchema = z.strictObject({
  horizon: z.int().min(1).max(1000).default(20).describe('Steps that a plan looks ahead.'),
  candidates: z.int().min(4).max(100_000).default(48).describe('Sequences imagined in a round of planning.'),
  elites: z
    .int()
    .min(2)
    .max(10_000)
    .default(8)
    .describe('The best of them, which the next round is drawn around; no round has fewer than twice as many.'),
  rounds: z.int().min(1).max(100).default(3).describe('Rounds of planning at every real step.'),
  gamma,
  hidden: layerSizes.default([64, 64]).describe('Layer widths of the policy that is taught.'),
  activation: activation.default('relu').describe(ACTIVATION),
  lr: rate.default(1e-3).describe('Step size of Adam for the policy that is taught.'),
  batchSize: rows.default(64).describe('Rows of a gradient step of the policy that is taught.'),
  distilUpdates: z.int().min(0).default(500).describe('Gradient steps of the policy that is taught, after each round.'),
});
export type PetsConfig = Decided<z.infer<typeof petsConfigSchema>>;

/** Behaviour cloning: a Box action by squared error or Gaussian likelihood, a discrete one always by cross-entropy. */
export const bcConfigSchema = z.strictObject({
  hidden: layerSizes.default([64, 64]),
  activation: activation.default('relu'),
  lr: rate.default(1e-3),
  batchSize: rows.default(64),
  loss: z.enum(['mse', 'nll']).default('mse'),
  initLogStd: z.number().min(-5).max(1).default(-1),
});
export type BcConfig = z.infer<typeof bcConfigSchema>;
