// Section `model` of a scenario of family tools or text: who answers calls, in which order, and what is believed.

import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';

const count = z.int().min(0);
const positive = z.int().min(1);
const share = z.number().min(0).max(1);

const backend = z.enum(['rules', 'replay', 'llm', 'real']);

const rulesKeys = z
  .strictObject({
    tools: z
      .union([z.enum(['all', 'reads']), z.array(z.string().min(1)).min(1)])
      .default('all')
      .describe('Tools that exact code answers: all it knows, those that change nothing (`reads`), or these by name.'),
  })
  .prefault({})
  .describe('Backend `rules`: exact code of the domain.');

const retrievalKeys = z
  .strictObject({
    k: count.default(20).describe('Similar recorded transitions shown to the model; 0: none.'),
    sources: z
      .enum(['real', 'both'])
      .default('real')
      .describe('Show records of the real environment alone, or also what was dreamt before.'),
    lag: count
      .default(256)
      .describe('Of dreamt transitions, row r sees those of rows before r - lag, so that nothing depends on timing.'),
    maxChars: positive.default(2_000).describe('Characters of one transition; longer observations are cut.'),
    exceptOwnTask: z
      .boolean()
      .default(false)
      .describe('Leave out transitions of the task at hand, as when the model is measured.'),
  })
  .prefault({})
  .describe('Retrieval of similar transitions.');

const llmKeys = z
  .strictObject({
    mode: z
      .enum(['typed', 'text'])
      .default('typed')
      .describe(
        '`typed`: the model proposes changes of a state, which are checked. `text`: it writes observations alone.',
      ),
    retrieval: retrievalKeys,
    historyTokens: count.default(4_000).describe('Tokens of the conversation shown, newest first.'),
    stateTokens: positive.default(6_000).describe('Tokens of the state shown; a larger state is cut to what matters.'),
    promptTokens: positive
      .nullable()
      .default(null)
      .describe(
        'Tokens of a whole prompt for a call, four bytes each; null: no limit. A longer one is cut to what the call is about, for models with a small window.',
      ),
    temperature: z.number().min(0).max(2).default(0).describe('Sampling temperature.'),
    maxTokens: positive.default(4_096).describe('Longest reply, in tokens.'),
    consistency: positive
      .max(32)
      .default(1)
      .describe('Samples taken of each step: the most frequent outcome is taken, its share is the confidence.'),
    minConfidence: share.default(0).describe('Below this confidence the next backend is asked; without one: refused.'),
  })
  .refine(({ consistency, temperature }) => consistency === 1 || temperature > 0, {
    path: ['temperature'],
    message: 'must be above 0 where consistency is above 1: equal samples agree about nothing',
  })
  .prefault({})
  .describe('Backend `llm`: a language model (section `llm` says which) as experience model.');

const checkKeys = z
  .strictObject({
    provenance: z
      .boolean()
      .default(true)
      .describe('Refuse answers that speak of ids which nothing knows. Their looks are learned from the state.'),
    idPatterns: z.array(regularExpression()).default([]).describe('Regular expressions of further ids.'),
    maxOperations: positive.default(200).describe('Changes that one call may make.'),
    maxObservationChars: positive.default(100_000).describe('Characters of an observation.'),
  })
  .prefault({})
  .describe('What an answer is checked for, beside schema, preconditions and invariants.');

export const toolsModelSchema = z.strictObject({
  kind: z.literal('tools').default('tools').describe('Calls of tools, answered by the first backend that can.'),
  backends: z
    .array(backend)
    .min(1)
    .refine((names) => new Set(names).size === names.length, 'names a backend twice')
    .default(['rules', 'replay', 'llm'])
    .describe(
      'Who is asked, in order: `rules` (exact code), `replay` (a recorded transition of the same call in the same state), `llm`, `real` (the real environment as proxy).',
    ),
  rules: rulesKeys,
  llm: llmKeys,
  check: checkKeys,
  truncateBelow: share.default(0).describe('An answer of lower confidence truncates the episode.'),
  downWeightBelow: share
    .default(0.5)
    .describe('Answers of lower confidence lower the weight of their episode, each by the factor it falls short.'),
});

export type ToolsModelConfig = z.output<typeof toolsModelSchema>;
export type ToolsModelConfigInput = z.input<typeof toolsModelSchema>;

/** @throws MODEL_CONFIG_INVALID */
export function parseToolsModelConfig(input: unknown): ToolsModelConfig {
  const result = toolsModelSchema.safeParse(input);
  if (result.success) return result.data;
  throw reverieError('MODEL_CONFIG_INVALID', { problem: describeIssues(result.error) });
}

function regularExpression() {
  return z.string().refine((source) => {
    try {
      return new RegExp(source, 'u') !== undefined;
    } catch {
      return false;
    }
  }, 'is no regular expression');
}
