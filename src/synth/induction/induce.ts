// A start for a domain without written rules: a state, its schema, and rules, each with what speaks for and against
// it, from records of what its tools answered. In the way of Daikon's likely invariants (Ernst et al., 2007) and of action models
// from plan traces (ARMS, Yang et al., 2007): a grammar of simple hypotheses, of which those stay that no record contradicts.
// Two rounds: what the first finds that calls change, the second knows of the state that later calls were made in.

import { canonicalJson, isJsonObject, type Json, type JsonObject, sha256 } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { InducedRule, InducedRules } from '../../env/tools/induced-schema.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { isName, nextId, type Scope } from '../../worldmodel/induced/expression.js';
import { InducedBook } from '../../worldmodel/induced/induced-model.js';
import {
  argumentNames,
  type Beliefs,
  beliefsOf,
  distinct,
  type Example,
  type Explanation,
  evaluate,
  evaluateAt,
  explain,
  isChange,
  isEnumerated,
  listed,
  listIn,
  type ObservedLog,
  observedLogs,
  overlaid,
  type Predict,
  pairs,
  type Reach,
  type Records,
  recordsOf,
  type Sighting,
  StateShape,
  same,
  scopeOf,
  templateOf,
  valueIn,
} from './observed.js';

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

/** Without a name yet. */
export type Draft = InducedRule extends infer R ? (R extends InducedRule ? Omit<R, 'id'> : never) : never;

/** Rules that were found, and what was seen that nothing explains. */
export interface Found {
  readonly drafts: readonly Draft[];
  readonly unexplained: readonly string[];
}

/** Calls of a tool in states of this shape. */
interface Observed {
  readonly tool: ToolSpec;
  readonly sightings: readonly Sighting[];
  readonly shape: StateShape;
}

const found = (draft: Draft): Found => ({ drafts: [draft], unexplained: [] });
const unexplained = (reason: string): Found => ({ drafts: [], unexplained: [reason] });
const NOTHING: Found = { drafts: [], unexplained: [] };

export function together(parts: readonly Found[]): Found {
  return {
    drafts: parts.flatMap(({ drafts }) => drafts),
    unexplained: parts.flatMap(({ unexplained }) => unexplained),
  };
}

/** `cancel_booking.set-2`: unique, and stable as long as the logs are. */
export function named(drafts: readonly Draft[]): InducedRule[] {
  const counts = new Map<string, number>();
  return drafts.map((draft) => {
    const stem = `${'tool' in draft ? draft.tool : draft.collection}.${draft.kind}`;
    const number = (counts.get(stem) ?? 0) + 1;
    counts.set(stem, number);
    return { id: number === 1 ? stem : `${stem}-${number}`, ...draft } as InducedRule;
  });
}

type Evidence = Pick<InducedRule, 'accepted' | 'support' | 'seen' | 'counterExamples' | 'alternatives'>;

const SHOWN = 5;

/** Nothing is accepted before a person has accepted it. */
function evidence(
  support: readonly { readonly at: string }[],
  counterExamples: string[] = [],
  alternatives: string[] = [],
): Evidence {
  const seen = distinct(support.map(({ at }) => at)).slice(0, SHOWN);
  return { accepted: false, support: support.length, seen, counterExamples, alternatives };
}

/** The weakest of several explanations counts for all. */
function weakest(explanations: readonly Explanation[], examples: readonly { readonly at: string }[]): Evidence {
  const counter = explanations.flatMap(({ text, differ }) =>
    differ.map(({ at, value }) => `${text}: ${at} has ${JSON.stringify(value)}`),
  );
  const others = explanations.flatMap(({ text, alternatives }) =>
    alternatives.slice(0, 2).map((other) => `${text}: or ${other}`),
  );
  const support = Math.min(examples.length, ...explanations.map(({ agree }) => agree.length));
  return { ...evidence(examples, counter, others), support };
}

function callsOf(sightings: readonly Sighting[]) {
  return sightings.map(({ call }) => call);
}

