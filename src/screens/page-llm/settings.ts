// What a scenario says of the writer of pages: section `model.page-llm`.

import { z } from 'zod';
import { minConfidence, replyKeys, retrievalSection } from '../../worldmodel/llm/asking.js';

const count = z.int().min(0);
const positive = z.int().min(1);

export const pageLlmSection = z
  .strictObject({
    mode: z
      .enum(['tree', 'html'])
      .default('tree')
      .describe(
        '`tree`: another page is told, drafted and then written as a tree of elements; a change is written as JSON Patch. `html`: the page after the action is written as HTML, which is drawn without scripts and read as real pages are.',
      ),
    draft: z
      .boolean()
      .default(true)
      .describe('Mode `tree`: another page is drafted in free text before it is written as a tree.'),
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
