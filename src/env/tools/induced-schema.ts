// The form of a domain's induced.yaml: rules found in logs, each with what speaks for and against it. A rule counts once a
// person has set `accepted: true`. What its expressions mean is said in src/worldmodel/induced/expression.ts.

import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';

const name = z.string().min(1).max(128);
const value = z.json() as unknown as z.ZodType<Json>;
const expression = z.string().min(1).max(1000);

/** What was seen of a rule in the logs, and what was decided about it. */
const evidence = {
  id: name,
  accepted: z.boolean(),
  support: z.int().min(0),
  seen: z.array(z.string()).default([]),
  counterExamples: z.array(z.string()).default([]),
  alternatives: z.array(expression).default([]),
};

/** Values that an expression had in the calls of the logs: at any other, nothing is known of the call. */
const known = z.record(expression, z.array(value)).default({});
/** The sets of arguments that calls were given, by name. */
const given = z.array(z.array(name)).default([]);
/** Ids of the rules that must be accepted too. */
const needs = z.array(name).default([]);

const ruleSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...evidence, kind: z.literal('refuse'), tool: name, when: expression, error: z.string() }),
  z.strictObject({ ...evidence, kind: z.literal('set'), tool: name, target: expression, to: expression }),
  z.strictObject({
    ...evidence,
    kind: z.literal('add'),
    tool: name,
    collection: name,
    key: expression,
    fields: z.record(name, expression),
  }),
  z.strictObject({
    ...evidence,
    kind: z.literal('answer'),
    tool: name,
    given,
    known,
    needs,
    fields: z.record(name, expression),
  }),
  z.strictObject({
    ...evidence,
    kind: z.literal('list'),
    tool: name,
    given,
    known,
    collection: name,
    where: z.array(expression),
    order: expression,
    fields: z.array(name),
    within: name.optional(),
  }),
  z.strictObject({ ...evidence, kind: z.literal('sentence'), tool: name, given, known, needs, text: z.string() }),
  z.strictObject({ ...evidence, kind: z.literal('id-format'), collection: name, pattern: z.string() }),
  z.strictObject({ ...evidence, kind: z.literal('constant'), collection: name, fields: z.array(name) }),
  z.strictObject({
    ...evidence,
    kind: z.literal('values'),
    collection: name,
    field: name,
    values: z.array(value),
  }),
  z.strictObject({ ...evidence, kind: z.literal('refers'), collection: name, field: name, to: name }),
]);

export const inducedFileSchema = z.strictObject({
  format: z.literal('reverie-induced-rules-1'),
  from: z.strictObject({ conversations: z.int(), calls: z.int(), sha256: z.string() }),
  rules: z.array(ruleSchema),
  /** What was seen and no rule was found for: one sentence each. */
  unexplained: z.array(z.string()).default([]),
});

export type InducedRules = z.output<typeof inducedFileSchema>;
export type InducedRule = z.output<typeof ruleSchema>;
export type InducedRuleOf<K extends InducedRule['kind']> = Extract<InducedRule, { kind: K }>;
