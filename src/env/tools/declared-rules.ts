// Rules that a domain declares in rules.yaml: preconditions, effects and answers of calls, and invariants of the
// state. Compiled into the same form as rules.js. A tool with a declared answer is exact; for the others, the
// declared rules constrain every backend.

import { z } from 'zod';
import { canonicalJson, contentHash, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { nameAside, type ReverieError, reverieError } from '../../core/errors.js';
import { applyOperations } from '../state/operations.js';
import { compileSchema, valueAt } from '../state/state.js';
import {
  comparable,
  type Expression,
  ExpressionProblem,
  entryOf,
  fieldOf,
  type Names,
  readExpression,
  type Scope,
  tidy,
  typeOf,
} from './cel.js';
import type { CallSpec, CheckResult, ToolOutcome, ToolRules, ToolSpec } from './domain.js';
import { type Operation, refusalOf } from './prediction.js';

const expression = z
  .string('an expression is text')
  .min(1, 'there is no expression; one that begins with "!" or "{" must stand in quotes')
  .max(2_000);
const text = z.string().min(1);
const name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'names are letters, digits and "_"');
/** An expression, or a record or list of such; numbers, true, false and null are themselves. */
const value = z.json();

export const requirementSchema = z.strictObject({
  require: expression.describe('must be true'),
  error: text.describe('error message of the refused call; {expression} is replaced by its value'),
});

const effectSchema = z.strictObject({
  set: text.optional(),
  to: value.optional(),
  increment: text.optional(),
  by: value.optional(),
  append: text.optional(),
  create: text.optional(),
  value: value.optional(),
  remove: text.optional(),
  if: expression.optional(),
  each: expression.optional(),
});
type Effect = z.output<typeof effectSchema>;

/** Required and optional keys for each kind of effect. */
const EFFECTS = {
  set: { needs: ['to'], allows: [] },
  increment: { needs: [], allows: ['by'] },
  append: { needs: ['value'], allows: [] },
  create: { needs: ['value'], allows: [] },
  remove: { needs: [], allows: ['value'] },
} as const;
type EffectKind = keyof typeof EFFECTS;

const toolSchema = z.strictObject({
  let: z.record(name, expression).optional(),
  enforces: z.array(requirementSchema).optional(),
  effects: z.array(effectSchema).optional(),
  answers: value.optional(),
});

export const rulesFileSchema = z.strictObject({
  tools: z.record(z.string(), toolSchema).default({}),
  invariants: z.array(requirementSchema.extend({ each: expression.optional() })).default([]),
});
export type RulesFile = z.output<typeof rulesFileSchema>;

/** A place in a file: its keys, from the root. */
type Place = readonly (string | number)[];

interface Sources {
  readonly tools: readonly ToolSpec[];
  readonly stateSchema: JsonObject;
  /** An error at a place of rules.yaml or tools.yaml. */
  readonly fault: (place: Place, problem: string, file?: 'tools') => ReverieError;
  /** The name of rules.yaml in errors, and a place in it. */
  readonly file: string;
  readonly at: (place: Place) => string;
}

interface CompiledTool {
  readonly lets: readonly (readonly [name: string, expression: Expression])[];
  readonly enforces: readonly { readonly require: Expression; readonly error: Template; readonly place: Place }[];
  readonly effects?: readonly CompiledEffect[];
  readonly answers?: Value;
  readonly place: Place;
}

interface CompiledEffect {
  readonly kind: EffectKind;
  readonly path: Template;
  readonly value?: Value;
  readonly if?: Expression;
  readonly each?: Expression;
  readonly place: Place;
}

type Value = (scope: Scope) => Json;
type Template = (scope: Scope, asText?: (value: Json) => string) => string;

const MOST_REASONS = 5;

export class DeclaredRules implements ToolRules {
  readonly refusesItself = true;
  readonly version: string;
  readonly tools: ReadonlySet<string>;
  readonly checks: ReadonlySet<string> = new Set();
  readonly preconditioned: ReadonlySet<string>;
  private readonly compiled: ReadonlyMap<string, CompiledTool>;
  private readonly always: readonly Invariant[];

