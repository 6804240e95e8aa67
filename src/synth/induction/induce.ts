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
  distinct,
  type Example,
  type Explanation,
  evaluate,
  evaluateAt,
  explain,
  isEnumerated,
  pairs,
  type Reach,
  StateShape,
  scopeOf,
  templateOf,
} from './explain.js';
import {
  type Beliefs,
  beliefsOf,
  isChange,
  listIn,
  type ObservedLog,
  observedLogs,
  overlaid,
  type Predict,
  type Records,
  recordsOf,
  type Sighting,
  same,
  valueIn,
} from './observed.js';

export interface Induction {
  readonly rules: InducedRules;
  readonly state: JsonObject;
  readonly schema: JsonObject;
  readonly logs: readonly ObservedLog[];
  readonly beliefs: Beliefs;
}

type Tools = Pick<ToolsDomain, 'tools'>;

/** From episodes of logs, without rules of the domain. The same logs give the same answer, to the byte. */
export function induce(episodes: readonly EpisodeRecord[], domain: Tools): Induction {
  const logs = observedLogs(episodes, domain);
  const first = rulesFrom(beliefsOf(logs), domain);
  const beliefs = beliefsOf(logs, predicting(first.rules));
  const from = {
    conversations: logs.length,
    calls: logs.flatMap((log) => log.calls).length,
    sha256: sha256(canonicalJson(episodes.map(({ messages }) => messages))),
  };
  return {
    rules: { format: 'reverie-induced-rules-1', from, ...rulesFrom(beliefs, domain) },
    state: beliefs.initial as JsonObject,
    schema: schemaOf(new StateShape(beliefs).records),
    logs,
    beliefs,
  };
}

