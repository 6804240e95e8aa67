// What a scenario may say of quality: which filters there are and how strict they are.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ToolsTask } from '../../env/tools/domain.js';

const share = z.number().min(0).max(1);
const on = z.boolean().default(true);

const splitSchema = z
  .strictObject({
    validation: share.default(0.05).describe('Share of task families for validation.'),
    test: share.default(0.1).describe('Share of task families for evaluation.'),
  })
  .refine(({ validation, test }) => validation + test <= 1, 'validation and test must not be more than all')
  .prefault({})
  .describe("Splits go by hash of a task's family; a split that a task states itself wins.");

export const qualitySchema = z
  .strictObject({
    structure: on.describe('Cut where calls and answers do not match, and before an empty turn.'),
    schema: on.describe("Mask or cut calls that do not fit their tool's schema."),
    provenance: on.describe('Mask or cut calls with ids that were not mentioned before.'),
    claims: on.describe('Mask failed calls, and what is said right after them.'),
    imitation: z
      .union([z.literal('any'), z.number()])
      .default(1)
      .describe(
        'Least reward of an episode whose turns are written as examples to imitate; `any`: all, failed and unjudged ones too.',
      ),
    decontaminate: z
      .strictObject({
        words: z
          .union([z.literal(false), z.int().min(3)])
          .default(8)
          .describe(
            'Drop episodes that share so many words in a row with what is evaluated on, or its family; false: none.',
          ),
        files: z.array(z.string().min(1)).default([]).describe('Texts beside the test tasks that must not leak in.'),
      })
      .prefault({})
      .describe('Keep evaluation out of training.'),
    nearDuplicates: z
      .union([z.literal(false), share])
      .default(0.8)
      .describe('Drop an episode whose text overlaps (3-gram Jaccard) so much with an earlier one; false: none.'),
    splits: splitSchema,
  })
  .prefault({})
  .describe('Filters between the episodes and the datasets; they repair before they drop, and count what they do.');

export type QualityConfig = z.output<typeof qualitySchema>;

export type Split = 'train' | 'validation' | 'test';

export interface SplitShares {
  /** Shares of all families; the rest is for training. */
  readonly validation: number;
  readonly test: number;
}

/** The task's own split where it says one; else by its family alone: the same family, the same split, in every job. */
export function splitOf(
  { family, split }: Pick<ToolsTask, 'family' | 'split'>,
  { validation, test }: SplitShares,
): Split {
  if (split !== undefined) return split;
  const place = createHash('sha256').update(family).digest().readUInt32BE(0) / 2 ** 32;
  if (place < test) return 'test';
  return place < test + validation ? 'validation' : 'train';
}
