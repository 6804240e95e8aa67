// Settings that every backend has which asks the scenario's language model: which records are shown beside the call, and how it replies.

import { z } from 'zod';

const count = z.int().min(0);
const positive = z.int().min(1);

/** Retrieval of records, by what they are called: how many are shown and how much of each, unless told. */
export function retrievalSection(called: string, k: z.ZodDefault<z.ZodInt>, maxChars: z.ZodDefault<z.ZodInt>) {
  return z
    .strictObject({
      k,
      sources: z
        .enum(['real', 'both'])
        .default('real')
        .describe('Show records of the real environment alone, or also what was dreamt before.'),
      lag: count
        .default(256)
        .describe(`Of dreamt ${called}, row r sees those of rows before r - lag, so that nothing depends on timing.`),
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

export const minConfidence = z
  .number()
  .min(0)
  .max(1)
  .default(0)
  .describe('Below this confidence the next backend is asked; without one: refused.');
