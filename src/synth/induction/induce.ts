// Induces rules from recorded answers of tools, in the form in which a person writes them (rules.yaml), and without a state
// also a state and its schema. Follows Daikon's likely invariants (Ernst et al., 2007) and action models from plan traces (ARMS,
// Yang et al., 2007): a grammar of simple hypotheses, of which those remain that no record contradicts. The second round
// knows the states in which later calls were made, from the effects found in the first. All rules are then tested on every call.

import { canonicalJson, isJsonObject, type Json, type JsonObject, sha256 } from '../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { nextId } from '../../env/tools/cel.js';
import { DeclaredRules, type RulesFile, rulesFileSchema } from '../../env/tools/declared-rules.js';
import type { ToolSpec } from '../../env/tools/domain.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { comparableObservation } from '../../worldmodel/tools/checks.js';
import {
  argumentNames,
  distinct,
  type Example,
  evaluate,
  evaluateAt,
  explain,
  isEnumerated,
  isName,
  pairs,
  type Reach,
  type Scope,
  StateShape,
  scopeOf,
  templateOf,
} from './explain.js';
import {
  type Beliefs,
  beliefsOf,
  isChange,
  listIn,
  type ObservedCall,
  type ObservedLog,
  observedLogs,
  overlaid,
  type Records,
  type Sighting,
  same,
  valueIn,
} from './observed.js';

export interface Induction {
  readonly rules: DeclaredRules;
  /** Evidence for each tool's rules, and other explanations of the same logs: lines for a person. */
  readonly notes: ReadonlyMap<string, readonly string[]>;
  /** Observations without a rule: one sentence each. */
  readonly unexplained: readonly string[];
  readonly state: JsonObject;
  readonly schema: JsonObject;
  readonly logs: readonly ObservedLog[];
  readonly beliefs: Beliefs;
  readonly calls: number;
  /** Of the logs. */
  readonly sha256: string;
}

export interface Beside {
  readonly tools: readonly ToolSpec[];
  readonly state?: JsonObject;
  readonly schema?: JsonObject;
}

/** Results of testing rules on calls. */
export interface Trial {
  readonly right: number;
  readonly wrong: number;
  /** Tools that the rules do not decide. */
  readonly open: number;
}

/** Induces rules from logged episodes. Deterministic to the byte. */
export function induce(episodes: readonly EpisodeRecord[], beside: Beside): Induction {
  const logs = observedLogs(episodes, beside);
  const first = rulesFrom(beliefsOf(logs, beside.state), beside);
  const beliefs = beliefsOf(logs, beside.state, (state, call) => changesBy(first.rules, state, call));
  const found = rulesFrom(beliefs, beside);
  return {
    ...found,
    state: beside.state ?? (beliefs.initial as JsonObject),
    ...{ logs, beliefs, calls: logs.flatMap((log) => log.calls).length },
    sha256: sha256(canonicalJson(episodes.map(({ messages }) => messages))),
  };
}

/** Accuracy on a held-out fourth of the logs; undefined for fewer logs than four. */
export function heldOut(episodes: readonly EpisodeRecord[], beside: Beside): Map<string, Trial> | undefined {
  if (episodes.length < 4) return undefined;
  const [kept, others] = [true, false].map((is) => episodes.filter((_, i) => (i % 4 === 3) === is));
  const { rules, state } = induce(others, beside);
  return tryRules(
    rules,
    beliefsOf(observedLogs(kept, beside), state, (before, call) => changesBy(rules, before, call)),
  );
}

/** Results of the rules for each call, by tool. */
export function tryRules(rules: DeclaredRules, { sightings }: Beliefs): Map<string, Trial> {
  const trials = new Map<string, Trial>();
  for (const { call, before } of sightings) {
    const { name } = call.tool;
    const trial = trials.get(name) ?? { right: 0, wrong: 0, open: 0 };
    const { way } = outcomeOf(rules, before as JsonObject, call);
    trials.set(name, { ...trial, [way]: trial[way] + 1 });
  }
  return trials;
}

