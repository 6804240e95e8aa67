// The language in which rules from logs are written: sums and products of arguments, fields of records and constants, compared
// with one another. It is read and computed here and is no code: it knows no loops, no functions of anybody's and no names but
// the call's arguments and the state's collections.
//
//   nights                          the argument of the call
//   rooms[room_id].price            a field of the record that the argument names
//   rooms[bookings[booking_id].room_id].price * nights + 10
//   each.kind                       a field of the listed record
//   next(bookings)                  the id after the highest one: B-1003 after B-1002
//   bookings[new].total             in answers: a field of the record that the call has added
//   missing rooms[room_id]          there is no such record
//   bookings[booking_id].status == "cancelled"
//   some bookings.room_id == room_id and status == "confirmed"
//                                   there is such a record; `no` instead of `some`: there is none

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';

/** What an expression may speak of. */
export interface Scope {
  readonly arguments: JsonObject;
  readonly state: JsonObject;
  /** The record looked at, in conditions of lists. */
  readonly each?: JsonObject;
}

/** undefined: not known, as an argument was not given or a record or field is not in the state. */
export type Expression = (scope: Scope) => Json | undefined;

/** A sentence on what cannot be read; the caller knows where it stands. */
export class ExpressionProblem extends Error {}

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|("(?:[^"\\]|\\.)*")|([\p{L}_][\p{L}\p{N}_]*)|(==|!=|<=|>=|[<>[\]().*+-]))/uy;
const COMPARISONS = ['==', '!=', '<=', '>=', '<', '>'] as const;
const LITERALS: Readonly<Record<string, Json>> = { true: true, false: false, null: null };
const MAX_DEPTH = 32;

/** @throws ExpressionProblem */
export function parseExpression(text: string): Expression {
  return new Parser(text).whole();
}

/** Whether a name can stand in an expression. */
export function isName(name: string): boolean {
  return (
    /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) &&
    !['each', 'next', 'new', 'missing', 'some', 'no', 'and', ...Object.keys(LITERALS)].includes(name)
  );
}

/** The id that follows the highest of the ids that end in digits; undefined where these do not all begin alike. */
export function nextId(ids: readonly string[]): string | undefined {
  const parts = ids.map((id) => /^(.*?)(\d+)$/.exec(id));
  const prefix = parts[0]?.[1];
  if (prefix === undefined || parts.some((part) => part?.[1] !== prefix)) return undefined;
  const digits = parts.map((part) => part![2]);
  const width = Math.max(...digits.map((each) => each.length));
  const highest = Math.max(...digits.map(Number));
  return Number.isSafeInteger(highest) ? `${prefix}${String(highest + 1).padStart(width, '0')}` : undefined;
}

/** The record of a collection; undefined where there is none. */
export function recordAt(state: JsonObject, collection: string, key: Json | undefined): JsonObject | undefined {
  const records = Object.hasOwn(state, collection) ? state[collection] : undefined;
  if (!isJsonObject(records) || (typeof key !== 'string' && typeof key !== 'number')) return undefined;
  const found = Object.hasOwn(records, String(key)) ? records[String(key)] : undefined;
  return isJsonObject(found) ? found : undefined;
}

