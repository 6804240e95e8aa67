// What scenarios of every kind say in the same words: keys at the top, and profiles.

import { z } from 'zod';

const count = z.int().min(0);

export const nameKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'lower-case letters, digits and dashes')
  .describe('Short name, as the folder is called.');

export const seedKey = count.default(0).describe('Seed of every random stream of a run; `--seed` replaces it.');

/** @param meaning what they are in this kind, and what 0 means */
export function workersKey(meaning: string) {
  return count.default(0).describe(meaning);
}

/** @param meaning what they are in this kind, what 0 means and what `auto`, which is the default */
export function autoWorkersKey(meaning: string) {
  return z
    .union([count, z.literal('auto')])
    .default('auto')
    .describe(meaning);
}

export const profilesKey = z
  .record(z.string(), z.looseObject({}))
  .default({})
  .describe('Named partial scenarios, e.g. `smoke`; `--profile NAME` lays one over the rest.');

export const pluginsKey = z
  .array(z.string().min(1))
  .optional()
  .describe(
    'Modules of yours that add kinds, environments, domains, dynamics, backends, learners, exports or protocols: paths relative to the scenario, as `./mine.mjs`, or names of packages. They are run when the scenario is loaded (docs/extending.md).',
  );

/** The same keys, none of them needed and none with a default. */
export function overridesOf(section: z.ZodObject): z.ZodObject {
  const shape = Object.entries(section.shape).map(([key, schema]) => {
    const isWrapped = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional;
    const bare = (isWrapped ? schema.unwrap() : schema) as z.ZodType;
    return [key, z.optional(bare).describe(schema.description ?? bare.description ?? '')] as const;
  });
  return z.strictObject(Object.fromEntries(shape));
}
