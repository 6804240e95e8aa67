// What a scenario says of the writer of pages: section `model.page-llm`.

import { z } from 'zod';
import { isScreenDomain } from '../../env/screens/screen-state.js';
import { minConfidence, replyKeys, retrievalSection } from '../../worldmodel/llm/entry.js';
import type { BackendEntry } from '../../worldmodel/tools/backend-model.js';

const count = z.int().min(0);
const positive = z.int().min(1);

export const pageLlmSection = z
  .strictObject({
    draft: z.boolean().default(true).describe('Another page is drafted in free text before it is written as a tree.'),
    retrieval: retrievalSection(
      'actions',
      count.default(3).describe('Recorded actions shown to the model, with what became of the screen; 0: none.'),
      positive.default(1_200).describe('Characters of one record. Few, as models copy what they are shown at length.'),
    ),
    memory: count
      .default(12)
      .describe('Lines of what later pages must agree with, kept in the state, newest last; 0: none.'),
    history: count
      .default(6)
      .describe('Earlier actions of the episode that are shown, with what became of the screen.'),
    screenTokens: positive
      .default(8_000)
      .describe('Tokens of the screen shown, four characters each; a longer one is cut around what is acted on.'),
    ...replyKeys('reply of a stage'),
    minConfidence,
  })
  // Without a default: where nobody asks for it, a scenario says nothing of it.
  .describe('Backend `page-llm`: a language model (section `llm` says which) that writes what pages become.');

export type PageLlmSettings = z.output<typeof pageLlmSection>;

/** Of the instructions, and of a screen of the middle size. */
const PROMPT_TOKENS = 1_500;
const CHARS_OF_TOKEN = 4;

export const pageLlmBackend: BackendEntry = {
  name: 'page-llm',
  summary: 'A language model that writes what pages become, in stages that are checked.',
  schema: pageLlmSection,
  trust: 'proposal',
  minConfidence: ({ minConfidence }) => minConfidence as number,
  needs: ['model'],
  asks: (settings) => {
    const { draft, retrieval } = settings as unknown as PageLlmSettings;
    // An overview, and mostly a change; another page takes a draft and a tree.
    const high = draft ? 3 : 2;
    const promptTokens = PROMPT_TOKENS + (retrieval.k * retrieval.maxChars) / CHARS_OF_TOKEN;
    return { requests: { value: 2, low: 1, high }, promptTokens };
  },
  make: async () => {
    const { PageModel } = await import('./page-model.js');
    return ({ domain, model, index }, settings) => {
      if (!isScreenDomain(domain)) return 'page-llm: the states of this domain are no screens';
      if (model === undefined) return 'page-llm: no language model is configured';
      return new PageModel(model, settings as unknown as PageLlmSettings, index);
    };
  },
};
