// Section `model` of a scenario of family tools or text: who answers calls, in which order, and what is believed.

import { z } from 'zod';
import { describeIssues } from '../../core/errors.js';
import { STATE_CHECKS } from '../../env/tools/prediction.js';
import { settingInvalid } from '../dynamics.js';
import { llmSection } from '../llm/entry.js';
import { routerBackends } from './backends.js';
import { rulesSection } from './exact-backends.js';

/** What is asked where a scenario names no backends: `rules` and `replay` where the domain has them. */
export const DEFAULT_BACKENDS = ['rules', 'replay', 'llm'];

const share = z.number().min(0).max(1);

const checkKeys = z
  .strictObject({
    provenance: z
      .boolean()
      .default(true)
      .describe('Refuse answers that speak of ids which nothing knows. Their looks are learned from the state.'),
    outcome: z
      .boolean()
      .optional()
      .describe(
        'Refuse a success whose state does not show what calls like it do, or what the answer itself claims of its changes; on unless it is switched off, as to measure what it is worth.',
      ),
    skip: z
      .array(z.enum(STATE_CHECKS))
      .default([])
      .describe('State checks to skip for all tools; for one tool: `skipChecks` in `tools.yaml`. See docs/tools.md.'),
  })
  .prefault({})
  .describe('What an answer is checked for, beside schema, preconditions and invariants.');

/** What the section always has, and the sections of our own backends. */
const ownKeys = {
  kind: z.literal('tools').default('tools').describe('Calls of tools, answered by the first backend that can.'),
  backends: z.array(z.string()),
  rules: rulesSection,
  llm: llmSection,
  check: checkKeys,
  truncateBelow: share.default(0).describe('An answer of lower confidence truncates the episode.'),
  downWeightBelow: share
    .default(0.5)
    .describe('Answers of lower confidence lower the weight of their episode, each by the factor it falls short.'),
};

/** `rules`, `llm`, and whatever backends of plugins have to say, each under its name. */
export type ToolsModelConfig = z.output<z.ZodObject<typeof ownKeys>>;
export type ToolsModelConfigInput = Partial<z.input<z.ZodObject<typeof ownKeys>>>;

/** As it is with the backends that are registered now. @throws PLUGIN_UNUSABLE for a backend named as a key of it */
export function toolsModelSchema(): z.ZodType<ToolsModelConfig, ToolsModelConfigInput> {
  const { kind, check, truncateBelow, downWeightBelow } = ownKeys;
  const names = routerBackends.names();
  const backends = z
    .array(z.enum(names as [string, ...string[]]))
    .min(1)
    .refine((listed) => new Set(listed).size === listed.length, 'names a backend twice')
    .default(DEFAULT_BACKENDS)
    .describe(
      'Who is asked, in order: `rules` (rules.yaml or rules.js), `operators` (preconditions and effects found in records), `lifted` (recorded changes of screens, transferred to others), `sequence` (of games of text: a small language model fitted to records), `replay` (a recorded transition of the same call in the same state), `llm`, `page-llm` (a language model that writes pages), `real` (the real environment as proxy), or a backend of a plugin.',
    );
  const sections = routerBackends.list().flatMap(({ name, schema }) => {
    if (schema === undefined) return [];
    // What a backend must be told, it must be told where it is asked.
    return [[name, schema.safeParse(undefined).success ? schema : schema.optional()]];
  });
  const keys = { kind, backends, ...Object.fromEntries(sections), check, truncateBelow, downWeightBelow };
  return z.strictObject(keys) as unknown as z.ZodType<ToolsModelConfig, ToolsModelConfigInput>;
}

/** @throws SETTING_INVALID */
export function parseToolsModelConfig(input: unknown): ToolsModelConfig {
  const result = toolsModelSchema().safeParse(input);
  if (result.success) return result.data;
  throw settingInvalid(describeIssues(result.error));
}
