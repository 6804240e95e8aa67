// Settings of the probabilistic ensemble: one schema for defaults, checks and documentation.

import { z } from 'zod';
import type { KnownFunctions } from '../../core/environment.js';
import { describeIssues } from '../../core/errors.js';
import { type Spaces, settingInvalid } from '../dynamics.js';
import { rowShape } from '../model-folder.js';

/** Of the folders that hold one. */
export const ENSEMBLE_FORMAT = 'reverie-ensemble';

/** Defaults are MBPO's (1906.08253, appendix C, and its code) unless said. */
const settled = {
  kind: z.literal('ensemble').default('ensemble').describe('learned probabilistic networks'),
  members: z.int().min(1).max(64).default(7).describe('networks trained, each on its own data order'),
  elites: z
    .int()
    .min(1)
    .max(64)
    .default(5)
    .describe('members with the lowest mean absolute error on hold-out rows, which answer'),
  hidden: z.array(z.int().min(1).max(4096)).min(1).max(16),
  lr: z.number().positive().max(1).default(1e-3).describe('step size of Adam'),
  weightDecay: z
    .union([z.number().min(0), z.array(z.number().min(0))])
    .default([2.5e-5, 5e-5, 7.5e-5, 7.5e-5, 1e-4])
    .describe(
      'L2 penalty of the weights, one for all layers or one a layer (PETS); the last one also stands for further layers',
    ),
  batchSize: z.int().min(1).max(65536),
  holdout: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.2)
    .describe('share of rows kept for early stopping, the same ones at every fit'),
  holdoutMaxRows: z.int().min(1).default(5000).describe('of these, rows that judge, at most; the others wait unused'),
  patience: z.int().min(1).default(10).describe('epochs without improvement before a member stops'),
  minEpochSteps: z
    .int()
    .min(1)
    .max(100_000)
    .default(25)
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
  learnReward: z.boolean(),
  learnTermination: z.boolean(),
  logVarMin: z.number().default(-10).describe('initial lower bound of the log-variance in normalised units (PETS)'),
  logVarMax: z.number().default(0.5).describe('initial upper bound of the log-variance'),
  logVarPenalty: z.number().min(0).default(0.01).describe('weight of the pull that tightens the learned bounds'),
};

/** What a scenario says: some of it may be left to the body and the data. */
const asked = {
  ...settled,
  preset: z
    .enum(['mbpo'])
    .optional()
    .describe('published settings, of `model`, `rollout`, `replay` and `train`, below those given beside them'),
  hidden: orAuto(settled.hidden, 'layer widths; auto: by the elements of an observation and an action'),
  batchSize: orAuto(settled.batchSize, 'rows a gradient step; auto: 32 for little data, 256 for much'),
  learnReward: orAuto(
    settled.learnReward,
    'predict the reward; false: use the known reward function; auto: the known function where the environment has one',
  ),
  learnTermination: orAuto(
    settled.learnTermination,
    'predict the end by the task; false: use the known function; auto: the known function where the environment has one, else learnt once an episode has ended by the task',
  ),
};

function orAuto<T extends z.ZodType>(schema: T, meaning: string) {
  return z
    .union([schema, z.literal('auto')])
    .default('auto' as never)
    .describe(meaning);
}

/** What an ensemble was fitted with: nothing is left open. */
export const ensembleConfigSchema = checked(z.strictObject(settled));

/** The `model:` section of a scenario. */
export const ensembleSectionSchema = checked(z.strictObject(asked));

function checked<T extends z.ZodType>(schema: T): T {
  type Compared = Pick<EnsembleConfig, 'elites' | 'members' | 'logVarMin' | 'logVarMax'>;
  return schema
    .refine((config) => (config as Compared).elites <= (config as Compared).members, {
      path: ['elites'],
      message: 'there are fewer members than elites',
    })
    .refine((config) => (config as Compared).logVarMin < (config as Compared).logVarMax, {
      path: ['logVarMin'],
      message: 'it must lie below logVarMax',
    });
}

export type EnsembleConfig = z.output<z.ZodObject<typeof settled>>;
export type EnsembleSection = z.output<z.ZodObject<typeof asked>>;
export type EnsembleConfigInput = z.input<typeof ensembleSectionSchema>;

/** The settings with defaults filled in. Throws SETTING_INVALID. */
export function parseEnsembleConfig(input: EnsembleConfigInput = {}): EnsembleSection {
  const parsed = ensembleSectionSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw settingInvalid(describeIssues(parsed.error));
}

/** What decides where settings are left open. */
interface EnsembleCircumstances {
  readonly spaces: Spaces;
  /** Rows to learn from, and whether some of them end by the task; before there are rows: as for many, none of which ends. */
  readonly rows?: number;
  readonly hasEnds?: boolean;
  readonly known?: KnownFunctions;
}

/** The settings with nothing left open. */
export function settleEnsembleConfig(section: EnsembleSection, circumstances: EnsembleCircumstances): EnsembleConfig {
  const { spaces, rows = Number.POSITIVE_INFINITY, hasEnds = false, known = {} } = circumstances;
  const { preset: _, ...rest } = section;
  const { hidden, batchSize, learnReward, learnTermination } = rest;
  return {
    ...rest,
    hidden: hidden === 'auto' ? widthsFor(rowShape(spaces).inputDim) : hidden,
    batchSize: batchSize === 'auto' ? batchFor(rows) : batchSize,
    learnReward: learnReward === 'auto' ? known.reward === undefined : learnReward,
    learnTermination: learnTermination === 'auto' ? known.terminated === undefined && hasEnds : learnTermination,
  };
}

/** Layers of an ensemble whose rows have `inputDim` elements: PETS and MBPO use three of 200 and four of 200 for large bodies. */
function widthsFor(inputDim: number): number[] {
  if (inputDim <= 8) return [128, 128];
  return inputDim <= 16 ? [128, 128, 128] : [200, 200, 200, 200];
}

/** A power of two, so that an epoch has about forty steps: little data needs many small steps. */
function batchFor(rows: number): number {
  return Math.min(256, Math.max(32, 2 ** Math.floor(Math.log2(rows / 40))));
}

/** The L2 penalty of layer `layer`, counted from the input. */
export function decayOfLayer({ weightDecay }: EnsembleConfig, layer: number): number {
  if (typeof weightDecay === 'number') return weightDecay;
  return weightDecay[Math.min(layer, weightDecay.length - 1)] ?? 0;
}