  /** @throws what `sources.fault` makes of what is wrong */
  constructor(
    readonly file: RulesFile,
    private readonly sources: Sources,
  ) {
    this.version = contentHash({
      ...file,
      enforces: sources.tools.map(({ enforces }) => enforces ?? []),
    } as unknown as Json);
    const stray = Object.keys(file.tools).find((tool) => !sources.tools.some(({ name }) => name === tool));
    if (stray !== undefined) {
      const known = sources.tools.map(({ name }) => name);
      throw sources.fault(['tools', stray], `"${stray}" is not a tool of the domain${nameAside(stray, known)}`);
    }
    this.compiled = new Map(
      sources.tools.map((tool) => [tool.name, compileTool(tool, file.tools[tool.name] ?? {}, sources)]),
    );
    const exact = [...this.compiled].filter(([, { answers }]) => answers !== undefined);
    this.tools = new Set(exact.map(([name]) => name));
    this.preconditioned = new Set([...this.compiled.keys()]);
    this.always = file.invariants.map((one, i) => compileInvariant(one, ['invariants', i], sources));
  }

  execute(state: JsonObject, call: CallSpec): ToolOutcome {
    const tool = this.compiled.get(call.name)!;
    const scope = scopeOf(tool, state, call.arguments);
    const [refusal] = this.refusals(tool, scope);
    if (refusal !== undefined) return refusalOf([refusal]);
    const { operations, after } = this.changes(tool, scope, state);
    const broken = after === state ? [] : this.invariants(state, after);
    if (broken.length > 0) return refusalOf(broken);
    const answer = this.run([...tool.place, 'answers'], () => tool.answers!(scopeWith(tool, scope, { state: after })));
    return { operations, observation: typeof answer === 'string' ? answer : JSON.stringify(answer), isError: false };
  }

  preconditions(state: JsonObject, call: CallSpec): readonly string[] {
    const tool = this.compiled.get(call.name);
    return tool === undefined ? [] : this.refusals(tool, scopeOf(tool, state, call.arguments));
  }

  /** Effects of a call that is not refused, as far as they are declared. */
  effectsOf(state: JsonObject, call: CallSpec): readonly Operation[] {
    const tool = this.compiled.get(call.name);
    if (tool?.effects === undefined) return [];
    const scope = scopeOf(tool, state, call.arguments);
    return this.refusals(tool, scope).length > 0 ? [] : this.changes(tool, scope, state).operations;
  }

  /** For a tool with declared effects but no declared answer: missing and additional changes after a success. */
  unmet(after: JsonObject, call: CallSpec, before: JsonObject): readonly string[] {
    const tool = this.compiled.get(call.name);
    if (tool?.effects === undefined) return [];
    const scope = scopeOf(tool, before, call.arguments);
    if (this.refusals(tool, scope).length > 0) return [];
    const { operations, after: declared } = this.changes(tool, scope, before);
    const same = (a: Json | undefined, b: Json | undefined) => canonicalJson(a ?? null) === canonicalJson(b ?? null);
    if (same(after, declared)) return [];
    const missed = operations.flatMap(({ path }) => {
      const [is, wanted] = [after, declared].map((state) => valueAt(state, path));
      return same(is, wanted)
        ? []
        : [`${path} is ${JSON.stringify(is ?? null)} where it must be ${JSON.stringify(wanted ?? null)}`];
    });
    return missed.length > 0
      ? missed.slice(0, MOST_REASONS)
      : ['it changes more than the declared effects of the tool'];
  }

  invariants(before: JsonObject, after: JsonObject): readonly string[] {
    if (before === after && this.always.length === 0) return [];
    const broken: string[] = [];
    for (const { each, require, error, place } of this.always) {
      this.run(place, () => {
        const scope = { state: after, before };
        const scopes =
          each === undefined ? [scope] : entriesOf(each.value(scope)).map(([key, it]) => ({ ...scope, key, it }));
        for (const one of scopes)
          if (broken.length < MOST_REASONS && require.value(one) !== true) broken.push(error(one));
      });
    }
    return broken;
  }

  check(check: string): CheckResult {
    throw new RangeError(`rules.yaml has no check "${check}"`);
  }

  close(): void {}

  /** The first unmet requirement: later ones may depend on it. */
  private refusals({ enforces }: CompiledTool, scope: Scope): string[] {
    for (const { require, error, place } of enforces) {
      const reason = this.run(place, () => (require.value(scope) === true ? undefined : error(scope)));
      if (reason !== undefined) return [reason];
    }
    return [];
  }

