// The section `replay` of a scenario: what is kept of rows lived, dreamt and drawn, and what a learner is shown of it.

import { z } from 'zod';

const positive = z.int().min(1);
const share = z.number().min(0).max(1);

const selectorSection = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('uniform').describe('Every row is as likely as any other.') }),
    z.strictObject({
      kind: z.literal('prioritized').describe('By temporal-difference error (Schaul et al., 1511.05952).'),
      alpha: share.default(0.6).describe('How much priority counts; 0 is uniform.'),
      beta: share.default(0.4).describe('How much of the bias is corrected by importance weights.'),
    }),
  ])
  .prefault({ kind: 'uniform' })
  .describe('How rows are chosen within a buffer. SAC only.');

const generativeSection = z
  .strictObject({
    share: share
      .gt(0)
      .default(0.5)
      .describe('Share of drawn rows in every batch, once there are any; 1: none but those.'),
    rows: positive.default(50_000).describe('Rows drawn from each diffusion that is fitted.'),
    refitEvery: positive
      .default(10_000)
      .describe('Real rows after which a diffusion is fitted anew to all of them; offline it is fitted once.'),
    updates: positive.default(10_000).describe('Gradient steps of a fit.'),
    hidden: positive.max(4096).default(256).describe('Width of the residual network.'),
    blocks: positive.max(64).default(4).describe('Its residual blocks.'),
    batchSize: positive.default(256).describe('Rows of a gradient step.'),
    lr: z.number().positive().default(1e-3).describe('Step size of Adam.'),
    levels: z
      .int()
      .min(2)
      .max(1000)
      .default(32)
      .describe('Levels of noise a drawn row comes down by; two calls of the network each (2206.00364).'),
  })
  .nullable()
  .default(null)
  .describe(
    'Rows drawn from a diffusion of the real ones, learned from beside them; null: none. With `train.mode` real or offline, and a learner that replays rows.',
  );

export const replaySection = z
  .strictObject({
    realCapacity: positive.default(1_000_000).describe('Real transitions kept; the oldest are overwritten.'),
    syntheticCapacity: positive.default(400_000).describe('Dreamt transitions kept; the oldest are overwritten.'),
    keepModels: positive
      .nullable()
      .default(4)
      .describe('Dreamt transitions leave once so many newer models were fitted; null: they stay.'),
    realRatio: z
      .union([share, z.literal('auto')])
      .default('auto')
      .describe(
        'Share of real rows in every batch SAC sees in dream mode; PPO learns there from dreamt rows alone. `auto`: a tenth with a model that explains all of its held-out rows, up to a half with a worse one; or one real row for each branch of as many dreamt ones as the report of `--fidelity` trusts, 5 % at least.',
      ),
    generative: generativeSection,
    selector: selectorSection,
  })
  .prefault({})
  .describe('What is kept, and what a learner is shown of it.');
