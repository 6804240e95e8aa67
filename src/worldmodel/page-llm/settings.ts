// What a scenario says of the writer of pages: section `model.page-llm`.

import { z } from 'zod';

const count = z.int().min(0);
const positive = z.int().min(1);
const share = z.number().min(0).max(1);

const retrievalKeys = z
  .strictObject({
    k: count.default(3).describe('Recorded actions shown to the model, with what became of the screen; 0: none.'),
    sources: z
      .enum(['real', 'both'])
      .default('real')
      .describe('Show records of the real environment alone, or also what was dreamt before.'),
    lag: count
      .default(256)
      .describe('Of dreamt actions, row r sees those of rows before r - lag, so that nothing depends on timing.'),
    maxChars: positive
      .default(1_200)
      .describe('Characters of one record. Few, as models copy what they are shown at length.'),
    exceptOwnTask: z
      .boolean()
      .default(false)
      .describe('Leave out records of the task at hand, as when the model is measured.'),
  })
  .prefault({})
  .describe('Retrieval of similar recorded actions.');

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
    retrieval: retrievalKeys,
    memory: count
      .default(12)
      .describe('Lines of what later pages must agree with, kept in the state, newest last; 0: none.'),
    history: count
      .default(6)
      .describe('Earlier actions of the episode that are shown, with what became of the screen.'),
    screenTokens: positive
      .default(8_000)
      .describe('Tokens of the screen shown, four characters each; a longer one is cut around what is acted on.'),
    temperature: z.number().min(0).max(2).default(0).describe('Sampling temperature.'),
    maxTokens: positive.default(4_096).describe('Longest reply of a stage, in tokens.'),
    minConfidence: share.default(0).describe('Below this confidence the next backend is asked; without one: refused.'),
  })
  // Without a default: where nobody asks for it, a scenario says nothing of it.
  .describe('Backend `page-llm`: a language model (section `llm` says which) that writes what pages become.');

export type PageLlmSettings = z.output<typeof pageLlmSection>;
