// Expressions of declared rules in CEL (Common Expression Language), parsed and evaluated here. Numbers are JSON numbers, so 5 / 2
// is 2.5; only own keys are visible; and evaluation has a deterministic limit, since rule files may come from
// strangers. Expressions are type-checked against JSON Schemas before they run.

import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { nameAside } from '../../core/errors.js';
import { remembered } from '../state/records.js';

/** A problem of an expression or of its current values; the caller adds the place. */
export class ExpressionProblem extends Error {}

/** JSON Schemas of the names that an expression may use; undefined if unknown. */
export type Names = Readonly<Record<string, JsonObject | undefined>>;
export type Scope = Readonly<Record<string, unknown>>;

export interface Expression {
  readonly text: string;
  /** JSON Schema of its values, as far as it is known. */
  readonly schema?: JsonObject;
  /** @throws ExpressionProblem where it has none */
  value(scope: Scope): Json;
}

const LIMITS = { maxAstNodes: 2_000, maxDepth: 32, maxListElements: 200, maxMapEntries: 200, maxCallArguments: 8 };
/** Limit on the elements visited and the parts and characters created by one evaluation. */
const MOST_WORK = 1_000_000;

/** A node with all its operators: the library's declarations separate operators that are treated alike here. */
interface Node {
  readonly op: string;
  args: unknown;
  readonly meta: { readonly alternate?: Node; readonly macro?: Record<string, unknown> };
  handle?: (...given: unknown[]) => unknown;
}

/** Cost of the current evaluation. */
let work = 0;

function spend(amount: number): void {
  work += amount;
  if (work > MOST_WORK) throw tooMuch();
}

const tooMuch = () =>
  new ExpressionProblem(`it computes too much: more than ${MOST_WORK} elements, parts or characters`);

const environments = new Map<string, Environment>();
const expressions = new Map<string, Map<Names, Expression>>();
const MOST_KEPT = 5_000;

/** @throws ExpressionProblem: it cannot be read, uses what is unknown, or compares what is of different types */
export function readExpression(text: string, names: Names): Expression {
  const kept = expressions.get(text)?.get(names);
  if (kept !== undefined) return kept;
  const expression = read(text, names);
  if (expressions.size >= MOST_KEPT) expressions.clear();
  expressions.set(text, (expressions.get(text) ?? new Map()).set(names, expression));
  return expression;
}

function read(text: string, names: Names): Expression {
  const environment = environmentOf(Object.keys(names));
  try {
    const program = environment.parse(text);
    const root = program.ast as ASTNode as unknown as Node;
    walk(root, asJsonNumbers);
    const schema = schemaOf(root, names);
    const { valid, error } = program.check();
    if (!valid) throw error;
    walk(root, counted);
    return {
      text,
      ...(schema === undefined ? {} : { schema }),
      value: (scope) => {
        const before = work;
        work = 0;
        try {
          const value = asJson(program(scope as Record<string, unknown>));
          // An error that a comprehension or `||` has suppressed.
          if (work > MOST_WORK) throw tooMuch();
          return value;
        } catch (problem) {
          if (problem instanceof ExpressionProblem && problem.message.startsWith('"')) throw problem;
          throw new ExpressionProblem(`"${text}": ${asProblem(problem).message}`);
        } finally {
          work = before;
        }
      },
    };
  } catch (problem) {
    throw asProblem(problem);
  }
}

function asProblem(error: unknown): ExpressionProblem {
  if (error instanceof ExpressionProblem) return error;
  const { summary, range, message } = error as { summary?: string; range?: { start: number }; message: string };
  const at = range === undefined || range.start === 0 ? '' : ` (at character ${range.start + 1})`;
  return new ExpressionProblem(`${summary ?? message}${at}`);
}

