// All that an ensemble is, apart from running sessions: what is saved, sent to workers and hashed.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type EnvSpec, envSpecSchema } from '../../env/index.js';
import type { Outcome } from '../answer.js';
import { rowShape, type Spaces, vectorSpaceSchema } from '../model-spaces.js';
import { type SeenRange, seenRangeSchema } from '../seen-range.js';
import { type EnsembleConfig, ensembleConfigSchema } from './config.js';
import { type MemberShape, memberLayout, memberModel } from './member-network.js';
import type { Normaliser } from './normaliser.js';

const numbers = z.array(z.number()).readonly();
const moments = z.strictObject({ mean: numbers, scale: numbers });
const memberReport = z.strictObject({
  epochs: z.int(),
  gradientSteps: z.int(),
  holdoutLoss: z.number(),
  holdoutNll: z.number(),
  holdoutMse: numbers,
  holdoutCrossEntropy: z.number().optional(),
});

/** How the fit went. Errors are in standard deviations of what is predicted, on rows no member was trained on. */
const fitReportSchema = z.strictObject({
  rows: z.int().describe('transitions given'),
  holdoutRows: z.int().describe('of these, held out'),
  epochs: z.int().describe('of the member that trained longest'),
  gradientSteps: z.int().describe('of all members together'),
  holdoutError: z
    .number()
    .describe('root mean squared error of the elites, each on its own, over elements that change'),
  rewardError: z.number().optional().describe('the same of the reward, where it is learned and changes'),
  isWarmStart: z.boolean(),
  elites: z.array(z.int()).describe('members by rising hold-out loss'),
  members: z.array(memberReport).readonly(),
});
export type FitReport = z.output<typeof fitReportSchema>;

/** The JSON half of an ensemble. */
export const ensembleDescriptionSchema = z.strictObject({
  observationSpace: vectorSpaceSchema,
  actionSpace: vectorSpaceSchema,
  config: ensembleConfigSchema,
  normaliser: z.strictObject({
    input: moments,
    target: moments,
    constant: z.array(z.int().min(0)).readonly().optional(),
  }),
  elites: z.array(z.int().min(0)).min(1),
  outcome: z.strictObject({
    reward: z.enum(['learned', 'known']),
    terminated: z.enum(['learned', 'known', 'never']),
  }),
  env: z.lazy(envSpecSchema).optional(),
  report: fitReportSchema,
  endReward: z.number().optional().describe('what an end by the task adds to the learned reward'),
  seen: seenRangeSchema.optional().describe('what it was shown; older models do not say'),
});

export interface EnsembleDescription extends Spaces {
  readonly config: EnsembleConfig;
  readonly normaliser: Normaliser;
  /** Members that answer, best first. */
  readonly elites: readonly number[];
  readonly outcome: Outcome;
  /** The environment whose known functions are used. */
  readonly env?: EnvSpec;
  readonly report: FitReport;
  /** What an end by the task adds to the learned reward; absent where nothing does. */
  readonly endReward?: number;
  /** What it was shown; older models do not say. */
  readonly seen?: SeenRange;
}

export interface EnsembleContents {
  readonly description: EnsembleDescription;
  /** One .onnx model a member. */
  readonly models: readonly Uint8Array[];
  /** Trained parameters in normalised units [members, size], for a warm start; absent in worker threads. */
  readonly parameters?: Float32Array;
}

export function memberShapeOf(spaces: Spaces, config: EnsembleConfig): MemberShape {
  const { inputDim, obsDim } = rowShape(spaces);
  const outputDim = obsDim + (config.learnReward ? 1 : 0);
  return { inputDim, outputDim, termination: config.learnTermination, hidden: config.hidden };
}

/** The .onnx model of each member, with what a reader needs to use it as metadata. */
export function memberModels(description: EnsembleDescription, thetas: readonly Float32Array[]): Uint8Array[] {
  const { config, normaliser } = description;
  const shape = memberShapeOf(description, config);
  const layout = memberLayout(shape, config);
  const inputs = 'obs, then action (one-hot if discrete), in raw units';
  const outputs = `change of obs${config.learnReward ? ', then reward' : ''}, in raw units`;
  return thetas.map((theta, member) =>
    memberModel(theta, layout, shape, normaliser, {
      format: 'reverie ensemble member',
      member: String(member),
      inputs,
      outputs,
      observationSpace: JSON.stringify(description.observationSpace),
      actionSpace: JSON.stringify(description.actionSpace),
    }),
  );
}

/** Hash of everything a prediction depends on. */
export function versionOf({ description, models }: EnsembleContents): string {
  const { observationSpace, actionSpace, config, elites, outcome, env, endReward } = description;
  const hash = createHash('sha256');
  // An absent key is not written.
  const settings = { observationSpace, actionSpace, config, elites, outcome, env: env ?? null, endReward };
  hash.update(JSON.stringify(settings));
  for (const model of models) hash.update(model);
  return hash.digest('hex').slice(0, 32);
}
