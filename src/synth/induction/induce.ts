// A start for a domain that nobody has written rules for: a state, its schema, and rules, each with what speaks for and against
// it, from records of what its tools answered. In the way of Daikon's likely invariants (Ernst et al., 2007) and of action models
// from plan traces (ARMS, Yang et al., 2007): a grammar of simple hypotheses, of which those stay that no record contradicts.
// Two rounds: what the first finds that calls change, the second knows of the state that later calls were made in.

import { canonicalJson, type Json, type JsonObject, sha256 } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { InducedRule, InducedRules } from '../../env/tools/induced-schema.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { InducedBook } from '../../worldmodel/induced/induced-model.js';
import { distinct, StateShape, scopeOf } from './explain.js';
import {
  type Beliefs,
  beliefsOf,
  isChange,
  listed,
  type ObservedLog,
  observedLogs,
  overlaid,
  type Predict,
  type Records,
  type Sighting,
} from './observed.js';
import { answersOf, effectsOf, type Found, invariantsOf, named, refusalsOf, together } from './rules.js';

export interface Induction {
  readonly rules: InducedRules;
  readonly state: JsonObject;
  readonly schema: JsonObject;
  readonly logs: readonly ObservedLog[];
  readonly beliefs: Beliefs;
}

/** From episodes of logs, without rules of the domain. The same logs give the same answer, to the byte. */
export function induce(episodes: readonly EpisodeRecord[], domain: Pick<ToolsDomain, 'tools'>): Induction {
  const logs = observedLogs(episodes, domain);
  const first = rulesFrom(beliefsOf(logs), domain);
  const beliefs = beliefsOf(logs, predicting(named(first.drafts)));
  const { drafts, unexplained } = rulesFrom(beliefs, domain);
  const from = {
    conversations: logs.length,
    calls: logs.flatMap((log) => log.calls).length,
    sha256: sha256(canonicalJson(episodes.map(({ messages }) => messages))),
  };
  return {
    rules: { format: 'reverie-induced-rules-1', from, rules: named(drafts), unexplained: [...unexplained] },
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
    const done = { tool, sightings: own.filter(({ call }) => !call.isError), shape };
    const effects = effectsOf(done);
    const rules = named(effects.drafts);
    const answers = answersOf({ ...done, effects: rules, after: (sighting) => scopeAfter(rules, sighting) });
    return together([refusalsOf({ ...done, sightings: own }), effects, answers]);
  });
  return together([...ofTools, { drafts: invariantsOf(beliefs, shape), unexplained: [] }]);
}

/** The state after a call, as the logs show it; `new` is the key of what it added. */
function scopeAfter(rules: readonly InducedRule[], { call, before, after, added }: Sighting) {
  const predicted = applyOperations(before as JsonObject, predicting(rules)(before as JsonObject, call));
  const given = added === undefined ? call.arguments : { ...call.arguments, new: added.key };
  return scopeOf(overlaid(predicted as unknown as Records, after), given);
}

/** What the rules, were all accepted, say that a successful call changes. */
function predicting(rules: readonly InducedRule[]): Predict {
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
  const collections = distinct(records.map(({ collection }) => collection)).sort();
  const schemas = collections.map((name) => {
    const fields = records.filter(({ collection }) => collection === name).map((record) => record.fields);
    return [name, { type: 'object', additionalProperties: recordSchema(fields) }];
  });
  const properties = Object.fromEntries(schemas);
  return { type: 'object', required: collections, additionalProperties: false, properties };
}

function recordSchema(records: readonly JsonObject[]): JsonObject {
  const names = distinct(records.flatMap((fields) => Object.keys(fields)));
  const required = names.filter((field) => records.every((fields) => field in fields));
  const properties = names.map((field) => {
    const types = distinct(records.flatMap((fields) => (field in fields ? [typeOf(fields[field])] : []))).sort();
    const wide = types.includes('number') ? types.filter((type) => type !== 'integer') : types;
    return [field, { type: wide.length === 1 ? wide[0] : wide }];
  });
  return { type: 'object', required, additionalProperties: false, properties: Object.fromEntries(properties) };
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
