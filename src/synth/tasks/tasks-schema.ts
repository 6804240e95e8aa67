// Scenario section `tasks`: how new tasks are made from given ones, which are admitted, and which are tried next.

import { z } from 'zod';
import { Curriculum, type CurriculumTask } from './curriculum.js';
import {
  alphaReward,
  type CurriculumScore,
  clamp,
  lossBand,
  noiseSchedule,
  novelty,
  outcomeVariance,
  product,
  weighted,
} from './curriculum-scores.js';
import { STRATEGIES } from './proposal.js';

const positive = z.int().min(1);
const count = z.int().min(0);
const share = z.number().min(0).max(1);

const term = {
  weight: z.number().min(0).default(1).describe('Factor of the score in a sum; without meaning in a product.'),
  clamp: z
    .tuple([z.number(), z.number()])
    .refine(([low, high]) => low <= high, 'the lower bound must not be above the upper')
    .optional()
    .describe('Bounds the score is kept within, e.g. `[0.05, 1]`.'),
};

const scoreSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z
      .literal('outcomeVariance')
      .describe('Variance of the latest rewards (DreamGym, 2511.03773): largest where half of the episodes succeed.'),
    ...term,
    prior: z.number().min(0).default(0.25).describe('Score of a task with fewer than two judged episodes.'),
  }),
  z.strictObject({
    kind: z.literal('alphaReward').describe('exp(-beta (p - alpha)^2) of the mean reward p (GenEnv, 2512.19682).'),
    ...term,
    alpha: share.default(0.5).describe('Mean reward aimed at.'),
    beta: z.number().positive().default(8).describe('How sharply tasks off the aim lose.'),
  }),
  z.strictObject({
    kind: z
      .literal('lossBand')
      .describe("1 where the student's loss ranks within the band, else 0 (UI-Simulator-Grow, 2510.14969)."),
    ...term,
    low: share.default(0.25).describe('Lower end of the band, as a share of the tasks.'),
    high: share.default(0.75).describe('Upper end of the band, as a share of the tasks.'),
  }),
  z.strictObject({
    kind: z.literal('noiseSchedule').describe('Brings in hard tasks as the job goes on (ZeroSearch, 2505.04588).'),
    ...term,
    start: share.default(0).describe('Probability of a hard task at the start.'),
    end: share.default(0.5).describe('Probability of a hard task at the end.'),
    base: z.number().min(1).default(4).describe('Curvature: 1 is linear, larger values rise later.'),
  }),
  z.strictObject({
    kind: z.literal('novelty').describe('1 / sqrt(1 + attempts): tasks tried less are worth more.'),
    ...term,
  }),
]);

export const curriculumSchema = z
  .strictObject({
    scores: z
      .array(scoreSchema)
      .min(1)
      .prefault([{ kind: 'outcomeVariance' }])
      .describe('What a task is worth being tried next: scores by name, each with its settings.'),
    combine: z.enum(['sum', 'product']).default('sum').describe('How several scores become one.'),
    syntheticCap: share
      .default(0.5)
      .describe('Largest share of rows whose task was made from others, so that the given tasks stay covered.'),
    exploration: share.default(0.1).describe('Share of rows whose task is drawn evenly, whatever the scores say.'),
    lag: positive
      .default(64)
      .describe('A row sees the outcomes of rows more than this many before it. Results depend on it, not on timing.'),
    window: z.int().min(2).default(8).describe('Latest judged episodes of a task that its scores look at.'),
  })
  .prefault({})
  .describe('Which task a row tries: drawn in proportion to scores of what became of earlier rows.');
export type CurriculumConfig = z.output<typeof curriculumSchema>;

