// The networks that a policy of text can be: a folder and a line each.

import type { ZodType } from 'zod';
import { type Entry, Registry } from '../../core/registry.js';
import type { Rng } from '../../core/rng.js';
import { decoderPolicySchema } from './decoder/settings.js';
import { relevanceSchema } from './relevance.js';
import type { TextLearner, TextObjective } from './text-policy.js';

/**
 * A fresh learner; `settings` are what the entry's schema makes of a scenario's.
 * @param folder what paths in the settings are relative to
 */
export type MakeTextLearner = (
  settings: never,
  objective: TextObjective,
  rng: Rng,
  folder?: string,
) => Promise<TextLearner>;

export interface TextNetworkEntry extends Entry<MakeTextLearner> {
  readonly schema: ZodType;
  /** Its section is in a scenario only where it was written: a default would change the hashes of all others. */
  readonly isOptional?: true;
}

const relevance: TextNetworkEntry = {
  name: 'relevance',
  summary: 'Scores each admissible command by its words and those of what was told (in the class of DRRN, 1511.04636).',
  schema: relevanceSchema,
  make: async () => (await import('./relevance.js')).makeRelevance,
};

const decoder: TextNetworkEntry = {
  name: 'decoder',
  summary:
    'Writes an admissible command token by token: a language model of the Llama architecture, along the trie of the commands.',
  schema: decoderPolicySchema,
  isOptional: true,
  make: async () => (await import('./decoder/decoder-learner.js')).makeDecoderLearner,
};

export const textNetworks = new Registry<TextNetworkEntry>('text network', [relevance, decoder]);