/** Each field explained by itself: its expressions and what speaks for them, or the fields that nothing explains. */
function explainFields(
  fields: readonly string[],
  examplesOf: (field: string) => Example[],
  candidates: readonly string[],
  sightings: readonly Sighting[],
): { readonly missing: string } | { readonly proof: Evidence; readonly fields: Record<string, string> } {
  const explained = fields.map((field) => ({ field, found: explain(examplesOf(field), candidates, field) }));
  const missing = explained.filter((each) => each.found === undefined).map(({ field }) => field);
  if (missing.length > 0) return { missing: missing.join(', ') };
  const all = explained.map((each) => each.found as Explanation);
  return {
    proof: weakest(all, callsOf(sightings)),
    fields: Object.fromEntries(explained.map(({ field }, i) => [field, all[i].text])),
  };
}

/** What successful calls change: records they add, and fields that read otherwise afterwards. */
export function effectsOf({ tool, sightings, shape }: Observed): Found {
  if (tool.kind !== 'write' || sightings.length === 0) return NOTHING;
  const reaches = shape.reaches(sightings);
  const candidates = shape.candidates(sightings, reaches);
  const changed = reaches.map((reach) => changesAt({ tool, sightings, shape }, reach, candidates));
  return together([addition(tool, sightings, candidates), ...changed]);
}

function addition({ name }: ToolSpec, sightings: readonly Sighting[], candidates: readonly string[]): Found {
  const adding = sightings.filter(({ added }) => added !== undefined);
  if (adding.length === 0) return NOTHING;
  const { collection } = adding[0].added!;
  const isAlways = adding.length === sightings.length && adding.every(({ added }) => added!.collection === collection);
  if (!isAlways) return unexplained(`${name} adds to ${collection} in some of its calls only.`);
  const isNext = adding.every(({ added, before }) => nextId(Object.keys(before[collection] ?? {})) === added!.key);
  if (!isNext) return unexplained(`The ids that ${name} gives new ${collection} follow from nothing known.`);
  const key = `next(${collection})`;
  const shown = adding.map(({ added, after }) => after[collection][added!.key]);
  const examplesOf = (field: string) =>
    adding.flatMap(({ call, before }, i): Example[] =>
      field in shown[i] ? [{ at: call.at, scope: scopeOf(before, call.arguments), value: shown[i][field] }] : [],
    );
  const made = explainFields(Object.keys(shown[0]), examplesOf, [key, ...candidates], adding);
  if ('missing' in made) return unexplained(`New ${collection} of ${name} have ${made.missing} from nothing known.`);
  return found({ ...made.proof, kind: 'add', tool: name, collection, key, fields: made.fields });
}

function changesAt({ tool, sightings, shape }: Observed, reach: Reach, candidates: readonly string[]): Found {
  const { collection, key, text } = reach;
  const changes = (shape.fields.get(collection) ?? []).map((field): Found => {
    const examples = sightings.flatMap(({ call, before, after }) => {
      const scope = scopeOf(before, call.arguments);
      const id = evaluate(key, scope);
      if (id === undefined || id === null) return [];
      const [was, value] = [before, after].map((state) => valueIn(state, collection, String(id), field));
      return was === undefined || value === undefined ? [] : [{ at: call.at, scope, was, value }];
    });
    if (examples.every(({ was, value }) => same(was, value))) return NOTHING;
    const target = `${text}.${field}`;
    const others = candidates.filter((candidate) => candidate !== target);
    const explained = explain(examples, others, field) ?? explain(examples, candidates, field);
    if (explained === undefined)
      return unexplained(`${tool.name} changes ${target} in a way that nothing known explains.`);
    return found({
      ...weakest([explained], explained.agree),
      ...{ kind: 'set', tool: tool.name, target, to: explained.text },
    } as Draft);
  });
  return together(changes);
}

/**
 * When calls fail: for each text of an error, the simplest condition that held in every call it was the answer to and in no call
 * that succeeded. One that the text itself speaks of comes first.
 */