/** Both parts of a node: the source and its macro expansion. */
function walk(node: Node, visit: (node: Node) => void): void {
  const seen = new Set<unknown>();
  const open: unknown[] = [node];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part !== 'object' || part === null || seen.has(part)) continue;
    seen.add(part);
    const { op, args, meta } = part as Partial<Node>;
    if (op !== undefined && meta !== undefined) {
      visit(part as Node);
      open.push(args, meta.alternate, meta.macro);
    } else open.push(...(Object.values(part) as unknown[]));
  }
}

/** Literals are JSON numbers, as in the state; list indexes stay as they are. */
function asJsonNumbers(node: Node): void {
  if (node.op === 'value' && typeof node.args === 'bigint') node.args = safeNumber(node.args);
}

function counted(node: Node): void {
  const own = node.handle;
  if (node.op === 'comprehension')
    node.handle = (items, ...rest) => {
      spend(sizeOf(items));
      return own!(items, ...rest);
    };
  else if (node.op === '==' || node.op === '!=') node.handle = (a, b) => isEqual(a, b) === (node.op === '==');
  else if (node.op === 'in')
    node.handle = (item, of) => {
      if (Array.isArray(of)) return of.some((one) => isEqual(one, item));
      if (typeof of === 'object' && of !== null) return Object.hasOwn(of, String(item));
      throw new ExpressionProblem('"in" needs a list or a map on its right');
    };
  else if (own !== undefined && [...Object.keys(ARITHMETIC), 'call', 'rcall'].includes(node.op))
    node.handle = (...given) => {
      const result = own(...given);
      spend(sizeOf(result));
      if (typeof result === 'number' && node.op in ARITHMETIC) return tidy(result);
      return typeof result === 'bigint' ? safeNumber(result) : result;
    };
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length + 1;
  return typeof value === 'object' && value !== null ? Object.keys(value).length + 1 : 1;
}

function isEqual(a: unknown, b: unknown): boolean {
  spend(1);
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint') return Number(a) === Number(b);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isEqual((a as JsonObject)[key], (b as JsonObject)[key]));
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new ExpressionProblem(`${value} is beyond the integers that JSON has`);
  return number;
}

const weights = new WeakMap<object, number>();

/** Parts and characters of a frozen value, counted once. */
function weightOf(value: Json): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  return remembered(weights, value, () =>
    (Object.values(value) as Json[]).reduce<number>((sum, part) => sum + weightOf(part), 1),
  );
}

function asJson(value: unknown): Json {
  if (typeof value === 'object' && value !== null && Object.isFrozen(value)) {
    spend(weightOf(value as Json));
    return value as Json;
  }
  spend(sizeOf(value));
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return safeNumber(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new ExpressionProblem('its value is not a number: it divides by zero, or is too large');
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map(asJson);
  if (value instanceof Date) return value.toISOString();
  if (isJsonObject(value as Json) && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value as object).map(([key, part]) => [key, asJson(part)]));
  throw new ExpressionProblem(
    `its value is a ${(value as object)?.constructor?.name ?? typeof value}, which is not a JSON type`,
  );
}

/** Without floating-point noise, as for money: 0.1 + 0.2 is 0.3. Noise is what fifteen digits are much shorter without. */
export function tidy(computed: number): number {
  const short = Number(computed.toPrecision(15));
  return String(short).length + 3 < String(computed).length ? short : computed;
}

/** The id after the highest id that ends in digits; undefined if the prefixes differ. */
export function nextId(ids: readonly string[]): string | undefined {
  const parts = ids.map((id) => /^(.*?)(\d+)$/.exec(id));
  const prefix = parts[0]?.[1];
  if (prefix === undefined || parts.some((part) => part?.[1] !== prefix)) return undefined;
  const digits = parts.map((part) => part![2]);
  const width = Math.max(...digits.map((each) => each.length));
  const highest = Math.max(...digits.map(Number));
  return Number.isSafeInteger(highest) ? `${prefix}${String(highest + 1).padStart(width, '0')}` : undefined;
}

type Scalar = string | number | boolean;