  /** Applied in order: each effect sees the changes before it. */
  private changes(tool: CompiledTool, scope: Scope, before: JsonObject) {
    const operations: Operation[] = [];
    let after = before;
    for (const effect of tool.effects ?? []) {
      this.run(effect.place, () => {
        const over = effect.each?.value(scopeWith(tool, scope, { state: after }));
        const entries = over === undefined ? [[null, null]] : entriesOf(over);
        // From the end of a list, so that what is removed moves nothing that is to come.
        if (effect.kind === 'remove' && Array.isArray(over)) entries.reverse();
        for (const [key, it] of entries) {
          const own = scopeWith(tool, scope, { state: after, ...(over !== undefined && { key, it }) });
          if (effect.if !== undefined && effect.if.value(own) !== true) continue;
          const operation = operationOf(effect, own, after);
          if (operation === undefined) continue;
          operations.push(operation);
          after = applyOperations(after, [operation]);
        }
      });
    }
    return { operations, after };
  }

  private run<T>(place: Place, compute: () => T): T {
    try {
      return compute();
    } catch (error) {
      if (!(error instanceof ExpressionProblem)) throw error;
      throw reverieError(
        'RULES_FAILED',
        { file: this.sources.file, where: this.sources.at(place), problem: error.message },
        error,
      );
    }
  }
}

/** Named values are computed lazily, in the state before the call. */
function scopeOf({ lets }: CompiledTool, state: JsonObject, call: JsonObject): Scope {
  const scope: Record<string, unknown> = { call, state };
  for (const [name, expression] of lets) {
    let known: { readonly value: Json } | undefined;
    const get = () => {
      known ??= { value: expression.value(scope) };
      return known.value;
    };
    Object.defineProperty(scope, name, { enumerable: true, get });
  }
  return scope;
}

/** The call and the named values of a scope beside others of its own. */
function scopeWith({ lets }: CompiledTool, scope: Scope, own: Record<string, unknown>): Scope {
  const made = { call: scope.call, ...own };
  for (const [name] of lets) Object.defineProperty(made, name, { enumerable: true, get: () => scope[name] });
  return made;
}

function entriesOf(value: Json): [Json, Json][] {
  if (typeof value !== 'object' || value === null) throw new ExpressionProblem('"each" needs a list or a map');
  return Array.isArray(value) ? value.map((item, i) => [i, item]) : Object.entries(value);
}

