// Accepted rules from logs that hold whoever answers: when calls must fail, and what the state may never become. A language
// model's answers are held to them as to the preconditions and invariants of a domain's own rules.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { InducedRule, InducedRules } from '../../env/tools/induced-schema.js';
import { InducedBook } from './induced-outcome.js';

export interface HeldRules {
  /** Why the call must fail in this state; empty if nothing known speaks against it. */
  preconditions(state: JsonObject, call: CallSpec): readonly string[];
  /** What the step from one state to the next breaks: one sentence each. */
  invariants(before: JsonObject, after: JsonObject): readonly string[];
}

const NOTHING: HeldRules = { preconditions: () => [], invariants: () => [] };
const held = new WeakMap<InducedRules, HeldRules>();

/** @throws FILE_INVALID */
export function heldRules(induced: InducedRules | undefined): HeldRules {
  if (induced === undefined) return NOTHING;
  let rules = held.get(induced);
  if (rules === undefined) {
    rules = heldBy(induced);
    held.set(induced, rules);
  }
  return rules;
}

function heldBy({ rules }: InducedRules): HeldRules {
  const book = new InducedBook(rules, 'induced.yaml');
  const accepted = rules.filter((rule) => rule.accepted);
  return {
    preconditions: (state, call) => book.refusals(state, call),
    invariants: (before, after) => accepted.flatMap((rule) => brokenBy(rule, before, after)),
  };
}

function brokenBy(rule: InducedRule, before: JsonObject, after: JsonObject): string[] {
  switch (rule.kind) {
    case 'id-format': {
      const pattern = new RegExp(rule.pattern, 'u');
      return changed(rule.collection, before, after)
        .filter(({ key }) => !pattern.test(key))
        .map(({ key }) => `"${key}" is no id of ${rule.collection}: these are like ${rule.pattern}.`);
    }
    case 'constant':
      return changed(rule.collection, before, after).flatMap(({ key, was, is }) => {
        const field = was === undefined ? undefined : rule.fields.find((each) => was[each] !== is[each]);
        return field === undefined ? [] : [`${rule.collection} ${key}: no tool changes ${field}.`];
      });
    case 'values':
      return changed(rule.collection, before, after)
        .filter(({ is }) => rule.field in is && !rule.values.includes(is[rule.field]))
        .map(({ key, is }) => `${rule.collection} ${key}: ${rule.field} is never ${JSON.stringify(is[rule.field])}.`);
    case 'refers':
      return changed(rule.collection, before, after)
        .filter(({ is }) => rule.field in is && !isThere(after[rule.to], is[rule.field]))
        .map(
          ({ key, is }) => `${rule.collection} ${key}: there is no ${JSON.stringify(is[rule.field])} in ${rule.to}.`,
        );
    default:
      return [];
  }
}

interface Changed {
  readonly key: string;
  readonly was?: JsonObject;
  readonly is: JsonObject;
}

/** Records that are not the same object as before. */
function changed(collection: string, before: JsonObject, after: JsonObject): Changed[] {
  const [old, now] = [before[collection], after[collection]];
  if (!isJsonObject(now) || old === now) return [];
  return Object.entries(now).flatMap(([key, is]) => {
    const was = isJsonObject(old) && Object.hasOwn(old, key) ? old[key] : undefined;
    if (was === is || !isJsonObject(is)) return [];
    return [{ key, is, ...(isJsonObject(was) ? { was } : {}) }];
  });
}

function isThere(records: Json | undefined, key: Json): boolean {
  return isJsonObject(records) && Object.hasOwn(records, String(key));
}
