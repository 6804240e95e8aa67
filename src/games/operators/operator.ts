// Literals over variables, as operators are written: `inreceptacle(?object, ?receptacle)`, `not opened(?receptacle)`,
// `receptacletype(?receptacle, sinkbasintype)`. What begins with `?` is a variable, all else names an object.

import { z } from 'zod';
import type { Parameter, Situation } from '../../worldmodel/situation.js';
import type { Literal } from '../pddl/read-task.js';

/** Objects by the names of variables; a variable that means nothing here is missing. */
export type Binding = ReadonlyMap<string, string>;

/** A binding as far as literals need it. */
type Meanings = Pick<Binding, 'get'>;

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

const variableName = z.string().regex(/^\?[^\s(),?]+$/, 'is no variable, such as ?receptacle');
const literal = z.string().refine((text) => readLiteral(text) !== undefined, 'is no literal, such as opened(?fridge)');
const count = z.int().min(0);

const variableSchema = z.strictObject({
  name: variableName,
  type: z.string(),
  /** The one object for which this holds with it in place of the bare `?`; absent: the only object of its type. */
  is: literal.optional(),
});

const preconditionSchema = z.strictObject({
  /** One of these must hold. */
  any: z.array(literal).min(1),
  /** Refused tries in which none of them held. */
  support: count,
  /** Tries that were carried out though none of them held. */
  counterExamples: count,
});

const effectSchema = z.strictObject({
  /** What holds afterwards; `not`: what no longer does. */
  makes: literal,
  /** All of these must hold before. */
  when: z.array(literal),
  /** Tries after which it was so. */
  support: count,
  /** Tries that were carried out and left it otherwise. */
  counterExamples: count,
  /** Tries in which it changed something. */
  changed: count,
});

const wordingSchema = z.strictObject({
  /** What is answered: `{?receptacle}` is a name, `{list 1}` the first of `lists`. */
  text: z.string(),
  /** All of these must hold afterwards; with a bare `?`: for something. */
  when: z.array(literal),
  /** The things for which `of` holds in place of its bare `?`, in the order of the scene, and what stands between them, as far as it was seen. */
  lists: z.array(z.strictObject({ of: literal, between: z.string().optional(), last: z.string().optional() })),
  support: count,
  /** Tries in which all of this held, and something else was answered. */
  counterExamples: count,
});

const operatorSchema = z.strictObject({
  action: z.string().min(1),
  parameters: z.array(z.strictObject({ name: variableName, type: z.string() })),
  variables: z.array(variableSchema),
  accepted: count,
  refused: count,
  /** Tries that were refused though all preconditions held: what they lacked was not found. */
  unexplained: count,
  preconditions: z.array(preconditionSchema),
  /** What held in every try that was carried out, and was not found to be needed: whether it is, is not known. */
  always: z.array(literal),
  /** Tries that were carried out though something lacked that had held in all before them: how often such a thing was not needed. */
  beyond: count.default(0),
  effects: z.array(effectSchema),
  /** Changes that no effect explains. */
  unexplainedChanges: count,
  wordings: z.array(wordingSchema),
});

export const operatorsFileSchema = z.strictObject({
  format: z.literal('reverie-operators-1'),
  from: z.strictObject({ transitions: count, accepted: count, scenes: count, sha256: z.string() }),
  /** What a refused action is answered, by how often. */
  refusals: z.array(z.strictObject({ text: z.string(), support: count })),
  operators: z.array(operatorSchema),
  /** Actions that were refused each time. */
  refused: z.array(z.strictObject({ action: z.string(), support: count })),
});

export type OperatorsFile = z.output<typeof operatorsFileSchema>;
export type Operator = z.output<typeof operatorSchema>;
export type OperatorEffect = z.output<typeof effectSchema>;
export type Wording = z.output<typeof wordingSchema>;
export type Variable = z.output<typeof variableSchema>;

/** What the parameters and variables mean in a situation. A variable that nothing, or more than one thing fits is left out. */
export function bindingOf(
  { parameters, variables }: { readonly parameters: readonly Parameter[]; readonly variables: readonly Variable[] },
  objects: readonly string[],
  at: Situation,
): Map<string, string> {
  const binding = new Map(parameters.map(({ name }, i) => [name, objects[i]]));
  for (const variable of variables) {
    const object = meant(variable, binding, at);
    if (object !== undefined) binding.set(variable.name, object);
  }
  return binding;
}