/** Calls in logs that the rules answer differently, from a known state. */
export function wrongCalls(rules: DeclaredRules, episodes: readonly EpisodeRecord[], beside: Beside) {
  const logs = observedLogs(episodes, beside);
  const { sightings } = beliefsOf(logs, beside.state, (state, call) => changesBy(rules, state, call));
  return sightings.flatMap(({ call, before }) => {
    const { way, says } = outcomeOf(rules, before as JsonObject, call);
    return way === 'wrong' ? [{ at: call.at, name: call.tool.name, says, wanted: call.text }] : [];
  });
}

function outcomeOf(rules: DeclaredRules, before: JsonObject, call: ObservedCall): { way: keyof Trial; says: string } {
  const made = { name: call.tool.name, arguments: call.arguments };
  try {
    if (!rules.tools.has(made.name)) {
      const [refusal] = rules.preconditions(before, made);
      return { way: refusal === undefined ? 'open' : call.isError ? 'right' : 'wrong', says: `Error: ${refusal}` };
    }
    const { observation, isError } = rules.execute(before, made);
    const isRight = isError === call.isError && comparableObservation(observation) === comparableObservation(call.text);
    return { way: isRight ? 'right' : 'wrong', says: observation };
  } catch (error) {
    // Records that no log shows cannot be judged.
    if (error instanceof ReverieError) return { way: 'open', says: error.message };
    throw error;
  }
}

function changesBy(rules: DeclaredRules, state: JsonObject, call: ObservedCall) {
  if (!isChange(call)) return [];
  try {
    return rules.effectsOf(state, { name: call.tool.name, arguments: call.arguments });
  } catch (error) {
    if (error instanceof ReverieError) return [];
    throw error;
  }
}

type Found = Pick<Induction, 'rules' | 'notes' | 'unexplained' | 'schema'>;

function rulesFrom(beliefs: Beliefs, { tools, state, schema: given }: Beside): Found {
  const shape = new StateShape(beliefs);
  const schema = given ?? { ...schemaOf(shape, beliefs), ...(state !== undefined && { additionalProperties: true }) };
  const found = tools.map((tool) => {
    const sightings = beliefs.sightings.filter(({ call }) => call.tool === tool);
    return new ToolInduction(tool, sightings, shape, beliefs);
  });
  const unexplained = found.flatMap((one) => one.unexplained);
  const file: RulesFile = {
    tools: Object.fromEntries(
      found.flatMap(({ tool, rule }) => (Object.keys(rule).length === 0 ? [] : [[tool.name, rule]])),
    ),
    invariants: [...referencesOf(beliefs, shape)],
  };
  const { rules, left } = standing(file, tools, schema, beliefs);
  const notes = new Map(found.map(({ tool, notes }) => [tool.name, notes]));
  return { rules, notes, unexplained: [...unexplained, ...left], schema };
}

/** The rules without parts that are inconsistent, or that a call in the logs contradicts. */
function standing(file: RulesFile, tools: readonly ToolSpec[], stateSchema: JsonObject, beliefs: Beliefs) {
  const left: string[] = [];
  for (let rules = structuredClone(file) as unknown as JsonObject; ; ) {
    try {
      const compiled = compiledRules(rules, tools, stateSchema);
      const wrong = [...tryRules(compiled, beliefs)].find(([, trial]) => trial.wrong > 0);
      if (wrong === undefined) return { rules: compiled, left };
      const [name, { right, wrong: count }] = wrong;
      left.push(
        `What was found of ${name} gives ${right} of ${right + count} calls as the logs have them: it is left out.`,
      );
      rules = without(rules, compiled.tools.has(name) ? ['tools', name, 'answers'] : ['tools', name]);
    } catch (error) {
      if (!(error instanceof ReverieError) || !Array.isArray(error.values.place)) throw error;
      const place = error.values.place as (string | number)[];
      left.push(`${place.join('.')} is left out: ${error.values.problem}.`);
      rules = without(rules, place);
    }
  }
}

