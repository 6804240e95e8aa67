// Settings of the probabilistic ensemble: one schema for defaults, checks and documentation.

import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';

/** Of the folders that hold one. */
export const ENSEMBLE_FORMAT = 'reverie-ensemble';

/** Defaults are MBPO's (1906.08253, appendix C, and its code) unless said. */
export const ensembleConfigSchema = z
  .strictObject({
    kind: z.literal('ensemble').default('ensemble').describe('learned probabilistic networks'),
    members: z.int().min(1).max(64).default(7).describe('networks trained, each on its own data order'),
    elites: z.int().min(1).max(64).default(5).describe('members with the lowest hold-out loss, which answer'),
    hidden: z.array(z.int().min(1).max(4096)).min(1).max(16).default([200, 200, 200, 200]).describe('layer widths'),
    lr: z.number().positive().max(1).default(1e-3).describe('step size of Adam'),
    weightDecay: z
      .union([z.number().min(0), z.array(z.number().min(0))])
      .default([2.5e-5, 5e-5, 7.5e-5, 7.5e-5, 1e-4])
      .describe(
        'L2 penalty of the weights, one for all layers or one a layer (PETS); the last one also stands for further layers',
      ),
    batchSize: z.int().min(1).max(65536).default(256).describe('rows a gradient step'),
    holdout: z.number().gt(0).lt(1).default(0.2).describe('share of rows kept for early stopping'),
    holdoutMaxRows: z.int().min(1).default(5000).describe('upper limit of hold-out rows'),
    patience: z.int().min(1).default(5).describe('epochs without improvement before a member stops'),
    minEpochSteps: z
      .int()
      .min(1)
      .default(1)
      .describe(
        'gradient steps an epoch has at least, by going over the rows more than once: little data needs as many steps',
      ),
    improvement: z
      .number()
      .min(0)
      .lt(1)
      .default(0.01)
      .describe('relative fall of the hold-out loss that counts as improvement'),
    maxEpochs: z.int().min(1).default(200).describe('upper limit of epochs'),
    bootstrap: z.boolean().default(true).describe('draw each member its own training rows with replacement'),
    learnReward: z.boolean().default(true).describe('predict the reward; false: use the known reward function'),
    learnTermination: z.boolean().default(false).describe('predict the end by the task; false: use the known function'),
    logVarMin: z.number().default(-10).describe('initial lower bound of the log-variance in normalised units (PETS)'),
    logVarMax: z.number().default(0.5).describe('initial upper bound of the log-variance'),
    logVarPenalty: z.number().min(0).default(0.01).describe('weight of the pull that tightens the learned bounds'),
  })
  .refine(({ elites, members }) => elites <= members, {
    path: ['elites'],
    message: 'there are fewer members than elites',
  })
  .refine(({ logVarMin, logVarMax }) => logVarMin < logVarMax, {
    path: ['logVarMin'],
    message: 'it must lie below logVarMax',
  });

export type EnsembleConfig = z.output<typeof ensembleConfigSchema>;
export type EnsembleConfigInput = z.input<typeof ensembleConfigSchema>;

/** The settings with defaults filled in. Throws MODEL_CONFIG_INVALID. */
export function parseEnsembleConfig(input: EnsembleConfigInput = {}): EnsembleConfig {
  const parsed = ensembleConfigSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw reverieError('MODEL_CONFIG_INVALID', { problem: describeIssues(parsed.error) });
}

/** The L2 penalty of layer `layer`, counted from the input. */
export function decayOfLayer({ weightDecay }: EnsembleConfig, layer: number): number {
  if (typeof weightDecay === 'number') return weightDecay;
  return weightDecay[Math.min(layer, weightDecay.length - 1)] ?? 0;
}
