// Section `model.sequence`: how the model is fitted, and how sure it must be to answer.

import { z } from 'zod';
import { recordedSection } from '../from-records.js';

const size = z.int().min(1);
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
    heldOut: share.default(0.1).describe('Share of the tasks that are kept to calibrate on and to judge by.'),
    heldOutSteps: size.default(600).describe('Most steps of these that are asked.'),
    checkpointSeconds: z.number().min(0).default(30).describe('Seconds between checkpoints. Never changes results.'),
  })
  .prefault({})
  .describe('`reverie fit`: how it is trained.');

export const sequenceSection = recordedSection({ minConfidence: 0.8, minExactness: 0.9 }, fitSchema)
  .prefault({})
  .describe('Backend `sequence`: a small language model that learned from records what calls do.');

export type SequenceSettings = z.output<typeof sequenceSection>;