function rulesFrom(beliefs: Beliefs, { tools }: Tools): Pick<InducedRules, 'rules' | 'unexplained'> {
  const shape = new StateShape(beliefs);
  const found = tools.map((tool) => {
    const sightings = beliefs.sightings.filter(({ call }) => call.tool === tool);
    return new ToolInduction(tool, sightings, shape);
  });
  const drafts = [...found.flatMap((one) => one.drafts), ...invariantsOf(beliefs, shape)];
  return { rules: named(drafts), unexplained: found.flatMap((one) => one.unexplained) };
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
function schemaOf(records: StateShape['records']): JsonObject {
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
type Draft = InducedRule extends infer R ? (R extends InducedRule ? Omit<R, 'id'> : never) : never;

/** `cancel_booking.set-2`: unique, and stable as long as the logs are. */
function named(drafts: readonly Draft[]): InducedRule[] {
  const counts = new Map<string, number>();
  return drafts.map((draft) => {
    const stem = `${'tool' in draft ? draft.tool : draft.collection}.${draft.kind}`;
    const number = (counts.get(stem) ?? 0) + 1;
    counts.set(stem, number);
    return { id: number === 1 ? stem : `${stem}-${number}`, ...draft } as InducedRule;
  });
}

type Evidence = Pick<InducedRule, 'accepted' | 'support' | 'seen' | 'counterExamples' | 'alternatives'>;
type Placed = readonly { readonly at: string }[];

const SHOWN = 5;
const MAX_ALTERNATIVES = 4;

/** Nothing is accepted before a person has accepted it. */
function evidence(support: Placed, alternatives: string[] = [], counterExamples: string[] = []): Evidence {
  const seen = distinct(support.map(({ at }) => at)).slice(0, SHOWN);
  const others = alternatives.slice(0, MAX_ALTERNATIVES);
  return { accepted: false, support: support.length, seen, counterExamples, alternatives: others };
}

/** The weakest of several explanations counts for all. */
function weakest(explanations: readonly Explanation[], examples: Placed): Evidence {
  const counterExamples = explanations.flatMap(({ text, differ }) =>
    differ.map(({ at, value }) => `${text}: ${at} has ${JSON.stringify(value)}`),
  );
  const alternatives = explanations.flatMap(({ text, alternatives }) =>
    alternatives.slice(0, 2).map((other) => `${text}: or ${other}`),
  );
  const support = Math.min(examples.length, ...explanations.map(({ agree }) => agree.length));
  return { ...evidence(examples, [], counterExamples), alternatives, support };
}

function callsOf(sightings: readonly Sighting[]) {
  return sightings.map(({ call }) => call);
}

const hasBraces = (text: string) => /[{}]/.test(text);

/** What is found of one tool: when its calls fail, what they change, what they answer. */
class ToolInduction {
  readonly drafts: Draft[] = [];
  readonly unexplained: string[] = [];
  /** Calls that succeeded. */
  private readonly done: readonly Sighting[];

  constructor(
    private readonly tool: ToolSpec,
    private readonly sightings: readonly Sighting[],
    private readonly shape: StateShape,
  ) {
    this.done = sightings.filter(({ call }) => !call.isError);
    this.refusals();
    if (tool.kind === 'write' && this.done.length > 0) this.effects();
    this.answers();
  }

  /**
   * When calls fail: for each text of an error, the simplest condition that held in every call it was the answer to and in no call
   * that succeeded. One that the text itself speaks of comes first.
   */
  private refusals(): void {
    const { tool, shape, sightings, done } = this;
    const reaches = shape.reaches(sightings);
    const values = shape.candidates(sightings, reaches);
    const failed = sightings.filter(({ call }) => call.isError);
    for (const [error, group] of byTemplate(failed, values.length === 0 ? argumentNames(sightings) : values)) {
      const { text, at } = group[0].call;
      if (hasBraces(text)) {
        this.unexplained.push(`${tool.name} fails with "${text}" (${at}).`);
        continue;
      }
      const conditions = [
        ...reaches.map((reach) => `missing ${reach.text}`),
        ...reaches.flatMap(({ collection, key }) =>
          shape.referringConditions(collection, sightings).flatMap((each) => [`some ${each(key)}`, `no ${each(key)}`]),
        ),
        ...comparisons(group[0], values),
      ];
      // Where a value is not known, it speaks neither for nor against.
      const holds = (when: string) => (one: Sighting) => evaluateAt(when, one) === true;
      const fitting = conditions.filter((when) => group.every(holds(when)) && !done.some(holds(when)));
      const [when, ...others] = byWords(fitting, error);
      if (when === undefined)
        this.unexplained.push(`${tool.name} fails with "${error}" on a condition that nothing known explains.`);
      else this.drafts.push({ ...evidence(callsOf(group), others), kind: 'refuse', tool: tool.name, when, error });
    }
  }

  /** What successful calls change: records they add, and fields that read otherwise afterwards. */
  private effects(): void {
    const reaches = this.shape.reaches(this.done);
    const candidates = this.shape.candidates(this.done, reaches);
    this.addition(candidates);
    for (const reach of reaches)
      for (const field of this.shape.fieldsOf(reach.collection)) this.change(reach, field, candidates);
  }

  private addition(candidates: readonly string[]): void {
    const { name } = this.tool;
    const adding = this.done.filter(({ added }) => added !== undefined);
    if (adding.length === 0) return;
    const { collection } = adding[0].added!;
    const isAlways = this.done.every(({ added }) => added?.collection === collection);
    if (!isAlways) return void this.unexplained.push(`${name} adds to ${collection} in some of its calls only.`);
    const isNext = adding.every(({ added, before }) => nextId(Object.keys(before[collection] ?? {})) === added!.key);
    if (!isNext)
      return void this.unexplained.push(`The ids that ${name} gives new ${collection} follow from nothing known.`);
    const key = `next(${collection})`;
    const shown = adding.map(({ added, after }) => after[collection][added!.key]);
    const examplesOf = (field: string) =>
      adding.flatMap(({ call, before }, i): Example[] =>
        field in shown[i] ? [{ at: call.at, scope: scopeOf(before, call.arguments), value: shown[i][field] }] : [],
      );
    const made = this.fields(Object.keys(shown[0]), examplesOf, [key, ...candidates], adding);
    if ('missing' in made)
      this.unexplained.push(`New ${collection} of ${name} have ${made.missing} from nothing known.`);
    else this.drafts.push({ ...made.proof, kind: 'add', tool: name, collection, key, fields: made.fields });
  }

  private change({ collection, key, text }: Reach, field: string, candidates: readonly string[]): void {
    const examples = this.done.flatMap(({ call, before, after }) => {
      const scope = scopeOf(before, call.arguments);
      const id = evaluate(key, scope);
      if (id === undefined || id === null) return [];
      const [was, value] = [before, after].map((state) => valueIn(state, collection, String(id), field));
      return was === undefined || value === undefined ? [] : [{ at: call.at, scope, was, value }];
    });
    if (examples.every(({ was, value }) => same(was, value))) return;
    const { name } = this.tool;
    const target = `${text}.${field}`;
    const others = candidates.filter((candidate) => candidate !== target);
    const found = explain(examples, others, field) ?? explain(examples, candidates, field);
    if (found === undefined) this.unexplained.push(`${name} changes ${target} in a way that nothing known explains.`);
    else this.drafts.push({ ...weakest([found], found.agree), kind: 'set', tool: name, target, to: found.text });
  }

  /** Each field explained by itself: its expressions and what speaks for them, or the fields that nothing explains. */
  private fields(
    names: readonly string[],
    examplesOf: (field: string) => Example[],
    candidates: readonly string[],
    sightings: readonly Sighting[],
  ): { readonly missing: string } | { readonly proof: Evidence; readonly fields: Record<string, string> } {
    const found = names.map((field) => explain(examplesOf(field), candidates, field));
    const missing = names.filter((_, i) => found[i] === undefined);
    if (missing.length > 0) return { missing: missing.join(', ') };
    const all = found as Explanation[];
    return {
      proof: weakest(all, callsOf(sightings)),
      fields: Object.fromEntries(names.map((field, i) => [field, all[i].text])),
    };
  }

  /** One record's fields, a text, or a list of records that fit the arguments, given what the call changes. */
  private answers(): void {
    const { tool, done } = this;
    const effects = named(this.drafts).filter(({ kind }) => kind !== 'refuse');
    const answers = callsOf(done).map(({ answer }) => answer as Json | undefined);
    if (answers.length === 0) this.unexplained.push(`No log has a successful call of ${tool.name}.`);
    else if (answers.every((answer) => answer !== undefined && listIn(answer) !== undefined)) this.listAnswer();
    else {
      const after = done.map((sighting) => scopeAfter(effects, sighting));
      const candidates = this.answerCandidates(effects, after);
      const known = tool.kind === 'write' ? this.knownValues() : {};
      const conditions = { tool: tool.name, given: argumentSets(done), known, needs: effects.map(({ id }) => id) };
      if (answers.every(isJsonObject)) this.recordAnswer(answers, after, candidates, conditions);
      else this.textAnswer(after, candidates, conditions);
    }
  }

  private answerCandidates(effects: readonly InducedRule[], after: readonly Scope[]): string[] {
    const states = after.map(({ state }) => state as Records);
    const added = effects.find((rule) => rule.kind === 'add');
    const fresh = Object.keys(added?.fields ?? {}).map((field) => `${added!.collection}[new].${field}`);
    return [...fresh, ...this.shape.candidates(this.done, this.shape.reaches(this.done, states))];
  }

  private recordAnswer(
    answers: readonly JsonObject[],
    after: readonly Scope[],
    candidates: readonly string[],
    conditions: AnswerConditions,
  ): void {
    const { tool, done } = this;
    const names = Object.keys(answers[0]);
    if (!answers.every((answer) => same(Object.keys(answer), names)))
      return void this.unexplained.push(`Answers of ${tool.name} have different fields from call to call.`);
    const examplesOf = (field: string) =>
      done.map(({ call }, i): Example => ({ at: call.at, scope: after[i], value: answers[i][field] }));
    const made = this.fields(names, examplesOf, candidates, done);
    if ('missing' in made) this.unexplained.push(`${tool.name} answers ${made.missing} from nothing known.`);
    else this.drafts.push({ ...made.proof, kind: 'answer', ...conditions, fields: made.fields });
  }

  private textAnswer(after: readonly Scope[], candidates: readonly string[], conditions: AnswerConditions): void {
    const texts = this.done.map(({ call }, i) => ({ text: call.text, scope: after[i] }));
    const text = texts.some((one) => hasBraces(one.text)) ? undefined : templateOf(texts, candidates);
    if (text === undefined) this.unexplained.push(`Answers of ${this.tool.name} are texts of different forms.`);
    else this.drafts.push({ ...evidence(callsOf(this.done)), kind: 'sentence', ...conditions, text });
  }

  /** Values of fields with few values (a status), of the records that arguments name: beyond these nothing is known of the tool. */
  private knownValues(): Record<string, Json[]> {
    const direct = this.shape.reaches(this.done).filter(({ key }) => isName(key));
    const known = direct.flatMap(({ collection, text }) =>
      this.shape.fieldsOf(collection).flatMap((field): [string, Json[]][] => {
        if (!isEnumerated(this.done, collection, field)) return [];
        const values = this.done.map((sighting) => evaluateAt(`${text}.${field}`, sighting));
        if (values.some((value) => value === undefined)) return [];
        return [[`${text}.${field}`, distinct(values as Json[]).sort()]];
      }),
    );
    return Object.fromEntries(known);
  }

  /** A list: which records are in it, in which order, with which fields. */
  private listAnswer(): void {
    const { name: tool } = this.tool;
    const lists = callsOf(this.done).map(recordsOf);
    const [first] = lists.flat();
    if (first === undefined)
      return void this.unexplained.push(`${tool} never listed anything: what it lists is not known.`);
    const { collection } = first;
    const fields = Object.keys(first.fields);
    if (!lists.flat().every((item) => item.collection === collection && same(Object.keys(item.fields), fields)))
      return void this.unexplained.push(`${tool} lists things of different forms.`);
    const keys = lists.map((list) => list.map(({ key }) => key));
    const [where, ...others] = this.filters(keys, collection);
    if (where === undefined)
      return void this.unexplained.push(`Nothing known explains which ${collection} ${tool} lists.`);
    const order = fields.find((field) => lists.every((list) => isAscending(list.map((item) => item.fields[field]))));
    if (order === undefined)
      return void this.unexplained.push(`Nothing known explains the order in which ${tool} lists.`);
    const { within } = listIn(this.done[0].call.answer!)!;
    const alternatives = others.map((chosen) => chosen.join(' and ') || 'all');
    this.drafts.push({
      ...{ ...evidence(callsOf(this.done), alternatives), kind: 'list', tool },
      ...{ given: argumentSets(this.done), known: askedValues(this.done), collection, where },
      ...{ order: `each.${order}`, fields, ...(within !== undefined && { within }) },
    });
  }

  /** Conditions one for each argument, and what all that was ever listed has in common, that together give every list. */
  private filters(lists: readonly (readonly string[])[], collection: string): string[][] {
    const { shape, done } = this;
    const fields = shape.fieldsOf(collection);
    const recordsIn = ({ before }: Sighting) => Object.entries(before[collection] ?? {});
    const isForAll = (text: string) =>
      done.every((one, i) =>
        recordsIn(one).every(([key, each]) => !lists[i].includes(key) || holdsFor(text, one, each) !== false),
      );
    const perArgument = argumentNames(done).map((name) =>
      ['==', '<=', '>=']
        .flatMap((operator) => fields.map((field) => `each.${field} ${operator} ${name}`))
        .sort((a, b) => Number(b.includes(`each.${name} `)) - Number(a.includes(`each.${name} `)))
        .filter(isForAll),
    );
    if (perArgument.some((choices) => choices.length === 0)) return [];
    const key = fields.find((field) => shape.isKey(collection, field));
    const referring = key === undefined ? [] : shape.referringConditions(collection, done);
    const common = [
      ...commonValues(done, lists, collection, fields),
      ...referring.flatMap((each) => ['no', 'some'].map((quantity) => `${quantity} ${each(`each.${key}`)}`)),
    ];
    const combined = perArgument.reduce<string[][]>(
      (all, each) => all.flatMap((chosen) => each.slice(0, 6).map((text) => [...chosen, text])),
      [[]],
    );
    const givesLists = (texts: readonly string[]) =>
      done.every((one, i) =>
        recordsIn(one).every(
          ([id, each]) => texts.every((text) => holdsFor(text, one, each) === true) === lists[i].includes(id),
        ),
      );
    return combined.flatMap((chosen) => [chosen, ...common.map((text) => [...chosen, text])]).filter(givesLists);
  }
}

/** Under which circumstances calls were seen. */
interface AnswerConditions {
  readonly tool: string;
  readonly given: string[][];
  readonly known: Record<string, Json[]>;
  /** The answer is right only with all of these effects. */
  readonly needs: string[];
}

/** The state after a call, as the logs show it; `new` is the key of what it added. */
function scopeAfter(rules: readonly InducedRule[], { call, before, after, added }: Sighting) {
  const predicted = applyOperations(before as JsonObject, predicting(rules)(before as JsonObject, call));
  const given = added === undefined ? call.arguments : { ...call.arguments, new: added.key };
  return scopeOf(overlaid(predicted as unknown as Records, after), given);
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

function argumentSets(sightings: readonly Sighting[]): string[][] {
  const sets = sightings.map(({ call }) => Object.keys(call.arguments).sort());
  return [...new Map(sets.map((names) => [names.join(' '), names])).values()];
}

/** What lists were asked for: of other values the logs do not show what there is. */
function askedValues(sightings: readonly Sighting[]): Record<string, Json[]> {
  const always = argumentNames(sightings).filter((name) => sightings.every(({ call }) => name in call.arguments));
  const valuesOf = (name: string) => distinct(sightings.map(({ call }) => call.arguments[name])).sort();
  return Object.fromEntries(always.map((name) => [name, valuesOf(name)]));
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
function invariantsOf({ ends, sightings }: Beliefs, shape: StateShape): Draft[] {
  return [...shape.fields].flatMap(([collection, fields]) => {
    const all = shape.records.filter((record) => record.collection === collection);
    const having = (field: string) => all.filter((record) => field in record.fields);
    /** The first of each key. */
    const unique = (records: typeof all) =>
      distinct(records.map(({ key }) => key)).map((key) => ({
        ...records.find((record) => record.key === key)!,
        at: `${collection} ${key}`,
      }));
    const records = unique(all);
    const forms = distinct(records.map(({ key }) => formOf(key)));
    const ofForm = forms.length === 1 && records.length > 1 ? [{ kind: 'id-format', pattern: `^${forms[0]}$` }] : [];
    const enumerated = fields.filter((field) => isEnumerated(sightings, collection, field));
    const ofValues = enumerated.map((field) => {
      const values = distinct(having(field).map((record) => record.fields[field])).sort();
      return { ...evidence(unique(having(field))), kind: 'values', collection, field, values };
    });
    const references = fields.flatMap((field) => {
      const own = unique(having(field));
      const to = shape.refersTo(
        field,
        own.map((record) => record.fields[field]),
      );
      if (to === undefined || to === collection) return [];
      const leads = own.filter((record) => ends.some((end) => end[to]?.[String(record.fields[field])] !== undefined));
      const lost = own.filter((record) => !leads.includes(record)).map(({ at }) => `${at}: the logs do not show it`);
      return leads.length === 0 ? [] : [{ ...evidence(leads, [], lost), kind: 'refers', collection, field, to }];
    });
    return [
      ...ofForm.map((one) => ({ ...evidence(records), ...one, collection })),
      ...ofValues,
      ...references,
    ] as Draft[];
  });
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
