// An environment as data: which one, and what of it differs from its definition. Checked once, here.

import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { bodyKeys, entryFor, environmentIds, environments, keysOf } from './environments.js';
import { gymnasiumKeys } from './gymnasium/entry.js';
import { bodyShape } from './mujoco/body.js';
import { keysOfAll, parseStrictly } from './strict-parse.js';

const ourKeys = {
  id: z.string().optional().describe('a built-in environment, or a name for an mjcf one'),
  mjcf: z.string().optional().describe('path of a MuJoCo model, relative to the scenario folder'),
  maxEpisodeSteps: z.int().min(1).nullable().optional().describe('steps before truncated; null for no clock'),
  hide: z
    .array(z.int().min(0))
    .min(1)
    .optional()
    .describe('elements of the observation that are not shown, counted from 0; see `stack`'),
  stack: z
    .int()
    .min(2)
    .max(16)
    .optional()
    .describe('last observations that are shown side by side, the newest last: for what a single one does not tell'),
  ...bodyKeys.shape,
  ...gymnasiumKeys.partial().shape,
};

type OurSchema = z.ZodObject<typeof ourKeys, z.core.$strict>;

/**
 * An environment: `id` of a built-in one, `gymnasium` with an id of Python's, or `mjcf` with observation and reward. Keys of a body also override those of a
 * built-in MuJoCo one. Plugins add keys of their environments, so it is made when it is asked for; its type is that of ours.
 */
export function envSpecSchema(): OurSchema {
  const known = environments.names().length;
  if (made?.known !== known) made = { known, schema: schemaOfNow() };
  return made.schema;
}

let made: { readonly known: number; readonly schema: OurSchema } | undefined;

function schemaOfNow(): OurSchema {
  return (
    z
      // Twice: ours come first, and mean what they mean here.
      .strictObject({ ...ourKeys, ...keysOfAll(environments.list().map(({ schema }) => schema)), ...ourKeys })
      .superRefine((spec, context) => {
        for (const problem of misplaced(spec)) context.addIssue({ code: 'custom', message: problem });
      }) as unknown as OurSchema
  );
}

export type EnvSpec = z.input<OurSchema>;
export type CheckedEnvSpec = z.output<OurSchema>;

/** The spec with defaults, or UNKNOWN_KEY, NAME_UNKNOWN, ENV_SPEC_INVALID. */
export function checkEnvSpec(spec: unknown): CheckedEnvSpec {
  const checked = parseStrictly(envSpecSchema(), spec, 'environment');
  if (checked.mjcf === undefined && entryFor(checked) === undefined) {
    throw reverieError('NAME_UNKNOWN', {
      problem: `No environment is called "${checked.id}".`,
      hint: `Known environments: ${environmentIds.join(', ')}.`,
    });
  }
  return checked;
}

function misplaced(spec: Record<string, unknown>): string[] {
  const given = Object.keys(spec).filter((key) => spec[key] !== undefined);
  const entry = entryFor(spec);
  if (spec.mjcf === undefined && spec.id === undefined && entry === undefined) {
    const others = environments.list().flatMap(({ namedBy }) => (namedBy === undefined ? [] : [`"${namedBy}"`]));
    return [`give "id" of a built-in environment, ${others.join(', ')} or "mjcf"`];
  }
  const missing = spec.mjcf === undefined ? [] : ['observation', 'reward'].filter((key) => spec[key] === undefined);
  const allowed = ['id', 'mjcf', 'maxEpisodeSteps', 'hide', 'stack'];
  if (spec.mjcf !== undefined) allowed.push(...Object.keys(bodyShape));
  else if (entry !== undefined) allowed.push(...keysOf(entry));
  const wrong = given.filter((key) => !allowed.includes(key));
  const name = spec.mjcf === undefined ? `"${spec.id ?? entry?.name}"` : 'an mjcf environment';
  return [
    ...missing.map((key) => `an environment with "mjcf" needs "${key}"`),
    ...wrong.map((key) => `"${key}" does not apply to ${name}`),
  ];
}
