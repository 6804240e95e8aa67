// Settings of the recurrent latent model: one schema for defaults, checks and documentation.

import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';

/** Of the folders that hold one. */
export const LATENT_FORMAT = 'reverie-latent';

export const latentConfigSchema = z
  .strictObject({
    kind: z.literal('latent').describe('recurrent networks with a latent memory (GRU)'),
    members: z.int().min(1).max(16).default(3).describe('networks, each with a memory of its own; all of them answer'),
    latent: z.int().min(1).max(1024).default(64).describe('elements of the memory'),
    hidden: z.array(z.int().min(1).max(4096)).min(1).max(8).default([64, 64]).describe('layer widths of the heads'),
    window: z.int().min(2).max(256).default(24).describe('steps that gradients go back through'),
    context: z
      .int()
      .min(0)
      .max(255)
      .default(8)
      .describe('real steps before a start that the memory is made from, and that are not learned from in a window'),
    lr: z.number().positive().max(1).default(1e-3).describe('step size of Adam'),
    maxGradNorm: z.number().positive().default(1).describe('the gradient is scaled down to this norm'),
    batchSize: z.int().min(1).max(4096).default(32).describe('windows a gradient step'),
    holdout: z.number().gt(0).lt(1).default(0.15).describe('share of the windows kept for early stopping'),
    patience: z.int().min(1).default(8).describe('evaluations without improvement before a member stops'),
    stepsPerEvaluation: z.int().min(1).default(50).describe('gradient steps between two looks at the hold-out'),
    maxSteps: z.int().min(1).default(3000).describe('upper limit of gradient steps'),
    learnTermination: z.boolean().default(false).describe('predict the end by the task; false: use the known function'),
    logVarMin: z.number().default(-10).describe('initial lower bound of the log-variance in normalised units'),
    logVarMax: z.number().default(0.5).describe('initial upper bound of the log-variance'),
    logVarPenalty: z.number().min(0).default(0.01).describe('weight of the pull that tightens the learned bounds'),
  })
  .refine(({ context, window }) => context < window, {
    path: ['context'],
    message: 'it must be shorter than the window',
  });

export type LatentConfig = z.output<typeof latentConfigSchema>;
export type LatentConfigInput = Omit<z.input<typeof latentConfigSchema>, 'kind'>;

/** The settings with defaults filled in. @throws MODEL_CONFIG_INVALID */
export function parseLatentConfig(input: LatentConfigInput = {}): LatentConfig {
  const parsed = latentConfigSchema.safeParse({ ...input, kind: 'latent' });
  if (parsed.success) return parsed.data;
  throw reverieError('MODEL_CONFIG_INVALID', { problem: describeIssues(parsed.error) });
}
