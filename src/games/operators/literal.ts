// Literals over variables, as operators are written: `inreceptacle(?object, ?receptacle)`, `not opened(?receptacle)`,
// `receptacletype(?receptacle, sinkbasintype)`. What begins with `?` is a variable, all else names an object.

import type { Situation } from '../../worldmodel/situation.js';

export interface Literal {
  readonly predicate: string;
  readonly args: readonly string[];
  readonly negated: boolean;
}

/** Objects by the names of variables; a variable that means nothing here is missing. */
export type Binding = ReadonlyMap<string, string>;

/** A binding as far as literals need it. */
export type Meanings = Pick<Binding, 'get'>;

const WRITTEN = /^(not )?([^()\s,]+)\(([^()]*)\)$/;

/** undefined if it is none. */
export function readLiteral(text: string): Literal | undefined {
  const match = WRITTEN.exec(text);
  if (match === null) return undefined;
  const args = match[3] === '' ? [] : match[3].split(',').map((arg) => arg.trim());
  return args.includes('') ? undefined : { predicate: match[2], args, negated: match[1] !== undefined };
}

export function writeLiteral({ predicate, args, negated }: Literal): string {
  return `${negated ? 'not ' : ''}${predicate}(${args.join(', ')})`;
}

export function isVariable(arg: string): boolean {
  return arg.startsWith('?');
}

/** What its arguments mean; undefined where one of them means nothing. */
export function objectsOf(args: readonly string[], binding: Meanings): string[] | undefined {
  const objects: string[] = [];
  for (const arg of args) {
    const object = isVariable(arg) ? binding.get(arg) : arg;
    if (object === undefined) return undefined;
    objects.push(object);
  }
  return objects;
}

/** undefined where one of its variables means nothing: it then neither holds nor does its negation. */
export function truthOf({ predicate, args, negated }: Literal, binding: Meanings, at: Situation): boolean | undefined {
  const objects = objectsOf(args, binding);
  return objects === undefined ? undefined : at.holds(predicate, objects) !== negated;
}