class Parser {
  private readonly tokens: string[] = [];
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const from = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (match === null) throw this.problem(`"${text.slice(from).trim().slice(0, 20)}" is nothing it knows`);
      this.tokens.push(match[0].trim());
    }
  }

  whole(): Expression {
    const expression = this.condition();
    if (this.at < this.tokens.length) throw this.problem(`"${this.tokens[this.at]}" is one too many`);
    return expression;
  }

  private condition(): Expression {
    if (this.take('missing')) return this.missing();
    if (this.take('some')) return this.some();
    if (!this.take('no')) return this.comparison();
    const some = this.some();
    return (scope) => {
      const is = some(scope);
      return is === undefined ? undefined : !is;
    };
  }

  private some(): Expression {
    const collection = this.name();
    this.need('.');
    const fields = [this.equality()];
    while (this.take('and')) fields.push(this.equality());
    return (scope) => {
      const wanted = fields.map(({ field, value }) => ({ field, value: value(scope) }));
      if (wanted.some(({ value }) => value === undefined)) return undefined;
      const records = Object.values((scope.state[collection] ?? {}) as JsonObject).filter(isJsonObject);
      return records.some((record) =>
        wanted.every(({ field, value }) => compared('==', record[field], value) === true),
      );
    };
  }

  private equality(): { readonly field: string; readonly value: Expression } {
    const field = this.name();
    this.need('==');
    return { field, value: this.sum() };
  }

  private missing(): Expression {
    const collection = this.name();
    this.need('[');
    const key = this.sum();
    this.need(']');
    return (scope) => {
      const value = key(scope);
      return value === undefined ? undefined : recordAt(scope.state, collection, value) === undefined;
    };
  }

  private comparison(): Expression {
    const left = this.sum();
    const operator = COMPARISONS.find((each) => this.take(each));
    if (operator === undefined) return left;
    const right = this.sum();
    return (scope) => compared(operator, left(scope), right(scope));
  }

  private sum(): Expression {
    let left = this.product();
    for (;;) {
      if (this.take('+')) left = arithmetic(left, this.product(), (a, b) => a + b);
      else if (this.take('-')) left = arithmetic(left, this.product(), (a, b) => a - b);
      else return left;
    }
  }

  private product(): Expression {
    let left = this.operand();
    while (this.take('*')) left = arithmetic(left, this.operand(), (a, b) => a * b);
    return left;
  }

  private operand(): Expression {
    if (++this.depth > MAX_DEPTH) throw this.problem('it is nested too deep');
    try {
      return this.take('-')
        ? arithmetic(
            () => 0,
            this.operand(),
            (a, b) => a - b,
          )
        : this.value();
    } finally {
      this.depth--;
    }
  }

  private value(): Expression {
    const token = this.tokens[this.at] ?? '';
    if (/^["\d]/.test(token)) {
      this.at++;
      const literal = JSON.parse(token) as Json;
      return () => literal;
    }
    const name = this.name();
    if (Object.hasOwn(LITERALS, name)) return () => LITERALS[name];
    if (name === 'next') return this.next();
    if (name === 'each') return this.fieldOf(({ each }) => each);
    if (!this.take('[')) return ({ arguments: given }) => (Object.hasOwn(given, name) ? given[name] : undefined);
    const key = this.sum();
    this.need(']');
    return this.fieldOf((scope) => recordAt(scope.state, name, key(scope)));
  }

  private fieldOf(record: (scope: Scope) => JsonObject | undefined): Expression {
    this.need('.');
    const field = this.name();
    return (scope) => {
      const found = record(scope);
      return found !== undefined && Object.hasOwn(found, field) ? found[field] : undefined;
    };
  }

  private next(): Expression {
    this.need('(');
    const collection = this.name();
    this.need(')');
    return ({ state }) => {
      const records = state[collection];
      return isJsonObject(records) ? nextId(Object.keys(records)) : undefined;
    };
  }

  private name(): string {
    const token = this.tokens[this.at++];
    if (token === undefined || !/^[\p{L}_]/u.test(token))
      throw this.problem(token === undefined ? 'it stops too early' : `"${token}" stands where a name should`);
    return token;
  }

  private take(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  private need(token: string): void {
    if (!this.take(token)) throw this.problem(`"${token}" is missing before "${this.tokens[this.at] ?? 'its end'}"`);
  }

  private problem(problem: string): ExpressionProblem {
    return new ExpressionProblem(`"${this.text.slice(0, 100)}" cannot be read: ${problem}`);
  }
}

function arithmetic(left: Expression, right: Expression, operate: (a: number, b: number) => number): Expression {
  return (scope) => {
    const [a, b] = [left(scope), right(scope)];
    return typeof a === 'number' && typeof b === 'number' ? tidy(operate(a, b)) : undefined;
  };
}

/** Sums of money: 0.1 + 0.2 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

function compared(operator: (typeof COMPARISONS)[number], a: Json | undefined, b: Json | undefined) {
  if (a === undefined || b === undefined) return undefined;
  if (operator === '==') return canonicalJson(a) === canonicalJson(b);
  if (operator === '!=') return canonicalJson(a) !== canonicalJson(b);
  const isOrdered =
    (typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string');
  if (!isOrdered) return undefined;
  if (operator === '<') return a < b;
  if (operator === '>') return a > b;
  return operator === '<=' ? a <= b : a >= b;
}
