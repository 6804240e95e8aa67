// A start for a domain that nobody has written rules for: a state, its schema, and rules, each with what speaks for and against
// it, from records of what its tools answered. In the way of Daikon's likely invariants (Ernst et al., 2007) and of action models
// from plan traces (ARMS, Yang et al., 2007): a grammar of simple hypotheses, of which those stay that no record contradicts.
// Two rounds: what the first finds that calls change, the second knows of the state that later calls were made in.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { InducedRule, InducedRules } from '../../env/tools/induced-schema.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Scope } from '../../worldmodel/induced/expression.js';
import { InducedBook } from '../../worldmodel/induced/induced-outcome.js';
import { answerOf } from './answers.js';
import {
  type Beliefs,
  beliefsOf,
  type Foretell,
  isChange,
  listed,
  overlaid,
  type Records,
  type Sighting,
  StateShape,
  scopeOf,
} from './candidates.js';
import { type Draft, named } from './drafts.js';
import { effectsOf, type Found, together } from './effects.js';
import { invariantsOf } from './invariants.js';
import { type ObservedLog, observedLogs } from './observed.js';
import { refusalsOf } from './refusals.js';

export interface Induction {
  readonly rules: InducedRules;
  readonly state: JsonObject;
  readonly schema: JsonObject;
  readonly logs: readonly ObservedLog[];
  readonly beliefs: Beliefs;
}

const ROUNDS = 2;

/** From episodes of logs, without rules of the domain. The same logs give the same answer, to the byte. */
export function induce(episodes: readonly EpisodeRecord[], domain: Pick<ToolsDomain, 'tools'>): Induction {
  const logs = observedLogs(episodes, domain);
  let rules: InducedRule[] = [];
  let found: Found = { drafts: [], unexplained: [] };
  let beliefs = beliefsOf(logs);
  for (let round = 0; round < ROUNDS; round++) {
    beliefs = beliefsOf(logs, foretelling(rules));
    found = rulesFrom(beliefs, domain);
    rules = named(found.drafts);
  }
  const calls = logs.flatMap((log) => log.calls);
  const from = {
    conversations: logs.length,
    calls: calls.length,
    sha256: sha256(canonicalJson(episodes.map(({ messages }) => messages))),
  };
  return {
    rules: { format: 'reverie-induced-rules-1', from, rules, unexplained: [...found.unexplained] },
    state: beliefs.initial as JsonObject,
    schema: schemaOf(beliefs),
    logs,
    beliefs,
  };
}

function rulesFrom(beliefs: Beliefs, { tools }: Pick<ToolsDomain, 'tools'>): Found {
  const shape = new StateShape(beliefs);
  const ofTools = tools.map((tool): Found => {
    const own = beliefs.sightings.filter(({ call }) => call.tool === tool);
    const done = own.filter(({ call }) => !call.isError);
    const effects = effectsOf(tool, done, shape);
    const rules = named(effects.drafts);
    const after = (sighting: Sighting) => scopeAfter(rules, sighting);
    return together([refusalsOf(tool, own, shape), effects, answerOf(tool, done, rules, shape, after)]);
  });
  const held: Draft[] = invariantsOf(beliefs, shape);
  return together([...ofTools, { drafts: held, unexplained: [] }]);
}

/** The state after a call, as the logs show it; `new` is the key of what it added. */
function scopeAfter(rules: readonly InducedRule[], { call, before, after, added }: Sighting): Scope {
  const foretold = applyOperations(before as JsonObject, foretelling(rules)(before as JsonObject, call));
  const given = added === undefined ? call.arguments : { ...call.arguments, new: added.key };
  return scopeOf(overlaid(foretold as unknown as Records, after), given);
}

/** What the rules, were all accepted, say that a successful call changes. */
function foretelling(rules: readonly InducedRule[]): Foretell {
  const effects = rules.filter(({ kind }) => kind === 'set' || kind === 'add');
  const book = new InducedBook(
    effects.map((rule) => ({ ...rule, accepted: true })),
    'rules of the first round',
  );
  return (state, call) =>
    isChange(call) ? book.changes(state, { name: call.tool.name, arguments: call.arguments }) : [];
}

/** Types of all fields that were seen; those that every record has are required. */
function schemaOf({ starts, ends }: Beliefs): JsonObject {
  const records = [...starts, ...ends].flatMap(listed);
  const collections = [...new Set(records.map(({ collection }) => collection))].sort();
  return {
    type: 'object',
    required: collections,
    additionalProperties: false,
    properties: Object.fromEntries(
      collections.map((name) => [name, collectionSchema(records.filter(({ collection }) => collection === name))]),
    ),
  };
}

function collectionSchema(records: readonly { readonly fields: JsonObject }[]): JsonObject {
  const names = [...new Set(records.flatMap(({ fields }) => Object.keys(fields)))];
  const required = names.filter((field) => records.every(({ fields }) => field in fields));
  const properties = names.map((field) => {
    const types = records.flatMap(({ fields }) => (field in fields ? [typeOf(fields[field])] : []));
    const distinct = [...new Set(types)].sort();
    const wide = distinct.includes('number') ? distinct.filter((type) => type !== 'integer') : distinct;
    return [field, { type: wide.length === 1 ? wide[0] : wide }];
  });
  const item = { type: 'object', required, additionalProperties: false, properties: Object.fromEntries(properties) };
  return { type: 'object', additionalProperties: item };
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
