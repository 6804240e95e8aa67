// A language model as experience model, in the registry of backends.

import { z } from 'zod';
import type { BackendEntry } from '../tools/backend-model.js';
import type { LlmStepOptions } from './step-model.js';

const count = z.int().min(0);
const positive = z.int().min(1);

export const minConfidence = z
  .number()
  .min(0)
  .max(1)
  .default(0)
  .describe('Below this confidence the next backend is asked; without one: refused.');

export const llmSection = z
  .strictObject({
    retrieval: retrievalSection(
      'transitions',
      count.default(2).describe('Similar recorded transitions added to the prompt for each call; 0: none.'),
      positive.default(400).describe('Characters of one transition; longer observations are cut.'),
    ),
    historyTokens: count
      .default(2_000)
      .describe('Tokens of the conversation shown; a longer one restarts with its newest half.'),
    instructions: z
      .enum(['full', 'short'])
      .default('full')
      .describe(
        '`short`: omits policy, tools, schema and rules of the reply, for a model trained on this domain (export `world-model`).',
      ),
    stateTokens: positive
      .default(700)
      .describe('Tokens of the state shown in an episode; a larger state is cut to what its calls need.'),
    ...replyKeys('reply'),
    minConfidence,
  })
  .prefault({})
  .describe('Backend `llm`: a language model (section `llm` says which) as experience model.');

export const llmBackend: BackendEntry = {
  name: 'llm',
  summary: 'A language model as experience model.',
  schema: llmSection,
  minConfidence: ({ minConfidence }) => minConfidence as number,
  needs: ['model'],
  make: async () => {
    const { LlmStepModel } = await import('./step-model.js');
    return ({ model, index }, settings) =>
      model
        ? new LlmStepModel(model, settings as unknown as LlmStepOptions, index)
        : 'llm: no language model is configured';
  },
};

/** Retrieval of records, by what they are called: how many are shown and how much of each, unless told. */
function retrievalSection(called: string, k: z.ZodDefault<z.ZodInt>, maxChars: z.ZodDefault<z.ZodInt>) {
  return z
    .strictObject({
      k,
      sources: z
        .enum(['real', 'both'])
        .default('real')
        .describe('Show records of the real environment alone, or also what was simulated before.'),
      lag: count
        .default(256)
        .describe(
          `Of simulated ${called}, row r sees those of rows before r - lag, so that nothing depends on timing.`,
        ),
      maxChars,
      exceptOwnTask: z
        .boolean()
        .default(false)
        .describe(`Leave out ${called} of the task at hand, as when the model is measured.`),
    })
    .prefault({})
    .describe(`Retrieval of similar ${called}.`);
}

/** @param reply  what `maxTokens` is the length of */
export function replyKeys(reply: string) {
  return {
    temperature: z.number().min(0).max(2).default(0).describe('Sampling temperature.'),
    maxTokens: positive.default(4_096).describe(`Longest ${reply}, in tokens.`),
  };
}