function numbers(list: unknown): number[] {
  const values = (list as unknown[]).map(Number);
  if ((list as unknown[]).some((one) => typeof one !== 'number' && typeof one !== 'bigint'))
    throw new ExpressionProblem('it adds values that are not numbers');
  return values;
}

function before(a: Scalar, b: Scalar): boolean {
  if (typeof a !== typeof b) throw new ExpressionProblem('it compares the order of values of different types');
  return a < b;
}

const ordered = (a: Scalar, b: Scalar) => (before(a, b) ? -1 : before(b, a) ? 1 : 0);

const isUnique = (list: Json[]) => new Set(list.map((one) => canonicalJson(one))).size === list.length;
const sortedBy = (list: Row[], by: string) => [...list].sort((a, b) => ordered(a[by], b[by]));

function next(records: object): string {
  const id = nextId(Object.keys(records));
  if (id === undefined) throw new ExpressionProblem('next() finds no ids that end in digits and begin alike');
  return id;
}

type Row = Readonly<Record<string, Scalar>>;
type Declared = readonly [signature: string, type: string | undefined, run: (...given: never[]) => unknown];

/** Functions beyond CEL's own, with their return types. */
const FUNCTIONS: readonly Declared[] = [
  ['list.sum(): dyn', 'number', (list: unknown[]) => numbers(list).reduce((sum, one) => tidy(sum + one), 0)],
  ['list.unique(): bool', 'boolean', isUnique],
  ['list.sort(): list', undefined, (list: Scalar[]) => [...list].sort(ordered)],
  ['list.sortBy(string): list', undefined, sortedBy],
  ['merge(map, map): map', undefined, (a: object, b: object) => ({ ...a, ...b })],
  ['min(dyn, dyn): dyn', undefined, (a: Scalar, b: Scalar) => (before(b, a) ? b : a)],
  ['max(dyn, dyn): dyn', undefined, (a: Scalar, b: Scalar) => (before(a, b) ? b : a)],
  ['round(dyn): dyn', 'number', (value: number) => Math.round(Number(value))],
  ['round(dyn, dyn): dyn', 'number', (value: number, digits: number) => Number(Number(value).toFixed(Number(digits)))],
  ['next(map): string', 'string', next],
];

const RETURNS = new Map<string, string>([
  ...FUNCTIONS.flatMap(([signature, type]) => {
    const name = /(\w+)\(/.exec(signature)![1];
    return type === undefined ? [] : [[name, type] as const];
  }),
  ...['size', 'int', 'double', 'indexOf', 'lastIndexOf'].map((name) => [name, 'number'] as const),
  ...['string', 'join', 'substring', 'lowerAscii', 'upperAscii', 'trim'].map((name) => [name, 'string'] as const),
  ...['contains', 'startsWith', 'endsWith', 'has'].map((name) => [name, 'boolean'] as const),
]);

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};

function environmentOf(names: readonly string[]): Environment {
  const key = [...names].sort().join(' ');
  let environment = environments.get(key);
  if (environment === undefined) {
    environment = new Environment({
      limits: LIMITS,
      homogeneousAggregateLiterals: false,
      enableOptionalTypes: true,
      unlistedVariablesAreDyn: false,
    });
    for (const [op, compute] of Object.entries(ARITHMETIC)) {
      const run = (a: unknown, b: unknown) => compute(Number(a), Number(b));
      environment.registerOperator(`int ${op} double: double`, run);
      environment.registerOperator(`double ${op} int: double`, run);
      if (op === '%') environment.registerOperator('double % double: double', run);
    }
    environment.registerOperator('int == double: bool', (a: unknown, b: unknown) => Number(a) === Number(b));
    for (const [signature, , run] of FUNCTIONS) environment.registerFunction(signature, run as never);
    for (const name of names) environment.registerVariable(name, 'dyn');
    environments.set(key, environment);
  }
  return environment;
}

// Static checks: fields that no record has, words that are not in an enum, and types that
// do not match.