export function refusalsOf({ tool, sightings, shape }: Observed): Found {
  const failed = sightings.filter(({ call }) => call.isError);
  const succeeded = sightings.filter(({ call }) => !call.isError);
  const reaches = shape.reaches(sightings);
  const values = shape.candidates(sightings, reaches);
  const holds = (text: string, sighting: Sighting) => evaluateAt(text, sighting) === true;
  const groups = [...byTemplate(failed, values.length === 0 ? argumentNames(sightings) : values)];
  return together(
    groups.map(([template, group]): Found => {
      const { text, at } = group[0].call;
      if (hasBraces(text)) return unexplained(`${tool.name} fails with "${text}" (${at}).`);
      const conditions = [
        ...reaches.map((reach) => `missing ${reach.text}`),
        ...reaches.flatMap(({ collection, key }) =>
          shape.referringConditions(collection, sightings).flatMap((each) => [`some ${each(key)}`, `no ${each(key)}`]),
        ),
        ...comparisons(group[0], values),
        // Where a value is not known, it speaks neither for nor against.
      ].filter((when) => group.every((one) => holds(when, one)) && !succeeded.some((one) => holds(when, one)));
      const [when, ...alternatives] = byWords(conditions, template);
      if (when === undefined)
        return unexplained(`${tool.name} fails with "${template}" on a condition that nothing known explains.`);
      const proof = evidence(callsOf(group), [], alternatives.slice(0, 4));
      return found({ ...proof, kind: 'refuse', tool: tool.name, when, error: template });
    }),
  );
}

function hasBraces(text: string): boolean {
  return /[{}]/.test(text);
}

/** Errors of one form. */
function byTemplate(failed: readonly Sighting[], candidates: readonly string[]): Map<string, Sighting[]> {
  const groups = new Map<string, Sighting[]>();
  for (const sighting of failed) {
    const { call, before } = sighting;
    const example = { text: call.text, scope: scopeOf(before, call.arguments) };
    const template = hasBraces(call.text) ? call.text : templateOf([example], candidates)!;
    groups.set(template, [...(groups.get(template) ?? []), sighting]);
  }
  return groups;
}

/** Against the values of a failed call, and of two values with one another. */
function comparisons(failed: Sighting, values: readonly string[]): string[] {
  const constants = values.flatMap((text) => {
    const value = evaluateAt(text, failed);
    if (value === undefined || typeof value === 'object') return [];
    if (typeof value === 'number') return [`${text} >= ${value}`, `${text} <= ${value}`];
    // That something is named so is no reason.
    return typeof value === 'string' && /\d/.test(value) ? [] : [`${text} == ${JSON.stringify(value)}`];
  });
  return [...constants, ...pairs(values).flatMap(([a, b]) => ['!=', '>', '<'].map((sign) => `${a} ${sign} ${b}`))];
}

/** Those first whose words the error has: `status == "cancelled"` for "is already cancelled". */
function byWords(conditions: readonly string[], error: string): string[] {
  const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}]{3,}/gu) ?? [];
  const words = new Set(wordsOf(error.replace(/\{[^{}]*\}/g, ' ')));
  const score = (text: string) => {
    if (text.startsWith('missing ')) return words.has('not') || words.has('unknown') ? 2.5 : 0;
    const quoted = text.toLowerCase().match(/"([^"]+)"/)?.[1] ?? '';
    const shared = wordsOf(text).filter((word) => words.has(word)).length;
    return (words.has(quoted) ? 2 : 0) + shared / 10 - text.length / 1000;
  };
  return [...conditions].sort((a, b) => score(b) - score(a));
}

/** What a successful call is answered with, given the rules of what it changes and the state after it. */
export interface Answered extends Observed {
  /** The answer is right only with all of them. */
  readonly effects: readonly InducedRule[];
  readonly after: (sighting: Sighting) => Scope;
}

