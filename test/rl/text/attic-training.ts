// Training in a small game of ours: its parts, for tests of policies of text and of their loop.

import { Rng } from '../../../src/core/rng.js';
import { textEnvironment } from '../../../src/env/tools/text-environment.js';
import { gamesDomain } from '../../../src/games/pddl/text-game.js';
import { groupEstimators } from '../../../src/rl/group-estimators.js';
import { relevanceSchema } from '../../../src/rl/text/relevance.js';
import { TextLearner, type TextObjective } from '../../../src/rl/text/text-learner.js';
import { newProgress, type TextGroupSettings, type TextTraining } from '../../../src/training/text-training.js';
import { rulesEnvironment } from '../../env/tools/library.js';
import { ATTIC, ATTIC_PROBLEM } from '../../games/attic.js';

/**
 * Games that differ in what has to lie in the chest, told apart by the words of the goal.
 * @param reached what is taken for that, of a thing: in a world that is wrong about wins
 */
export function attics(reached = (thing: string) => `(in ${thing} chest)`) {
  const game = (id: string, split: 'train' | 'test', thing: 'book' | 'torch') => ({
    id,
    split,
    read: () => ({
      ...ATTIC,
      problem: ATTIC_PROBLEM.replace(/\(:goal .*\)/, `(:goal ${reached(thing)}))`),
      grammar: ATTIC.grammar.replace('Up in the attic.', `Up in the attic. Put the ${thing} into the chest!`),
      goal: `Put the ${thing} into the chest!`,
      walkthrough: ['open crate', `take ${thing} from crate`, 'go to south', 'open chest', `put ${thing} into chest`],
    }),
  });
  return gamesDomain({
    id: 'attics',
    version: '1',
    games: [game('book', 'train', 'book'), game('torch', 'train', 'torch'), game('held-out', 'test', 'book')],
  });
}

export function attic(domain = attics(), maxSteps = 15) {
  return textEnvironment(rulesEnvironment(domain, { maxSteps }));
}

export const PLAIN: TextObjective = { clipLow: 0.2, clipHigh: 0.28, klCoefficient: 0, entropyCoefficient: 0 };

export const relevance = (seed: number, objective = PLAIN) => {
  const settings = relevanceSchema.parse({ vocabulary: 512, embedding: 8, hidden: [32, 16], rows: 16 });
  return TextLearner.make(settings, objective, Rng.fromSeed(seed));
};

const SETTINGS: TextGroupSettings = {
  seed: 1,
  mode: 'real',
  rounds: 12,
  realRounds: 0,
  gatherEvery: Number.POSITIVE_INFINITY,
  clipLow: 0.2,
  clipHigh: 0.28,
  rewards: 'paid',
  tasksPerRound: 2,
  groupSize: 8,
  epochs: 2,
  lr: 3e-3,
  clone: { tasks: 0, epochs: 0, lr: 3e-3 },
  evalEvery: 100,
  evalChoice: 'sample',
  checkEpisodes: 0,
  normalise: true,
  gamma: 0.95,
};

export interface AtticTraining extends Partial<TextGroupSettings> {
  readonly estimator?: string;
}

export async function atticTraining(given: AtticTraining = {}) {
  const { estimator = 'grpo', ...settings } = given;
  const domain = attics();
  const told: { kind: string; [key: string]: unknown }[] = [];
  const valueCoefficient = groupEstimators.get(estimator).hasCritic ? 0.5 : 0;
  const learner = await relevance(settings.seed ?? 1, { ...PLAIN, valueCoefficient });
  const training: TextTraining = {
    settings: { ...SETTINGS, ...settings },
    parts: {
      learner,
      algorithm: groupEstimators.get(estimator),
      environments: Array.from({ length: 16 }, () => attic(domain)),
      evalEnvironments: Array.from({ length: 16 }, () => attic(domain)),
      walkthrough: (task) => task.reference?.calls.map((call) => String(call.arguments.text)) ?? [],
      tasks: domain.tasks.filter(({ split }) => split === 'train'),
      evalTasks: Array.from({ length: 16 }, () => domain.tasks.find(({ split }) => split === 'test')!),
    },
    progress: newProgress(),
    ports: {
      signal: new AbortController().signal,
      phase: () => ({ advance() {}, set() {}, end() {} }),
      tell: (event) => told.push(event),
      warn: () => {},
      checkpoint: async () => {},
    },
  };
  return { training, learner, domain, told };
}