const of = (type: string): JsonObject => ({ type });

function schemaOf(node: Node, names: Names): JsonObject | undefined {
  const { alternate, macro } = node.meta;
  if (node.op === 'rcall' && (node.args as unknown[])[0] === 'matches')
    throw new ExpressionProblem(
      'matches() is not supported, because a pattern may run forever: use startsWith, endsWith and contains, or "pattern" in state.schema.json',
    );
  if (alternate !== undefined) return schemaOf(alternate, names);
  if (macro?.var !== undefined) {
    const bound = schemaOf(macro.val as Node, names);
    return schemaOf(macro.exp as Node, { ...names, [macro.var as string]: bound });
  }
  if (macro?.args !== undefined) {
    for (const arg of macro.args as Node[]) schemaOf(arg, names);
    return of('boolean');
  }
  const [left, right, third] = Array.isArray(node.args) ? (node.args as Node[]) : [node.args as Node];
  switch (node.op) {
    case 'value':
      return node.args === null ? of('null') : { type: typeof node.args, const: node.args as Json };
    case 'id': {
      const name = node.args as string;
      if (!Object.hasOwn(names, name) && name !== 'cel')
        throw new ExpressionProblem(unknown('name', name, Object.keys(names)));
      return names[name];
    }
    case '.':
    case '.?':
      return fieldOf(schemaOf(left, names), right as unknown as string);
    case '[]':
    case '[?]': {
      const key = schemaOf(right, names);
      return typeof key?.const === 'string'
        ? fieldOf(schemaOf(left, names), key.const)
        : entryOf(schemaOf(left, names));
    }
    case 'comprehension':
      return ofComprehension(node.args as Comprehension, names);
    case '?:': {
      schemaOf(left, names);
      const [a, b] = [schemaOf(right, names), schemaOf(third, names)];
      return typeOf(a) === typeOf(b) && typeOf(a) !== undefined ? of(typeOf(a)!) : undefined;
    }
    case '&&':
    case '||':
    case '!_':
      for (const part of node.op === '!_' ? [left] : [left, right]) {
        const type = typeOf(schemaOf(part, names));
        if (type !== undefined && type !== 'boolean')
          throw new ExpressionProblem(`"${node.op[0]}" needs true or false, not a ${type}`);
      }
      return of('boolean');
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      comparable(node.op, schemaOf(left, names), schemaOf(right, names));
      return of('boolean');
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return computed(node.op, schemaOf(left, names), schemaOf(right, names));
    case '-_':
      schemaOf(left, names);
      return of('number');
    case 'list': {
      const items = (node.args as Node[]).map((item) => schemaOf(item, names));
      return { type: 'array', ...(items[0] !== undefined && { items: items.length === 1 ? items[0] : {} }) };
    }
    case 'map': {
      const entries = (node.args as [Node, Node][]).map(([key, value]) => [
        schemaOf(key, names)?.const,
        schemaOf(value, names),
      ]);
      if (!entries.every(([key]) => typeof key === 'string')) return of('object');
      const properties = Object.fromEntries(entries.map(([key, value]) => [key, value ?? {}])) as JsonObject;
      return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
    }
    case 'in':
      for (const part of [left, right]) schemaOf(part, names);
      return of('boolean');
    case 'call':
    case 'rcall': {
      const [name, ...parts] = node.args as [string, ...(Node | Node[])[]];
      for (const part of parts.flat()) schemaOf(part, names);
      const type = RETURNS.get(name);
      return type === undefined ? undefined : of(type);
    }
    case 'accuPush':
      return { type: 'array', items: schemaOf(left, names) ?? {} };
    default:
      return undefined;
  }
}

interface Comprehension {
  readonly iterable: Node;
  readonly iterVarName: string;
  readonly step: Node;
  readonly kind?: string;
}