/** One record's fields, a text, or a list of records that fit the arguments. */
export function answersOf(asked: Answered): Found {
  const { tool, sightings } = asked;
  const answers = callsOf(sightings).map(({ answer }) => answer as Json | undefined);
  if (answers.length === 0) return unexplained(`No log has a successful call of ${tool.name}.`);
  if (answers.every((answer) => answer !== undefined && listIn(answer) !== undefined)) return listAnswer(asked);
  return answers.every(isJsonObject) ? recordAnswer(asked, answers) : textAnswer(asked);
}

function recordAnswer(asked: Answered, answers: readonly JsonObject[]): Found {
  const { tool, sightings, after } = asked;
  const names = Object.keys(answers[0]);
  if (!answers.every((answer) => same(Object.keys(answer), names)))
    return unexplained(`Answers of ${tool.name} have different fields from call to call.`);
  const examplesOf = (field: string) =>
    sightings.map((one, i): Example => ({ at: one.call.at, scope: after(one), value: answers[i][field] }));
  const made = explainFields(names, examplesOf, answerCandidates(asked), sightings);
  if ('missing' in made) return unexplained(`${tool.name} answers ${made.missing} from nothing known.`);
  return found({ ...made.proof, kind: 'answer', tool: tool.name, ...conditionsOf(asked), fields: made.fields });
}

function textAnswer(asked: Answered): Found {
  const { tool, sightings, after } = asked;
  const texts = sightings.map((sighting) => ({ text: sighting.call.text, scope: after(sighting) }));
  const text = texts.some((each) => hasBraces(each.text)) ? undefined : templateOf(texts, answerCandidates(asked));
  if (text === undefined) return unexplained(`Answers of ${tool.name} are texts of different forms.`);
  return found({ ...evidence(callsOf(sightings)), kind: 'sentence', tool: tool.name, ...conditionsOf(asked), text });
}

function answerCandidates({ sightings, effects, shape, after }: Answered): string[] {
  const reaches = shape.reaches(
    sightings,
    sightings.map((sighting) => after(sighting).state as Records),
  );
  const added = effects.find((rule) => rule.kind === 'add');
  const fresh = Object.keys(added?.fields ?? {}).map((field) => `${added!.collection}[new].${field}`);
  return [...fresh, ...shape.candidates(sightings, reaches)];
}

/** Under which circumstances calls were seen: beyond these nothing is known of the tool. */
function conditionsOf({ tool, sightings, effects, shape }: Answered) {
  const known = tool.kind === 'write' ? knownValues(sightings, shape) : {};
  return { given: argumentSets(sightings), known, needs: effects.map(({ id }) => id) };
}

function argumentSets(sightings: readonly Sighting[]): string[][] {
  const sets = sightings.map(({ call }) => Object.keys(call.arguments).sort());
  return [...new Map(sets.map((names) => [names.join(' '), names])).values()];
}

/** Values of fields with few values (a status), of the records that arguments name. */
function knownValues(sightings: readonly Sighting[], shape: StateShape): Record<string, Json[]> {
  const direct = shape.reaches(sightings).filter(({ key }) => isName(key));
  const known = direct.flatMap(({ collection, text }) =>
    (shape.fields.get(collection) ?? []).flatMap((field): [string, Json[]][] => {
      if (!isEnumerated(sightings, collection, field)) return [];
      const values = sightings.map((sighting) => evaluateAt(`${text}.${field}`, sighting));
      if (values.some((value) => value === undefined)) return [];
      return [[`${text}.${field}`, distinct(values as Json[]).sort()]];
    }),
  );
  return Object.fromEntries(known);
}

