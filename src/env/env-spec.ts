// An environment as data: which one, and what of it differs from its definition. Checked once, here.

import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { builtInBodies } from './mujoco/bodies/index.js';
import { bodyShape } from './mujoco/body-spec.js';
import { parseStrictly } from './strict-parse.js';

const CLASSIC_IDS = ['cartpole', 'pendulum'];

/** All environments that need no model file. */
export const environmentIds: readonly string[] = [...Object.keys(builtInBodies), ...CLASSIC_IDS, 'gridworld'];

const bodyKeys = z.strictObject(bodyShape).partial().shape;

/**
 * An environment: `id` of a built-in one, or `mjcf` with observation and reward. Keys of a body also override those of a
 * built-in MuJoCo one.
 */
export const envSpecSchema = z
  .strictObject({
    id: z.string().optional().describe('a built-in environment, or a name for an mjcf one'),
    mjcf: z.string().optional().describe('path of a MuJoCo model, relative to the scenario folder'),
    maxEpisodeSteps: z.int().min(1).nullable().optional().describe('steps before truncated; null for no clock'),
    ...bodyKeys,
    map: z.array(z.string()).min(1).optional().describe('gridworld: rows of S start, . free, # wall, G goal, H hole'),
    slip: z.number().min(0).max(1).optional().describe('gridworld: probability of moving to a side instead'),
    stepReward: z.number().optional().describe('gridworld: reward of every step'),
  })
  .superRefine((spec, context) => {
    for (const problem of misplaced(spec)) context.addIssue({ code: 'custom', message: problem });
  });

export type EnvSpec = z.input<typeof envSpecSchema>;
export type CheckedEnvSpec = z.output<typeof envSpecSchema>;

/** The spec with defaults, or UNKNOWN_KEY, ENV_UNKNOWN, ENV_SPEC_INVALID. */
export function checkEnvSpec(spec: unknown): CheckedEnvSpec {
  const checked = parseStrictly(envSpecSchema, spec, 'environment');
  if (checked.mjcf === undefined && !environmentIds.includes(checked.id!)) {
    throw reverieError('ENV_UNKNOWN', { id: checked.id, known: environmentIds.join(', ') });
  }
  return checked;
}

function misplaced(spec: Record<string, unknown>): string[] {
  const given = Object.keys(spec).filter((key) => spec[key] !== undefined);
  const id = spec.id as string | undefined;
  if (spec.mjcf === undefined && id === undefined) return ['give "id" of a built-in environment, or "mjcf"'];
  const missing = spec.mjcf === undefined ? [] : ['observation', 'reward'].filter((key) => spec[key] === undefined);
  const isBody = spec.mjcf !== undefined || id! in builtInBodies;
  const allowed = ['id', 'mjcf', 'maxEpisodeSteps', ...(isBody ? Object.keys(bodyShape) : [])];
  if (spec.mjcf === undefined && id === 'gridworld') allowed.push('map', 'slip', 'stepReward');
  const wrong = given.filter((key) => !allowed.includes(key));
  return [
    ...missing.map((key) => `an environment with "mjcf" needs "${key}"`),
    ...wrong.map((key) => `"${key}" does not apply to ${spec.mjcf === undefined ? `"${id}"` : 'an mjcf environment'}`),
  ];
}