/** If a tool's effects or answer are dropped, both are: each depends on the other. */
function without(rules: JsonObject, place: readonly (string | number)[]): JsonObject {
  const [part, name, key] = place as string[];
  if (part === 'invariants')
    return { ...rules, invariants: (rules.invariants as Json[]).filter((_, i) => i !== Number(name)) };
  const { [name]: rule, ...others } = rules.tools as Record<string, JsonObject>;
  const { answers: _, effects: _e, ...kept } = rule;
  const isAnswer = key === 'answers' || key === 'effects';
  return { ...rules, tools: isAnswer && Object.keys(kept).length > 0 ? { ...others, [name]: kept } : others };
}

/** @throws DOMAIN_FILE_INVALID with the place of the error */
function compiledRules(file: unknown, tools: readonly ToolSpec[], stateSchema: JsonObject): DeclaredRules {
  return new DeclaredRules(rulesFileSchema.parse(file), {
    ...{ tools, stateSchema, file: 'rules.yaml' },
    fault: (place, problem) => reverieError('DOMAIN_FILE_INVALID', { place: place as never, problem, hint: '' }),
    at: (place) => place.join('.'),
  });
}

/** Types of all observed fields; fields of every record are required. Few values form an enum; ids have one pattern. */
function schemaOf({ records }: StateShape, { sightings }: Beliefs): JsonObject {
  const collections = distinct(records.map(({ collection }) => collection)).sort();
  const schemas = collections.map((name) => {
    const own = records.filter(({ collection }) => collection === name);
    const forms = distinct(own.map(({ key }) => formOf(key)));
    const propertyNames = forms.length === 1 && own.length > 1 ? { propertyNames: { pattern: `^${forms[0]}$` } } : {};
    const fields = own.map((record) => record.fields);
    const isWord = (field: string) => isEnumerated(sightings, name, field);
    return [name, { type: 'object', ...propertyNames, additionalProperties: recordSchema(fields, isWord) }];
  });
  const properties = Object.fromEntries(schemas);
  return { type: 'object', required: collections, additionalProperties: false, properties };
}

function recordSchema(records: readonly JsonObject[], isEnum: (field: string) => boolean): JsonObject {
  const names = distinct(records.flatMap((fields) => Object.keys(fields)));
  const required = names.filter((field) => records.every((fields) => field in fields));
  const properties = names.map((field) => {
    const values = records.flatMap((fields) => (field in fields ? [fields[field]] : []));
    if (isEnum(field)) return [field, { enum: distinct(values).sort() }];
    const types = distinct(values.map(jsonType)).sort();
    const wide = types.includes('number') ? types.filter((type) => type !== 'integer') : types;
    return [field, { type: wide.length === 1 ? wide[0] : wide }];
  });
  return { type: 'object', required, additionalProperties: false, properties: Object.fromEntries(properties) };
}

