// A body as data: model, timing, start, observation, action, reward and end. Built-in bodies and a user's own MJCF are
// written in this one language.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import {
  type ExpressionScope,
  expressionSchema,
  type Scalar,
  scalarOf,
  scalarsOf,
  selectorSchema,
} from './expression.js';

const noise = z.strictObject({
  qpos: selectorSchema.optional().describe('joints by name or elements of qpos by index'),
  qvel: selectorSchema.optional(),
  uniform: z.tuple([z.number(), z.number()]).optional().describe('adds a uniform draw from [low, high)'),
  normal: z.number().min(0).optional().describe('adds a normal draw of this standard deviation'),
  disc: z.number().positive().optional().describe('sets two elements to a uniform point of a disc of this radius'),
  value: z.number().optional().describe('sets the elements to this value'),
});

const noiseSchema = noise
  .refine((entry) => (entry.qpos === undefined) !== (entry.qvel === undefined), {
    message: 'give exactly one of qpos, qvel',
  })
  .refine(
    (entry) => [entry.uniform, entry.normal, entry.disc, entry.value].filter((x) => x !== undefined).length === 1,
    {
      message: 'give exactly one of uniform, normal, disc, value',
    },
  );

const rewardTermSchema = z.strictObject({
  name: z.string().describe('shown as reward_<name> in info'),
  of: expressionSchema,
  weight: z.number().default(1),
});

const terminationSchema = z.strictObject({
  of: expressionSchema,
  above: z.number().optional().describe('the episode goes on while every element > above'),
  below: z.number().optional(),
  atLeast: z.number().optional().describe('the episode goes on while every element >= atLeast'),
  atMost: z.number().optional(),
});

const actionSchema = z.strictObject({
  actuators: selectorSchema.default('all'),
  range: z.tuple([z.number(), z.number()]).optional().describe("replaces the model's ctrlrange"),
});

const jointValues = z.record(z.string(), z.union([z.number(), z.array(z.number()).min(1)]));

/** Keys of a body besides its model; all but observation, reward have defaults. */
export const bodyShape = {
  frameSkip: z.int().min(1).describe('timesteps of physics per step of the environment'),
  forward: z
    .boolean()
    .describe('recompute positions, contacts and sensors after the last timestep (Gymnasium does not)'),
  initial: z
    .strictObject({ qpos: jointValues.optional(), qvel: jointValues.optional() })
    .describe('start by joint name'),
  resetNoise: z.array(noiseSchema).describe('applied in order at reset'),
  observation: z.array(expressionSchema).min(1),
  action: actionSchema,
  reward: z.array(rewardTermSchema).min(1),
  termination: z.array(terminationSchema),
};

export const bodySpecSchema = z.strictObject({
  ...bodyShape,
  frameSkip: bodyShape.frameSkip.default(1),
  forward: bodyShape.forward.default(true),
  initial: bodyShape.initial.default({}),
  resetNoise: bodyShape.resetNoise.default([]),
  action: bodyShape.action.default({ actuators: 'all' }),
  termination: bodyShape.termination.default([]),
});

/** A body with all defaults filled in. */
export type BodySpec = z.infer<typeof bodySpecSchema>;
/** A body as one writes it. */
export type BodySpecInput = z.input<typeof bodySpecSchema>;
export type ResetNoise = z.infer<typeof noiseSchema>;
export type Termination = z.infer<typeof terminationSchema>;

export interface BodyQuantities {
  readonly observation: readonly Scalar[];
  readonly reward: readonly { name: string; weight: number; of: Scalar }[];
  readonly termination: readonly { of: readonly Scalar[]; range: Termination }[];
}

export function quantitiesOf(body: BodySpec, scope: ExpressionScope): BodyQuantities {
  return {
    observation: body.observation.flatMap((expression) => lifeless(scalarsOf(expression, scope))),
    reward: body.reward.map(({ name, of, weight }) => ({
      name,
      weight,
      of: scalarOf(of, scope, `Reward term "${name}"`),
    })),
    termination: body.termination.map((range) => ({ of: lifeless(scalarsOf(range.of, scope)), range })),
  };
}

/** Whether the episode goes on is decided after observing, so only a reward can ask for it. */
function lifeless(scalars: Scalar[]): Scalar[] {
  if (!scalars.some(({ key }) => key.includes('alive['))) return scalars;
  throw reverieError('ENV_SPEC_INVALID', { problem: '"alive" can be used in reward terms only.' });
}