function operationOf(
  { kind, path: template, value }: CompiledEffect,
  scope: Scope,
  state: JsonObject,
): Operation | undefined {
  const path = template(scope, (part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'));
  const parent = valueAt(state, path.slice(0, path.lastIndexOf('/')));
  const is = valueAt(state, path);
  if (typeof parent !== 'object' || parent === null)
    throw new ExpressionProblem(`there is nothing at ${path.slice(0, path.lastIndexOf('/')) || '/'}`);
  if (kind === 'create' || kind === 'set') {
    if (kind === 'create' && is !== undefined) throw new ExpressionProblem(`there is something at ${path} already`);
    const made = value!(scope);
    if (is !== undefined && canonicalJson(is) === canonicalJson(made)) return undefined;
    return { op: is === undefined ? 'add' : 'replace', path, value: made };
  }
  if (is === undefined) throw new ExpressionProblem(`there is nothing at ${path}`);
  if (kind === 'increment') {
    const by = value?.(scope) ?? 1;
    if (typeof is !== 'number' || typeof by !== 'number')
      throw new ExpressionProblem(`${path} is ${JSON.stringify(is)}: only numbers can be incremented`);
    return by === 0 ? undefined : { op: 'replace', path, value: tidy(is + by) };
  }
  if (kind === 'remove' && value === undefined) return { op: 'remove', path };
  if (!Array.isArray(is)) throw new ExpressionProblem(`${path} is not a list`);
  const item = value!(scope);
  if (kind === 'append') return { op: 'add', path: `${path}/-`, value: item };
  const at = is.findIndex((one) => canonicalJson(one) === canonicalJson(item));
  if (at < 0) throw new ExpressionProblem(`${path} has no ${JSON.stringify(item)}`);
  return { op: 'remove', path: `${path}/${at}` };
}

function compileTool(tool: ToolSpec, rule: RulesFile['tools'][string], sources: Sources): CompiledTool {
  const { fault, stateSchema } = sources;
  const place: Place = ['tools', tool.name];
  const { effects, answers } = rule;
  if (effects !== undefined && tool.kind !== 'write')
    throw fault(
      [...place, 'effects'],
      `${tool.name} is of kind ${tool.kind}, and has effects: those of kind write change the state`,
    );
  if (tool.kind === 'write' && answers !== undefined && effects === undefined)
    throw fault(
      [...place, 'answers'],
      `${tool.name} is of kind write: declare its effects beside its answer; "effects: []" if there are none`,
    );
  // Only declared arguments may be used.
  let names: Names = { call: { additionalProperties: false, ...tool.parameters }, state: stateSchema };
  const reads = new Reader(fault);
  const lets = Object.entries(rule.let ?? {}).map(([name, text]) => {
    const at = [...place, 'let', name];
    if (['it', 'key', 'before'].includes(name) || Object.hasOwn(names, name))
      throw fault(at, `"${name}" means something else already`);
    const expression = reads.expression(text, names, at);
    names = { ...names, [name]: expression.schema };
    return [name, expression] as const;
  });
  const enforces = [
    ...(tool.enforces ?? []).map((one, i) => ({
      one,
      at: [sources.tools.indexOf(tool), 'enforces', i] as Place,
      file: 'tools' as const,
    })),
    ...(rule.enforces ?? []).map((one, i) => ({ one, at: [...place, 'enforces', i] as Place, file: undefined })),
  ].map(({ one, at, file }) => {
    // Requirements in tools.yaml cannot use the names of rules.yaml.
    const known = file === undefined ? names : { call: names.call, state: names.state };
    const own = new Reader((where, problem) => fault(where, problem, file));
    return {
      require: own.condition(one.require, known, [...at, 'require']),
      error: own.template(one.error, known, [...at, 'error']),
      place: file === undefined ? at : [...place, 'enforces'],
    };
  });
  return {
    ...{ lets, enforces, place },
    ...(effects && {
      effects: effects.map((effect, i) => compileEffect(effect, names, [...place, 'effects', i], reads, stateSchema)),
    }),
    ...(answers !== undefined && { answers: reads.value(answers, names, [...place, 'answers'], tool.returns?.schema) }),
  };
}

function compileEffect(
  effect: Effect,
  names: Names,
  place: Place,
  reads: Reader,
  stateSchema: JsonObject,
): CompiledEffect {
  const kinds = (Object.keys(EFFECTS) as EffectKind[]).filter((kind) => effect[kind] !== undefined);
  if (kinds.length !== 1)
    throw reads.fault(
      place,
      `an effect is one of ${Object.keys(EFFECTS).join(', ')}, and this is ${kinds.length === 0 ? 'none' : kinds.join(' and ')}`,
    );
  const [kind] = kinds;
  const { needs, allows } = EFFECTS[kind];
  const given = (['to', 'by', 'value'] as const).filter((key) => effect[key] !== undefined);
  const lacking = needs.find((key) => effect[key] === undefined);
  if (lacking !== undefined) throw reads.fault(place, `"${kind}" needs "${lacking}"`);
  const stray = given.find((key) => ![...needs, ...allows].some((one) => one === key));
  if (stray !== undefined) throw reads.fault([...place, stray], `"${stray}" does not go with "${kind}"`);
  const each = effect.each === undefined ? undefined : reads.expression(effect.each, names, [...place, 'each']);
  const known = each === undefined ? names : { ...names, ...entryNames(each) };
  const target = reads.path(effect[kind]!, known, [...place, kind], stateSchema);
  const wanted = kind === 'append' || kind === 'remove' ? entryOf(target) : target;
  if (kind === 'increment' && !['number', undefined].includes(typeOf(target)))
    throw reads.fault([...place, kind], `${effect.increment} is a ${typeOf(target)}: only numbers can be incremented`);
  return {
    ...{ kind, place, path: reads.template(effect[kind]!, known, [...place, kind]) },
    ...(given[0] && {
      value: reads.value(
        effect[given[0]]!,
        known,
        [...place, given[0]],
        kind === 'increment' ? { type: 'number' } : wanted,
      ),
    }),
    ...(effect.if && { if: reads.condition(effect.if, known, [...place, 'if']) }),
    ...(each && { each }),
  };
}

interface Invariant {
  readonly each?: Expression;
  readonly require: Expression;
  readonly error: Template;
  readonly place: Place;
}

function compileInvariant(
  { each: over, require, error }: RulesFile['invariants'][number],
  place: Place,
  { fault, stateSchema }: Sources,
): Invariant {
  const reads = new Reader(fault);
  const names: Names = { state: stateSchema, before: stateSchema };
  const each = over === undefined ? undefined : reads.expression(over, names, [...place, 'each']);
  const known = each === undefined ? names : { ...names, ...entryNames(each) };
  return {
    place,
    ...(each && { each }),
    require: reads.condition(require, known, [...place, 'require']),
    error: reads.template(error, known, [...place, 'error']),
  };
}

/** `it` is each entry, `key` its key or place. */
function entryNames({ schema }: Expression): Names {
  const key =
    typeOf(schema) === 'object' ? { type: 'string' } : typeOf(schema) === 'array' ? { type: 'number' } : undefined;
  return { it: entryOf(schema), key };
}

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** Parses the value at a place; errors name the place and the expression. */
class Reader {
  constructor(readonly fault: (place: Place, problem: string) => ReverieError) {}

  expression(text: string, names: Names, place: Place): Expression {
    return this.tried(place, text, () => readExpression(text, names));
  }

  condition(text: string, names: Names, place: Place): Expression {
    const expression = this.expression(text, names, place);
    const type = typeOf(expression.schema);
    if (type !== undefined && type !== 'boolean')
      throw this.fault(place, `"${text}" is a ${type}; a condition is true or false`);
    return expression;
  }

  /** `{expression}` stands for its value. */
  template(text: string, names: Names, place: Place): Template {
    const parts = text.split(PLACEHOLDER).map((part, i) => (i % 2 === 0 ? part : this.expression(part, names, place)));
    return (scope, asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value))) =>
      parts.map((part) => (typeof part === 'string' ? part : asText(part.value(scope)))).join('');
  }

  /** Schema of the value at a path of the state. */
  path(text: string, names: Names, place: Place, schema: JsonObject): JsonObject | undefined {
    if (!text.startsWith('/')) throw this.fault(place, `"${text}" is not a JSON Pointer: it must begin with "/"`);
    // A placeholder may hold a slash.
    const keys = text
      .replaceAll(PLACEHOLDER, (part) => part.replaceAll('/', '\u0000'))
      .slice(1)
      .split('/');
    let at: JsonObject | undefined = schema;
    for (const key of keys) {
      const own: JsonObject | undefined = at;
      const lead = () =>
        key.includes('{') ? entryOf(own) : fieldOf(own, key.replaceAll('~1', '/').replaceAll('~0', '~'));
      at = this.tried<JsonObject | undefined>(place, text, lead);
    }
    for (const [, part] of text.matchAll(PLACEHOLDER)) this.expression(part, names, place);
    return at;
  }

  /** @param wanted schema of what it must be, where that is known */
  value(written: Json, names: Names, place: Place, wanted?: JsonObject): Value {
    if (typeof written === 'string') {
      const expression = this.expression(written, names, place);
      this.tried(place, written, () =>
        comparable(
          'to',
          expression.schema,
          typeOf(expression.schema) === 'null' || typeof wanted?.type === 'object' ? undefined : wanted,
        ),
      );
      return (scope) => expression.value(scope);
    }
    if (Array.isArray(written)) {
      const parts = written.map((part, i) => this.value(part, names, [...place, i], entryOf(wanted)));
      return (scope) => parts.map((part) => part(scope));
    }
    if (!isJsonObject(written)) {
      const [problem] = wanted === undefined ? [] : compileSchema(wanted, 'the value')(written);
      if (problem !== undefined) throw this.fault(place, `${JSON.stringify(written)} cannot stand here: ${problem}`);
      return () => written;
    }
    const lacking = ((wanted?.required ?? []) as string[]).find((key) => !Object.hasOwn(written, key));
    if (lacking !== undefined) throw this.fault(place, `"${lacking}" is missing, which its schema requires`);
    const parts = Object.entries(written).map(([key, part]) => {
      const own: JsonObject | undefined = this.tried([...place, key], key, () => fieldOf(wanted, key));
      return [key, this.value(part, names, [...place, key], own)] as const;
    });
    return (scope) => Object.fromEntries(parts.map(([key, part]) => [key, part(scope)]));
  }

  private tried<T>(place: Place, text: string, compute: () => T): T {
    try {
      return compute();
    } catch (error) {
      if (!(error instanceof ExpressionProblem)) throw error;
      throw this.fault(place, `"${text.length > 120 ? `${text.slice(0, 117)}...` : text}": ${error.message}`);
    }
  }
}
