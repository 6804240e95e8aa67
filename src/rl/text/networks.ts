// The networks that a policy of text can be: a folder and a line each.

import type { ZodType } from 'zod';
import { type Entry, Registry } from '../../core/registry.js';
import type { Rng } from '../../core/rng.js';
import type { OpenSession } from '../../nn/trainer.js';
import { elementsNetwork, elementsSchema } from './elements.js';
import { relevanceNetwork, relevanceSchema } from './relevance.js';
import type { TextValueModel } from './scored-learner.js';
import type { ScoringNetwork } from './scoring.js';
import type { TextLearner, TextObjective } from './text-policy.js';

/**
 * A fresh learner; `settings` are what the entry's schema makes of a scenario's.
 * @param open   runs its gradient steps; in the calling thread unless given
 */
type MakeTextLearner = (
  settings: never,
  objective: TextObjective,
  rng: Rng,
  open?: OpenSession,
) => Promise<TextLearner>;

/** A fresh value model, likewise. */
type MakeTextValues = (settings: never, rng: Rng) => Promise<TextValueModel>;

interface TextNetworkEntry extends Entry<MakeTextLearner> {
  readonly schema: ZodType;
  /** Where it can also say what each command is worth (`train.mode: value`). */
  readonly makeValues?: () => Promise<MakeTextValues>;
}

/** A network that gives each command a score is a learner and a value model without more. */
function scored<Settings extends object>(
  about: Pick<TextNetworkEntry, 'name' | 'summary' | 'schema'>,
  networkOf: (settings: Settings) => ScoringNetwork<unknown>,
): TextNetworkEntry {
  return {
    ...about,
    make: async () => {
      const { makeScoredLearner } = await import('./scored-learner.js');
      return (given: Settings, objective, rng, open) => {
        const settings = (objective.valueCoefficient ?? 0) > 0 ? { critic: true, ...given } : given;
        return makeScoredLearner(networkOf(settings), objective, rng, open);
      };
    },
    makeValues: async () => {
      const { makeScoredValues } = await import('./scored-learner.js');
      return (settings: Settings, rng) => makeScoredValues(networkOf(settings), rng);
    },
  };
}

const relevance = scored(
  {
    name: 'relevance',
    summary:
      'Scores each admissible command by its words and those of what was told (in the class of DRRN, 1511.04636).',
    schema: relevanceSchema,
  },
  relevanceNetwork,
);

const elements = scored(
  {
    name: 'elements',
    summary:
      "Scores each action on a screen by its element and that element's neighbours (in the class of DOM-Q-NET, 1902.07257).",
    schema: elementsSchema,
  },
  elementsNetwork,
);

export const textNetworks = new Registry<TextNetworkEntry>('text network', [relevance, elements]);
