// What scenarios of every kind say in the same words.

import { z } from 'zod';
import { FIDELITY_SECTIONS } from '../core/kind.js';

export const positive = z.int().min(1);
export const count = z.int().min(0);
export const share = z.number().min(0).max(1);
export const above0 = z.number().positive();
export const from0 = z.number().min(0);

/** A section of a scenario, which may be left out. */
export function section<Shape extends z.ZodRawShape>(about: string, shape: Shape) {
  return z
    .strictObject(shape)
    .prefault({} as never)
    .describe(about);
}

/**
 * A section that is of one of several kinds, by what stands under `key`: of kind `otherwise` where nothing does, so that a file or a flag
 * may give other keys alone.
 */
export function chosenBy<Section extends z.ZodType>(key: string, otherwise: string, section: Section) {
  const whole = (given: unknown) =>
    typeof given === 'object' && given !== null && !(key in given) ? { [key]: otherwise, ...given } : given;
  return z.preprocess(whole, section);
}

/** One of some words: the first of them where it is left out. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words, about: string) {
  return z
    .enum(words)
    .default(words[0] as never)
    .describe(about);
}

/** A value, or null where it is left out. */
export const orNull = <S extends z.ZodType>(value: S) => value.nullable().default(null as never);

export function flag(otherwise: boolean, about: string) {
  return z.boolean().default(otherwise).describe(about);
}

const nameKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'lower-case letters, digits and dashes')
  .describe('Short name, as the folder is called.');

/** @param what  the description is of */
export function headKeys(what: string) {
  return {
    name: nameKey,
    description: z.string().default('').describe(`One sentence on ${what}.`),
    plugins: pluginsKey,
  };
}

export const seedKey = count.default(0).describe('Seed of every random stream of a run; `--seed` replaces it.');

export const profilesKey = z
  .record(z.string(), z.looseObject({}))
  .default({})
  .describe('Named partial scenarios, e.g. `smoke`; `--profile NAME` lays one over the rest.');

export const pluginsKey = z
  .array(z.string().min(1))
  .optional()
  .describe(
    'Modules of yours that add kinds, environments, domains, dynamics, backends, learners or exports: paths relative to the scenario, as `./mine.mjs`, or names of packages. They are run when the scenario is loaded (docs/extending.md).',
  );

/** The same keys, none of them needed and none with a default. */
export function overridesOf(keys: z.ZodObject): z.ZodObject {
  const shape = Object.entries(keys.shape).map(([key, schema]) => {
    const isWrapped = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional;
    const bare = (isWrapped ? schema.unwrap() : schema) as z.ZodType;
    return [key, z.optional(bare).describe(schema.description ?? bare.description ?? '')] as const;
  });
  return z.strictObject(Object.fromEntries(shape));
}

/** @param about  what `rank` asks */
export function judgedKeys(about: string) {
  return {
    rank: section(about, {
      episodes: positive
        .default(20)
        .describe('Episodes of each policy, in the dream and for real, from the same starts.'),
      policies: positive.min(8).default(10).describe('Policies of the ladder, from random to the best there is.'),
    }),
    sections: z
      .array(z.enum(FIDELITY_SECTIONS))
      .min(1)
      .default([...FIDELITY_SECTIONS])
      .describe('What is measured.'),
  };
}