/** A list: which records are in it, in which order, with which fields. */
function listAnswer({ tool, sightings, shape }: Observed): Found {
  const items = sightings.map(({ call }) => recordsOf(call));
  const [first] = items.flat();
  if (first === undefined) return unexplained(`${tool.name} never listed anything: what it lists is not known.`);
  const { collection } = first;
  const fields = Object.keys(first.fields);
  if (!items.flat().every((item) => item.collection === collection && same(Object.keys(item.fields), fields)))
    return unexplained(`${tool.name} lists things of different forms.`);
  const keys = items.map((each) => each.map(({ key }) => key));
  const [where, ...others] = filtersOf(sightings, keys, collection, shape);
  if (where === undefined) return unexplained(`Nothing known explains which ${collection} ${tool.name} lists.`);
  const order = fields.find((field) => items.every((list) => isAscending(list.map((item) => item.fields[field]))));
  if (order === undefined) return unexplained(`Nothing known explains the order in which ${tool.name} lists.`);
  const { within } = listIn(sightings[0].call.answer!)!;
  const alternatives = others.slice(0, 4).map((chosen) => chosen.join(' and ') || 'all');
  return found({
    ...evidence(callsOf(sightings), [], alternatives),
    kind: 'list',
    tool: tool.name,
    given: argumentSets(sightings),
    known: askedValues(sightings),
    collection,
    where,
    order: `each.${order}`,
    fields,
    ...(within === undefined ? {} : { within }),
  });
}

/** What lists were asked for: of other values the logs do not show what there is. */
function askedValues(sightings: readonly Sighting[]): Record<string, Json[]> {
  const always = argumentNames(sightings).filter((name) => sightings.every(({ call }) => name in call.arguments));
  const valuesOf = (name: string) => distinct(sightings.map(({ call }) => call.arguments[name])).sort();
  return Object.fromEntries(always.map((name) => [name, valuesOf(name)]));
}

/** Conditions one for each argument, and what all that was ever listed has in common, that together give every list. */
function filtersOf(
  sightings: readonly Sighting[],
  lists: readonly (readonly string[])[],
  collection: string,
  shape: StateShape,
): string[][] {
  const fields = shape.fields.get(collection) ?? [];
  const isForAll = (text: string) =>
    sightings.every((one, i) =>
      recordsIn(one, collection).every(([key, each]) => !lists[i].includes(key) || holdsFor(text, one, each) !== false),
    );
  const perArgument = argumentNames(sightings).map((name) =>
    ['==', '<=', '>=']
      .flatMap((operator) => fields.map((field) => `each.${field} ${operator} ${name}`))
      .sort((a, b) => Number(b.includes(`each.${name} `)) - Number(a.includes(`each.${name} `)))
      .filter(isForAll),
  );
  if (perArgument.some((choices) => choices.length === 0)) return [];
  const key = fields.find((field) => shape.isKey(collection, field));
  const referring = key === undefined ? [] : shape.referringConditions(collection, sightings);
  const common = [
    ...commonValues(sightings, lists, collection, fields),
    ...referring.flatMap((each) => ['no', 'some'].map((quantity) => `${quantity} ${each(`each.${key}`)}`)),
  ];
  const combined = perArgument.reduce<string[][]>(
    (all, each) => all.flatMap((chosen) => each.slice(0, 6).map((text) => [...chosen, text])),
    [[]],
  );
  const givesList = (texts: readonly string[], one: Sighting, list: readonly string[]) =>
    recordsIn(one, collection).every(
      ([id, each]) => texts.every((text) => holdsFor(text, one, each) === true) === list.includes(id),
    );
  return combined
    .flatMap((chosen) => [chosen, ...common.map((text) => [...chosen, text])])
    .filter((chosen) => sightings.every((one, i) => givesList(chosen, one, lists[i])));
}

function recordsIn({ before }: Sighting, collection: string): [string, JsonObject][] {
  return Object.entries(before[collection] ?? {});
}

function holdsFor(text: string, { call, before }: Sighting, each: JsonObject): boolean | undefined {
  const asked = / (\w+)$/.exec(text)?.[1];
  if (asked !== undefined && isName(asked) && !(asked in call.arguments)) return true;
  return evaluate(text, { ...scopeOf(before, call.arguments), each }) as boolean | undefined;
}

