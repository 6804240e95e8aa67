// What a scenario says of the sequence model: section `model.sequence`.

import { z } from 'zod';

const size = z.int().min(1);
const count = z.int().min(0);
const share = z.number().min(0).max(1);

const fitSchema = z
  .strictObject({
    steps: size.default(3000).describe('Gradient steps.'),
    rows: size.default(8).describe('Rows of a gradient step.'),
    length: z.int().min(32).default(384).describe('Tokens a row: the longest question with its answer.'),
    learningRate: z.number().positive().default(2e-3).describe('At its peak; it falls to a tenth in a half cosine.'),
    hidden: size.default(128).describe('Width of the network.'),
    layers: size.default(4).describe('Its layers.'),
    heads: size.default(4).describe('Its heads, each of hidden/heads numbers.'),
    kvHeads: size.default(2).describe('Heads of keys and values; `heads` is a multiple of it.'),
    vocabulary: z.int().min(400).default(1024).describe('Most tokens.'),
    auxiliary: share.default(0.1).describe('Weight of the tokens of questions in the loss; those of answers weigh 1.'),
    history: count.optional().describe('Last steps that are shown; default 0, from text alone 4.'),
    memory: count
      .optional()
      .describe('Earlier steps that are shown for the names they share with the call; default 0, from text alone 4.'),
    heldOut: share.default(0.1).describe('Share of the tasks that are kept to calibrate on and to judge by.'),
    heldOutSteps: size.default(600).describe('Most steps of these that are asked.'),
    checkpointSeconds: z.number().min(0).default(30).describe('Seconds between checkpoints. Never changes results.'),
  })
  .prefault({})
  .describe('`reverie fit`: how it is trained.');

export type SequenceFitSettings = z.output<typeof fitSchema>;

export const sequenceSection = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .optional()
      .describe('Run of `reverie fit`, or the folder of the model, relative to the scenario; needed to answer.'),
    typed: z
      .boolean()
      .default(true)
      .describe(
        'Whether it sees the typed state and answers with its changes; false: from text alone, no state is held.',
      ),
    minConfidence: share
      .default(0.8)
      .describe('Below this confidence the next backend is asked; without one the call is refused.'),
    minExactness: share
      .default(0.9)
      .describe('A model that is right less often on held-out steps is not used at all; 0 uses any.'),
    fit: fitSchema,
  })
  .prefault({})
  .describe('Backend `sequence`: a small language model that learned from records what calls do.');

export type SequenceSettings = z.output<typeof sequenceSection>;
