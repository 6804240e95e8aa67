// Worlds of text that others wrote in Java and brought out as Python packages, which the user has: TextWorldExpress (Jansen and
// Côté, "TextWorldExpress: Simulating Text Games at One Million Steps Per Second", arXiv 2208.01174) and ScienceWorld (Wang et al.,
// "ScienceWorld: Is your Agent Smarter than a 5th Grader?", arXiv 2203.07540).

import { resolve } from 'node:path';
import { definePlugin, z } from 'reverie/extend';

/** The authors' folds, and what each is for. */
const SPLITS = { train: 'train', dev: 'validation', test: 'test' };

// Both domains have these very objects, so that each is one key of the section.
const keys = {
  jar: z
    .string()
    .min(1)
    .optional()
    .describe(
      'textworld-express, scienceworld: the jar or its folder, relative to the scenario; default: $TEXTWORLD_EXPRESS_JAR or $SCIENCEWORLD_JAR, else where Python has the package',
    ),
  only: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('textworld-express, scienceworld: games or tasks by their names; default: all'),
  folds: z
    .array(z.enum(Object.keys(SPLITS)))
    .min(1)
    .optional()
    .describe("textworld-express, scienceworld: the authors' folds; default: all three"),
  each: z
    .number()
    .int()
    .positive()
    .optional()
    .describe(
      'textworld-express: seeds of each game and fold; default 10, at most 1,000. scienceworld: variations of each task and fold; default 2',
    ),
};

const textWorldExpress = {
  name: 'textworld-express',
  summary: 'The eight games of TextWorldExpress, from the jar that the user has.',
  schema: z.strictObject({
    ...keys,
    parameters: z
      .record(z.string(), z.record(z.string(), z.union([z.number().int(), z.boolean()])))
      .optional()
      .describe('textworld-express: parameters by game, e.g. { coin: { numLocations: 5 } }; default: those of the jar'),
  }),
  load: () => import('./textworld-express.mjs'),
};

const scienceWorld = {
  name: 'scienceworld',
  summary: 'The thirty tasks of ScienceWorld, from the jar that the user has.',
  schema: z.strictObject({
    ...keys,
    simplifications: z
      .array(z.string().min(1))
      .optional()
      .describe('scienceworld: e.g. [easy] or [teleportAction, openDoors]; default: none'),
  }),
  load: () => import('./scienceworld.mjs'),
};

/** An entry; what it loads has `domainOf(settings, folder, splits)`. */
function entryOf({ name, summary, schema, load }) {
  return {
    name,
    summary,
    schema,
    files: ({ jar }, folder) => (jar?.endsWith('.jar') ? [resolve(folder, jar)] : []),
    make: async () => {
      const { domainOf } = await load();
      return async (given, folder) => domainOf(schema.parse(given), folder, SPLITS);
    },
  };
}

export default definePlugin({ domains: [entryOf(textWorldExpress), entryOf(scienceWorld)] });