const variationSchema = z
  .strictObject({
    count: count.default(0).describe('New tasks wanted; 0: the given tasks alone.'),
    strategies: z
      .array(z.enum(STRATEGIES))
      .min(1)
      .default(['entity-swap', 'persona', 'compose'])
      .describe(
        'Ways a task is varied, taken in turn. `harder`, `easier`, `rephrase` and, of screens, `propose` ask a language model.',
      ),
    overGeneration: z
      .number()
      .min(1)
      .default(3)
      .describe('Proposals made at most for each task wanted, as some are not admitted.'),
    personas: z
      .array(z.string().min(1).max(500))
      .default([])
      .describe('Personas for strategy `persona`; empty: a built-in list.'),
    attempts: positive
      .default(2)
      .describe('Times a language model is asked for one proposal before it counts as failed.'),
    judges: count
      .optional()
      .describe(
        'Judges (`roles.judge`) who must all find that what was found for strategy `propose` is done; default 3.',
      ),
    steps: positive.optional().describe('Actions in which a way for strategy `propose` must be found; default 12.'),
  })
  .prefault({})
  .describe('Making tasks from the given ones.');

export const admissionSchema = z
  .strictObject({
    nearDuplicate: share
      .default(0.9)
      .describe('A task is refused whose words overlap another’s by more than this (Jaccard index of 3-grams).'),
    contaminationWords: positive
      .default(8)
      .describe(
        'A task is refused that shares this many words in a row with one for validation or test, and not with its seed.',
      ),
    maxFailures: positive
      .default(8)
      .describe('Ways to fail tried on the verifier, made from the reference solution, beside those that are given.'),
  })
  .prefault({})
  .describe('Which proposals become tasks: those whose reference passes their verifier and whose failures do not.');
export type AdmissionConfig = z.output<typeof admissionSchema>;

const seedFilterSchema = z
  .strictObject({
    replay: z
      .boolean()
      .default(true)
      .describe('Play calls of the logs again where rules exist, and compare the answers.'),
    opinion: z.boolean().default(false).describe('Ask a language model, too, whether a log makes sense.'),
  })
  .prefault({})
  .describe('Which seed logs are left out as incomplete, illogical or badly formatted.');
export type SeedFilterConfig = z.output<typeof seedFilterSchema>;

export const tasksSchema = z
  .strictObject({
    seeds: seedFilterSchema,
    variation: variationSchema,
    admission: admissionSchema,
    curriculum: curriculumSchema,
  })
  .prefault({})
  .describe('Tasks: making new ones from those given, and choosing among them.');
export type TasksConfig = z.output<typeof tasksSchema>;

/**
 * The curriculum a scenario describes.
 * @param rows of the whole job; `group` rows in a row share a task
 * @throws CURRICULUM_INVALID
 */
export function makeCurriculum(
  config: CurriculumConfig,
  tasks: readonly CurriculumTask[],
  { rows, group }: { rows?: number; group?: number } = {},
): Curriculum {
  const scores = config.scores.map((entry) => ({ entry, score: scoreOf(entry) }));
  const parts = Object.fromEntries(scores.map(({ entry, score }, i) => [nameOf(config, i, entry.kind), score]));
  const score =
    config.combine === 'product'
      ? product(...scores.map(({ score }) => score))
      : weighted(scores.map(({ entry, score }) => [score, entry.weight]));
  const { syntheticCap, exploration, lag, window } = config;
  return new Curriculum(tasks, { score, parts, syntheticCap, exploration, lag, window, rows, group });
}

/** A kind that is given twice is told apart by its place. */
function nameOf({ scores }: CurriculumConfig, index: number, kind: string): string {
  return scores.filter((entry) => entry.kind === kind).length === 1 ? kind : `${kind}#${index}`;
}

function scoreOf(entry: CurriculumConfig['scores'][number]): CurriculumScore {
  const score = bareScoreOf(entry);
  return entry.clamp === undefined ? score : clamp(score, entry.clamp[0], entry.clamp[1]);
}

function bareScoreOf(entry: CurriculumConfig['scores'][number]): CurriculumScore {
  switch (entry.kind) {
    case 'outcomeVariance':
      return outcomeVariance(entry);
    case 'alphaReward':
      return alphaReward(entry);
    case 'lossBand':
      return lossBand(entry);
    case 'noiseSchedule':
      return noiseSchedule(entry);
    case 'novelty':
      return novelty();
  }
}