/** The variable goes over the items of a list, and over the keys of a map. */
function ofComprehension({ iterable, iterVarName, step, kind }: Comprehension, names: Names): JsonObject | undefined {
  const over = schemaOf(iterable, names);
  const item = typeOf(over) === 'object' ? of('string') : typeOf(over) === 'array' ? entryOf(over) : undefined;
  const inner = { ...names, [iterVarName]: item };
  const made = schemaOf(step, inner);
  if (kind === 'quantifier') return of('boolean');
  // A step of a filter either appends an item or does nothing.
  const pushed = step.op === '?:' ? (step.args as Node[])[1] : step;
  return pushed.op === 'accuPush' ? schemaOf(pushed, inner) : made;
}

const unknown = (what: string, name: string, known: readonly string[]) =>
  `there is no ${what} "${name}"${nameAside(name, known)}`;

/** Schema of the value at a key; undefined if unknown. */
export function fieldOf(schema: JsonObject | undefined, key: string): JsonObject | undefined {
  if (schema === undefined || isOpen(schema)) return undefined;
  const type = typeOf(schema);
  if (type !== undefined && type !== 'object') {
    if (type === 'array' && /^\d+$/.test(key)) return entryOf(schema);
    throw new ExpressionProblem(`"${key}" is a field of a ${type}, which has no fields`);
  }
  const properties = (schema.properties ?? {}) as JsonObject;
  if (Object.hasOwn(properties, key)) return properties[key] as JsonObject;
  if (schema.additionalProperties === false)
    throw new ExpressionProblem(unknown('field', key, Object.keys(properties)));
  return isJsonObject(schema.additionalProperties) ? schema.additionalProperties : undefined;
}

/** Schema of the entries of a list or a map. */
export function entryOf(schema: JsonObject | undefined): JsonObject | undefined {
  if (schema === undefined || isOpen(schema)) return undefined;
  const entry = typeOf(schema) === 'array' ? schema.items : schema.additionalProperties;
  return isJsonObject(entry) && Object.keys(entry).length > 0 ? entry : undefined;
}

function isOpen(schema: JsonObject): boolean {
  return ['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', 'if'].some((key) => key in schema);
}

/** string, number, boolean, object, array or null; undefined if several are possible. */
export function typeOf(schema: JsonObject | undefined): string | undefined {
  if (schema === undefined || isOpen(schema)) return undefined;
  const { type, enum: values } = schema;
  if (typeof type === 'string') return type === 'integer' ? 'number' : type;
  if (!Array.isArray(values)) return undefined;
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)));
  return types.size === 1 ? [...types][0] : undefined;
}

/** @throws ExpressionProblem where values of the one can never be values of the other */
export function comparable(op: string, a: JsonObject | undefined, b: JsonObject | undefined): void {
  const [left, right] = [typeOf(a), typeOf(b)];
  if (left !== undefined && right !== undefined && left !== right)
    throw new ExpressionProblem(`"${op}" stands between a ${left} and a ${right}`);
  for (const [one, other] of [
    [a, b],
    [b, a],
  ]) {
    const values = one?.enum;
    if (!Array.isArray(values) || typeof other?.const !== 'string' || values.includes(other.const)) continue;
    const aside = nameAside(other.const, values.map(String));
    throw new ExpressionProblem(`a value is never "${other.const}"${aside}`);
  }
}

function computed(op: string, a: JsonObject | undefined, b: JsonObject | undefined): JsonObject | undefined {
  const [left, right] = [typeOf(a), typeOf(b)];
  const allowed = op === '+' ? ['number', 'string', 'array'] : ['number'];
  for (const type of [left, right])
    if (type !== undefined && !allowed.includes(type)) throw new ExpressionProblem(`"${op}" is given a ${type}`);
  if (left !== undefined && right !== undefined && left !== right)
    throw new ExpressionProblem(`"${op}" stands between a ${left} and a ${right}; string() makes a text of a number`);
  const type = left ?? right;
  if (op !== '+') return of('number');
  return type === undefined || type === 'array' ? undefined : of(type);
}
