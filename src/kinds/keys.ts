// What scenarios of every kind say in the same words.

import { z } from 'zod';
import { FIDELITY_SECTIONS } from '../core/kind.js';

export const positive = z.int().min(1);
export const count = z.int().min(0);
export const share = z.number().min(0).max(1);

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

export const sectionsKey = z
  .array(z.enum(FIDELITY_SECTIONS))
  .min(1)
  .default(FIDELITY_SECTIONS.filter((id) => id !== 'elements'))
  .describe('What is measured. `elements`, of screens alone, comes with `one-step`.');

export const rankKeys = {
  episodes: positive.default(20).describe('Episodes of each policy, in the dream and for real, from the same starts.'),
  policies: positive.min(8).default(10).describe('Policies of the ladder, from random to the best there is.'),
};