/** `each.free == true`: what everything listed has. */
function commonValues(
  sightings: readonly Sighting[],
  lists: readonly (readonly string[])[],
  collection: string,
  fields: readonly string[],
): string[] {
  return fields.flatMap((field) => {
    const values = sightings.flatMap(({ before }, i) => lists[i].map((key) => valueIn(before, collection, key, field)));
    const [first] = values;
    if (!['string', 'boolean'].includes(typeof first) || !values.every((value) => same(value, first))) return [];
    return [`each.${field} == ${JSON.stringify(first)}`];
  });
}

function isAscending(values: readonly (Json | undefined)[]): boolean {
  return values.every((value, i) => {
    if (typeof value !== 'string' && typeof value !== 'number') return false;
    const before = values[i - 1] as typeof value | undefined;
    return before === undefined || (typeof before === typeof value && before < value);
  });
}

/** How ids look, the values of fields that have few, and references that always lead to a record. */
export function invariantsOf(beliefs: Beliefs, shape: StateShape): Draft[] {
  const all = [...beliefs.starts, ...beliefs.ends].flatMap(listed);
  return [...shape.fields].flatMap(([collection, fields]) => {
    const seen = new Map<string, (typeof all)[number] & { at: string }>();
    for (const record of all)
      if (record.collection === collection && !seen.has(record.key))
        seen.set(record.key, { ...record, at: `${collection} ${record.key}` });
    const records = [...seen.values()];
    const forms = distinct(records.map(({ key }) => formOf(key)));
    return [
      ...(forms.length === 1 && records.length > 1
        ? [{ ...evidence(records), kind: 'id-format' as const, collection, pattern: `^${forms[0]}$` }]
        : []),
      ...fields.flatMap((field): Draft[] => {
        if (!isEnumerated(beliefs.sightings, collection, field)) return [];
        const own = all.filter((record) => record.collection === collection && field in record.fields);
        const values = distinct(own.map((record) => record.fields[field])).sort();
        const withField = new Set(own.map(({ key }) => key));
        const support = records.filter(({ key }) => withField.has(key));
        return [{ ...evidence(support), kind: 'values', collection, field, values }];
      }),
      ...fields.flatMap((field): Draft[] => {
        const own = uniqueWith(all, collection, field);
        const to = shape.refersTo(
          field,
          own.map((record) => record.fields[field]),
        );
        if (to === undefined || to === collection) return [];
        const isThere = ({ fields: of }: { fields: JsonObject }) =>
          beliefs.ends.some((end) => end[to]?.[String(of[field])] !== undefined);
        const leads = own.filter(isThere);
        const lost = own.filter((record) => !isThere(record)).map(({ at }) => `${at}: the logs do not show it`);
        return leads.length === 0 ? [] : [{ ...evidence(leads, lost), kind: 'refers', collection, field, to }];
      }),
    ];
  });
}

/** Records of a collection that have a field, the first of each key. */
function uniqueWith(all: readonly ReturnType<typeof listed>[number][], collection: string, field: string) {
  const own = all.filter((record) => record.collection === collection && field in record.fields);
  const first = new Map([...own].reverse().map((record) => [record.key, record]));
  return distinct(own.map(({ key }) => key)).map((key) => ({ ...first.get(key)!, at: `${collection} ${key}` }));
}

/** `B-1001`: B-\d{4}. Letters before the first digit say what kind of thing it is; of others only the case is kept. */
function formOf(key: string): string {
  const quoted = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const [, head, rest] = /^([^\d]*)(.*)$/s.exec(key)!;
  const runs = (rest.match(/\d+|[A-Z]+|[a-z]+|./gs) ?? []).map((run) => {
    if (/\d/.test(run)) return `\\d{${run.length}}`;
    if (/[A-Z]/.test(run)) return `[A-Z]{${run.length}}`;
    return /[a-z]/.test(run) ? `[a-z]{${run.length}}` : quoted(run);
  });
  return `${rest === '' ? '.+' : quoted(head)}${runs.join('')}`;
}