function jsonType(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** `B-1001`: B-\d{4}. Letters before the first digit name the kind; for others only the case matters. */
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

/** References that always resolve to a record. */
function referencesOf({ ends }: Beliefs, shape: StateShape): RulesFile['invariants'] {
  return [...shape.fields].flatMap(([collection, fields]) => {
    const records = shape.records.filter((record) => record.collection === collection);
    return fields.flatMap((field) => {
      const values = records.flatMap((record) => (field in record.fields ? [record.fields[field]] : []));
      const to = shape.refersTo(field, values);
      if (to === undefined || to === collection || values.length < records.length) return [];
      if (!values.every((value) => ends.some((end) => end[to]?.[String(value)] !== undefined))) return [];
      const error = `${collection} {key} names {it.${field}}, which is none of ${to}`;
      return [{ each: `state.${collection}`, require: `it.${field} in state.${to}`, error }];
    });
  });
}

interface Condition {
  /** Failure conditions of calls, and the equivalent preconditions. */
  readonly when: string;
  readonly require: string;
}

const OPPOSITE: Readonly<Record<string, string>> = {
  '==': '!=',
  '!=': '==',
  '>': '<=',
  '<': '>=',
  '>=': '<',
  '<=': '>',
};
const comparison = (a: string, sign: string, b: string): Condition => ({
  when: `${a} ${sign} ${b}`,
  require: `${a} ${OPPOSITE[sign]} ${b}`,
});
const isThere = ({ collection, key }: Reach) => `${key} in state.${collection}`;
const hasBraces = (text: string) => /[{}]/.test(text);
const MAX_ALTERNATIVES = 4;

type Answers = RulesFile['tools'][string]['answers'];

/** What is found of one tool: when its calls fail, what they change, what they answer. */
class ToolInduction {
  readonly rule: { -readonly [K in keyof RulesFile['tools'][string]]: RulesFile['tools'][string][K] } = {};
  readonly notes: string[] = [];
  readonly unexplained: string[] = [];
  /** Calls that succeeded. */
  private readonly done: readonly Sighting[];
  /** Whether all changes by successful calls are explained. */
  private isWhole = true;

  constructor(
    readonly tool: ToolSpec,
    private readonly sightings: readonly Sighting[],
    private readonly shape: StateShape,
    private readonly beliefs: Beliefs,
  ) {
    this.done = sightings.filter(({ call }) => !call.isError);
    this.refusals();
    if (this.done.length === 0) this.lost(`No log has a successful call of ${tool.name}.`);
    else if (tool.kind === 'write') this.effects();
    const answers = this.isWhole ? this.answers() : undefined;
    if (answers !== undefined) this.rule.answers = answers as Answers;
    if (!this.isWhole) for (const key of ['effects', 'let'] as const) delete this.rule[key];
    if (Object.keys(this.rule).length > 0) this.guard();
  }

  private note(what: string, support: number, alternatives: readonly string[] = []): void {
    const others = alternatives.slice(0, MAX_ALTERNATIVES);
    this.notes.push(
      `${what}: seen ${support}${support === 1 ? ' time' : ' times'}${others.length === 0 ? '' : `; or ${others.join('; or ')}`}`,
    );
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
    const found: { require: string; error: string }[] = [];
    for (const [error, group] of byTemplate(failed, values)) {
      const { text, at } = group[0].call;
      if (hasBraces(text)) {
        this.unexplained.push(`${tool.name} fails with "${text}" (${at}).`);
        continue;
      }
      const conditions: Condition[] = [
        ...reaches.map((reach) => ({ when: `!(${isThere(reach)})`, require: isThere(reach) })),
        ...reaches.flatMap(({ collection, key }) =>
          shape.referringConditions(collection, sightings).flatMap((each) => [
            { when: each(key), require: `!${each(key)}` },
            { when: `!${each(key)}`, require: each(key) },
          ]),
        ),
        ...comparisons(group[0], values),
      ];
      // Where a value is not known, it speaks neither for nor against.
      const holds = (when: string) => (one: Sighting) => evaluateAt(when, one) === true;
      const fitting = conditions.filter(({ when }) => group.every(holds(when)) && !done.some(holds(when)));
      const [first, ...others] = byWords(fitting, error);
      if (first === undefined)
        this.unexplained.push(`${tool.name} fails with "${error}" on a condition that nothing known explains.`);
      else {
        found.push({ require: first.require, error: error.replace(/^Error: /, '') });
        this.note(
          `"${error}" where ${first.when}`,
          group.length,
          others.map(({ when }) => when),
        );
      }
    }
    // Existence checks come before other preconditions.
    const isOfThere = ({ require }: { require: string }) => / in state\.\w+$/.test(require);
    if (found.length > 0) this.rule.enforces = [...found.filter(isOfThere), ...found.filter((one) => !isOfThere(one))];
  }

  /** Records and arguments in the rules must exist, even if every logged call has them. */
  private guard(): void {
    const written = JSON.stringify(this.rule);
    const own = (this.rule.enforces ?? []).map(({ require }) => require);
    const isUsed = ({ text, collection, key }: Reach) =>
      [text, `/${collection}/{${key}}/`].some((part) => written.includes(JSON.stringify(part).slice(1, -1)));
    const reaches = this.shape.reaches(this.sightings).filter(isUsed);
    const missing = reaches.map(isThere).filter((require) => !own.includes(require));
    const required = (this.tool.parameters.required ?? []) as string[];
    const optional = argumentNames(this.sightings).filter(
      (name) => !required.includes(name) && written.includes(`call.${name}`) && !written.includes(`has(call.${name})`),
    );
    const guards = [
      ...optional.map((name) => ({ require: `has(call.${name})`, error: `${name} is missing` })),
      ...missing.map((require) => ({ require, error: `{${require.split(' in ')[0]}} not found` })),
    ];
    if (guards.length === 0) return;
    for (const { require } of guards)
      this.note(`${require} is never untrue in the logs: the words of its error are a guess`, this.done.length);
    const there = (this.rule.enforces ?? []).filter(({ require }) => / in state\.\w+$/.test(require));
    const rest = (this.rule.enforces ?? []).filter((one) => !there.includes(one));
    this.rule.enforces = [...there, ...guards, ...rest].sort((a, b) => depth(a.require) - depth(b.require));
  }

  /** What successful calls change: records they add, and fields that read otherwise afterwards. */
  private effects(): void {
    this.rule.effects = [];
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
    if (!this.done.every(({ added }) => added?.collection === collection))
      return void this.lost(`${name} adds to ${collection} in some of its calls only.`);
    if (!adding.every(({ added, before }) => nextId(Object.keys(before[collection] ?? {})) === added!.key))
      return void this.lost(`The ids that ${name} gives new ${collection} follow from nothing known.`);
    const shown = adding.map(({ added, after }) => after[collection][added!.key]);
    const examplesOf = (field: string) =>
      adding.flatMap(({ call, before, added }, i): Example[] =>
        field in shown[i]
          ? [{ at: call.at, scope: { ...scopeOf(before, call.arguments), id: added!.key }, value: shown[i][field] }]
          : [],
      );
    const value = this.fields(`new ${collection}`, Object.keys(shown[0]), examplesOf, ['id', ...candidates]);
    if (value === undefined) return void this.lost(`New ${collection} of ${name} are not explained.`);
    this.rule.let = { id: `next(state.${collection})` };
    this.rule.effects!.push({ create: `/${collection}/{id}`, value });
    this.note(`creates ${collection}`, adding.length);
  }

  private lost(sentence: string): void {
    this.unexplained.push(sentence);
    this.isWhole = false;
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
    const target = `${text}.${field}`;
    const path = `/${collection}/{${key}}/${field}`;
    const others = candidates.filter((candidate) => candidate !== target);
    const steps = examples.map((one) => ({ ...one, value: Number(one.value) - Number(one.was) }));
    const isCount = examples.every(({ was, value }) => typeof was === 'number' && typeof value === 'number');
    const by = isCount ? explain(steps, others, field) : undefined;
    const set = explain(examples, others, field);
    const isStep = by?.differ.length === 0 && (set === undefined || set.differ.length > 0 || /^[\d.]+$/.test(set.text));
    const found = isStep ? by : set;
    if (found === undefined || found.differ.length > 0) {
      const [odd] = found?.differ ?? [];
      const most =
        odd === undefined
          ? ''
          : ` It is ${found!.text} in ${found!.agree.length}; ${odd.at} has ${JSON.stringify(odd.value)}.`;
      return void this.lost(`${this.tool.name} changes ${target} in a way that nothing known explains.${most}`);
    }
    this.rule.effects!.push(isStep ? { increment: path, by: found.text } : { set: path, to: found.text });
    this.note(`${isStep ? 'increments' : 'sets'} ${target}`, found.agree.length, found.alternatives);
  }

  /** Explains each field separately; undefined, with a reason, if one has no explanation. */
  private fields(
    what: string,
    names: readonly string[],
    examplesOf: (field: string) => Example[],
    candidates: readonly string[],
  ): Record<string, string> | undefined {
    const found = names.map((field) => ({ field, by: explain(examplesOf(field), candidates, field) }));
    for (const { field, by } of found) {
      const [odd] = by?.differ ?? [];
      if (by === undefined) this.unexplained.push(`${this.tool.name}, ${what}: ${field} is made of nothing known.`);
      else if (odd !== undefined)
        this.unexplained.push(
          `${this.tool.name}, ${what}: ${field} is ${by.text} in ${by.agree.length} calls; ${odd.at} has ${JSON.stringify(odd.value)}.`,
        );
      else if (by.alternatives.length > 0) this.note(`${field} is ${by.text}`, by.agree.length, by.alternatives);
    }
    if (found.some(({ by }) => by === undefined || by.differ.length > 0)) return undefined;
    return Object.fromEntries(found.map(({ field, by }) => [field, by!.text]));
  }

  /** One record's fields, a text, or a list of records that fit the arguments, given what the call changes. */
  private answers(): Json | undefined {
    const { tool, done } = this;
    const answers = done.map(({ call }) => call.answer as Json | undefined);
    if (answers.every((answer) => answer !== undefined && listIn(answer) !== undefined)) return this.listAnswer();
    const after = done.map((sighting) => this.scopeAfter(sighting));
    const states = after.map(({ state }) => state as Records);
    const create = this.rule.effects?.find((effect) => effect.create !== undefined);
    const fresh = Object.keys((create?.value as JsonObject | undefined) ?? {}).map(
      (field) => `state.${create!.create!.split('/')[1]}[id].${field}`,
    );
    const candidates = [
      ...(create === undefined ? [] : ['id', ...fresh]),
      ...this.shape.candidates(done, this.shape.reaches(done, states)),
    ];
    if (!answers.every(isJsonObject)) {
      const texts = done.map(({ call }, i) => ({ text: call.text, scope: after[i] }));
      const text = texts.some((one) => hasBraces(one.text)) ? undefined : templateOf(texts, candidates);
      if (text === undefined) this.unexplained.push(`Answers of ${tool.name} are texts of different forms.`);
      else this.note('answers a text', done.length);
      return text === undefined ? undefined : textExpression(text);
    }
    const names = Object.keys(answers[0]);
    if (!answers.every((answer) => same(Object.keys(answer), names)))
      return void this.unexplained.push(`Answers of ${tool.name} have different fields from call to call.`);
    const examplesOf = (field: string) =>
      done.map(({ call }, i): Example => ({ at: call.at, scope: after[i], value: (answers[i] as JsonObject)[field] }));
    const made = this.fields('answers', names, examplesOf, candidates);
    if (made !== undefined) this.note('answers', done.length);
    return made;
  }

  /** The state after a call, as the logs show it. */
  private scopeAfter({ call, before, after, added }: Sighting): Scope {
    const scope = { ...scopeOf(before, call.arguments), ...(added !== undefined && { id: added.key }) };
    const changed = (this.rule.effects ?? []).reduce<Records>((state, { set, increment, to, by }) => {
      const path = set ?? increment;
      if (path === undefined) return state;
      const [, collection, , field] = /^\/(.+?)\/\{(.+)\}\/(.+)$/.exec(path)!;
      const key = String(evaluate(/\{(.+)\}/.exec(path)![1], scope));
      const value =
        set === undefined
          ? Number(valueIn(state, collection, key, field)) + Number(evaluate(String(by), scope))
          : evaluate(String(to), scope);
      return value === undefined ? state : overlaid(state, { [collection]: { [key]: { [field]: value } } });
    }, before);
    return { ...scope, state: overlaid(changed, after) as JsonObject };
  }

  /** A list: which records are in it, in which order, with which fields. */
  private listAnswer(): Json | undefined {
    const { tool, done, shape } = this;
    const lists = done.map(({ call }) => this.beliefs.read(call));
    const items = done.map(({ call }) => listIn(call.answer!)!.items.filter(isJsonObject));
    const [first] = lists.flat();
    if (first === undefined)
      return void this.unexplained.push(`${tool.name} never listed anything: what it lists is not known.`);
    const { collection } = first;
    const names = Object.keys(items.flat()[0]);
    const isOne = lists.every(
      (list, i) => list.length === items[i].length && list.every((one) => one.collection === collection),
    );
    if (!isOne || !items.flat().every((item) => same(Object.keys(item), names)))
      return void this.unexplained.push(`${tool.name} lists things of different forms.`);
    const examplesOf = (field: string) =>
      done.flatMap(({ call, before }, i) =>
        lists[i].map(({ key }, at): Example => {
          const it = before[collection]?.[key];
          return { at: call.at, scope: { ...scopeOf(before, call.arguments), it, key }, value: items[i][at][field] };
        }),
      );
    const own = ['key', ...shape.fieldsOf(collection).map((field) => `it.${field}`)];
    const fields = this.fields('items', names, examplesOf, own);
    if (fields === undefined) return undefined;
    const [where, ...others] = this.filters(
      lists.map((list) => list.map(({ key }) => key)),
      collection,
    );
    if (where === undefined)
      return void this.unexplained.push(`Nothing known explains which ${collection} ${tool.name} lists.`);
    const order = names.find((field) => items.every((list) => isAscending(list.map((item) => item[field]))));
    if (order === undefined)
      return void this.unexplained.push(`Nothing known explains the order in which ${tool.name} lists.`);
    this.note(
      `lists ${collection}`,
      done.length,
      others.map((chosen) => chosen.join(' && ') || 'all'),
    );
    const asEntry = (text: string) => text.replace(/\bit\./g, `state.${collection}[k].`).replace(/\bkey\b/g, 'k');
    const filter = where.length === 0 ? '' : `.filter(k, ${where.map(asEntry).join(' && ')})`;
    const item = names.map((field) => `${JSON.stringify(field)}: ${asEntry(fields[field])}`).join(', ');
    const text = `state.${collection}${filter}.map(k, {${item}}).sortBy(${JSON.stringify(order)})`;
    const { within } = listIn(done[0].call.answer!)!;
    return within === undefined ? text : { [within]: text };
  }

  /** Conditions one for each argument, and what all that was ever listed has in common, that together give every list. */
  private filters(lists: readonly (readonly string[])[], collection: string): string[][] {
    const { shape, done } = this;
    const fields = shape.fieldsOf(collection);
    const recordsIn = ({ before }: Sighting) => Object.entries(before[collection] ?? {});
    const holdsFor = (text: string, { call, before }: Sighting, key: string, it: JsonObject) =>
      evaluate(text, { ...scopeOf(before, call.arguments), key, it });
    const isForAll = (text: string) =>
      done.every((one, i) =>
        recordsIn(one).every(([key, it]) => !lists[i].includes(key) || holdsFor(text, one, key, it) !== false),
      );
    const perArgument = argumentNames(done).map((name) => {
      const isOptional =
        !done.every(({ call }) => name in call.arguments) ||
        !((this.tool.parameters.required ?? []) as string[]).includes(name);
      return ['==', '<=', '>=']
        .flatMap((sign) => fields.map((field) => `it.${field} ${sign} call.${name}`))
        .sort((a, b) => Number(b.includes(`it.${name} `)) - Number(a.includes(`it.${name} `)))
        .map((text) => (isOptional ? `(!has(call.${name}) || ${text})` : text))
        .filter(isForAll);
    });
    if (perArgument.some((choices) => choices.length === 0)) return [];
    const common = [
      ...commonValues(done, lists, collection, fields),
      ...shape.referringConditions(collection, done).flatMap((each) => [`!${each('key')}`, each('key')]),
    ];
    const combined = perArgument.reduce<string[][]>(
      (all, each) => all.flatMap((chosen) => each.slice(0, 6).map((text) => [...chosen, text])),
      [[]],
    );
    const givesLists = (texts: readonly string[]) =>
      done.every((one, i) =>
        recordsIn(one).every(
          ([key, it]) => texts.every((text) => holdsFor(text, one, key, it) === true) === lists[i].includes(key),
        ),
      );
    return combined.flatMap((chosen) => [chosen, ...common.map((text) => [...chosen, text])]).filter(givesLists);
  }
}

/** Number of collections in a condition. */
function depth(text: string): number {
  return / in state\.\w+$/.test(text) || text.startsWith('has(') ? (text.match(/state\./g) ?? []).length : 100;
}

/** `Room {call.room_id} is closed.` as an expression. */
function textExpression(template: string): string {
  const parts = template
    .split(/\{([^{}]*)\}/)
    .map((part, i) => (i % 2 === 0 ? JSON.stringify(part) : `string(${part})`));
  return parts.filter((part) => part !== '""').join(' + ') || '""';
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
function comparisons(failed: Sighting, values: readonly string[]): Condition[] {
  const constants = values.flatMap((text): Condition[] => {
    const value = evaluateAt(text, failed);
    if (value === undefined || typeof value === 'object') return [];
    if (typeof value === 'number') return ['>=', '<='].map((sign) => comparison(text, sign, String(value)));
    // That something is named so is no reason.
    return typeof value === 'string' && /\d/.test(value) ? [] : [comparison(text, '==', JSON.stringify(value))];
  });
  return [...constants, ...pairs(values).flatMap(([a, b]) => ['!=', '>', '<'].map((sign) => comparison(a, sign, b)))];
}

/** Those first whose words the error has: `status == "cancelled"` for "is already cancelled". */
function byWords(conditions: readonly Condition[], error: string): Condition[] {
  const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}]{3,}/gu) ?? [];
  const words = new Set(wordsOf(error.replace(/\{[^{}]*\}/g, ' ')));
  const score = ({ when }: Condition) => {
    if (/^!\(.* in state\.\w+\)$/.test(when)) return words.has('not') || words.has('unknown') ? 2.5 : 0;
    const quoted = when.toLowerCase().match(/"([^"]+)"/)?.[1] ?? '';
    const shared = wordsOf(when).filter((word) => words.has(word) && word !== 'state' && word !== 'call').length;
    return (words.has(quoted) ? 2 : 0) + shared / 10 - when.length / 1000;
  };
  return [...conditions].sort((a, b) => score(b) - score(a));
}

/** `it.free == true`: a condition that all listed records meet. */
function commonValues(
  sightings: readonly Sighting[],
  lists: readonly (readonly string[])[],
  collection: string,
  fields: readonly string[],
): string[] {
  return fields.filter(isName).flatMap((field) => {
    const values = sightings.flatMap(({ before }, i) => lists[i].map((key) => valueIn(before, collection, key, field)));
    const [first] = values;
    if (!['string', 'boolean'].includes(typeof first) || !values.every((value) => same(value, first))) return [];
    return [`it.${field} == ${JSON.stringify(first)}`];
  });
}

function isAscending(values: readonly (Json | undefined)[]): boolean {
  return values.every((value, i) => {
    if (typeof value !== 'string' && typeof value !== 'number') return false;
    const before = values[i - 1] as typeof value | undefined;
    return before === undefined || (typeof before === typeof value && before < value);
  });
}