/** As `bindingOf`, each variable found when it is first asked for: where many bindings are asked for little. */
export function lazyBindingOf(
  parameters: readonly Parameter[],
  variables: ReadonlyMap<string, Variable>,
  objects: readonly string[],
  at: Situation,
): Meanings {
  const known = new Map<string, string | undefined>(parameters.map(({ name }, i) => [name, objects[i]]));
  const binding: Meanings = {
    get(name) {
      if (known.has(name)) return known.get(name);
      const variable = variables.get(name);
      const object = variable && meant(variable, binding, at);
      known.set(name, object);
      return object;
    },
  };
  return binding;
}

/** Links of variables, read once. */
const links = new WeakMap<Variable, Literal>();

function meant(variable: Variable, binding: Meanings, at: Situation): string | undefined {
  if (variable.is === undefined) return at.onlyOf(variable.type);
  const link = links.get(variable) ?? readLiteral(variable.is)!;
  links.set(variable, link);
  const found = fitting(link, binding, at);
  return found.length === 1 ? found[0] : undefined;
}

/** The objects for which a literal holds with them in place of its bare `?`. */
export function fitting({ predicate, args }: Literal, binding: Meanings, at: Situation): string[] {
  const hole = args.indexOf('?');
  const rest = args.filter((_, place) => place !== hole);
  const known = objectsOf(rest, binding);
  if (known === undefined) return [];
  const places = args.flatMap((_, place) => (place === hole ? [] : [place]));
  if (known.length === 0) return at.rows(predicate).map(([object]) => object);
  const rows = at.about(predicate, places[0], known[0]);
  const same = rows.filter((row) => places.every((place, i) => row[place] === known[i]));
  return [...new Set(same.map((row) => row[hole]))];
}

/** Variables of a literal, without the bare `?`. */
export function variablesIn({ args }: Literal): string[] {
  return args.filter((arg) => isVariable(arg) && arg !== '?');
}

/** Of all wordings that fit, the best attested; undefined where none does. */
export function saidOf(
  wordings: readonly Wording[],
  binding: Binding,
  after: Situation,
): { readonly text: string; readonly wording: Wording } | undefined {
  const fits = wordings.filter(({ when }) => when.every((text) => isSo(text, binding, after)));
  const share = ({ support, counterExamples }: Wording) => laplace(support, counterExamples);
  const [wording] = fits.sort((a, b) => share(b) - share(a) || b.support - a.support);
  const text = wording && rendered(wording, binding, after);
  return text === undefined ? undefined : { text, wording };
}

/** Whether a literal holds; one with a bare `?`: for something, and its negation for nothing. */
export function isSo(text: string, binding: Binding, at: Situation): boolean {
  const literal = readLiteral(text)!;
  if (!literal.args.includes('?')) return truthOf(literal, binding, at) === true;
  return fitting(literal, binding, at).length > 0 !== literal.negated;
}

/** The things of a list, in the order of the scene. */
export function listed(of: string, binding: Binding, at: Situation): string[] {
  const things = new Set(fitting(readLiteral(of)!, binding, at));
  return at.scene.objects.flatMap(({ name }) => (things.has(name) ? [name] : []));
}

function rendered({ text, lists }: Wording, binding: Binding, at: Situation): string | undefined {
  const lines = lists.map(({ of, between, last }) => {
    const things = listed(of, binding, at);
    const end = things.pop();
    if (end === undefined || things.length === 0) return end;
    const isKnown = last !== undefined && (between !== undefined || things.length === 1);
    return isKnown ? `${things.join(between)}${last}${end}` : undefined;
  });
  const parts = text.split(/\{(list \d+|\?[^\s{}]+)\}/);
  const filled = parts.map((part, i) => {
    if (i % 2 === 0) return part;
    return part.startsWith('list ') ? lines[Number(part.slice('list '.length)) - 1] : binding.get(part);
  });
  return filled.includes(undefined) ? undefined : filled.join('');
}

/** How sure one may be of what was seen so often, and otherwise so often (Laplace's rule of succession). */
export function laplace(support: number, counterExamples: number): number {
  return (support + 1) / (support + counterExamples + 2);
}
