// How a decoder is trained: sizes of a step, AdamW, and the learning rate's course.

import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';

const settingsSchema = z.strictObject({
  /** Rows of a gradient step. */
  rows: z.int().min(1).default(8),
  /** Tokens a row: the longest document, and where documents are packed. */
  length: z.int().min(2).default(256),
  /** Gradient steps of the learning rate's course; later ones keep its end. */
  steps: z.int().min(1),
  /** At its peak. */
  learningRate: z.number().positive().default(2e-3),
  /** Steps in which it rises from 0 in a line. */
  warmupSteps: z.int().min(0).default(50),
  /** What is left of it at the end of a half cosine (Loshchilov and Hutter 2017). */
  finalShare: z.number().min(0).max(1).default(0.1),
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.99),
  /** Decoupled decay of matrices (AdamW), times the learning rate. */
  weightDecay: z.number().min(0).default(0.01),
  /** Longest gradient; a longer one is shrunk to it. */
  clipNorm: z.number().positive().default(1),
  /** Of the distribution that is trained. */
  temperature: z.number().positive().default(1),
});

export type DecoderTrainingSettings = z.infer<typeof settingsSchema>;
export type DecoderTrainingInput = z.input<typeof settingsSchema>;

/**
 * The whole settings, defaults filled in.
 * @throws SETTING_INVALID
 */
export function decoderTraining(input: DecoderTrainingInput): DecoderTrainingSettings {
  const parsed = settingsSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw reverieError('SETTING_INVALID', {
    problem: `Settings of the decoder: ${describeIssues(parsed.error)}.`,
    hint: 'Sizes are whole numbers; heads are a multiple of kvHeads. A config.json must be that of a LlamaForCausalLM without biases or scaled rotations.',
  });
}

/** The learning rate of gradient step `step`, from 0. */
export function learningRateAt(step: number, settings: DecoderTrainingSettings): number {
  const { learningRate, warmupSteps, steps, finalShare } = settings;
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  const done = Math.min(1, (step - warmupSteps) / Math.max(1, steps - warmupSteps));
  return learningRate * (finalShare + (1 - finalShare) * 0.5 * (1 + Math.cos(Math.PI * done)));
}
