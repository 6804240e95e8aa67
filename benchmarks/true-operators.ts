// Induced operators against the PDDL domain that the games really have. What is compared are clauses of preconditions and effects:
//
// - A precondition of the domain is brought into conjunctive normal form; each clause (a literal, or literals of which one must hold) is
//   one unit, and so is each precondition found, and each fact by which a variable that it uses is found.
// - An effect is a literal made true or false with the conditions it has, if any; one unit.
// - Two units are the same if they hold the same literals, of the same sign, predicate and arguments in their order, and conditions
//   likewise. Parameters correspond by their place, variables under "exists" by the assignment that makes most units equal.
//
// A disjunct that can never hold counts as the games are played, so it is none: one that asks for an object of a type that no game has,
// or that names an object where the predicate takes another type.

import { type Operator, readLiteral, variablesIn } from '../src/games/operators/operator.js';
import type { ActionSchema, Condition, Literal } from '../src/games/pddl/read-task.js';

export interface Units {
  readonly preconditions: readonly string[];
  readonly effects: readonly string[];
}

export interface Agreement {
  readonly right: number;
  readonly found: number;
  readonly true: number;
}

/** Conjunctions of disjunctions; literals as they are written. */
type Clauses = readonly (readonly string[])[];

export interface TrueOperator {
  readonly name: string;
  readonly units: Units;
  /** Variables under "exists". */
  readonly inner: readonly string[];
}

export interface Possible {
  /** Whether any object of a game is of the type. */
  readonly isOf: (type: string) => boolean;
  /** Whether what a literal names is of the types that its predicate takes. */
  readonly fits: (literal: Literal) => boolean;
}

export function trueOperator({ name, precondition, effects }: ActionSchema, possible: Possible): TrueOperator {
  const inner: string[] = [];
  const clauses = normal(precondition, possible, inner) ?? [];
  const made = effects.map(({ variables, condition, literal }) => {
    if (variables.length > 0) throw new Error(`${name} has effects on all objects of a kind: these are not compared`);
    const when = (normal(condition, possible, inner) ?? []).map((clause) => clause.join(' | '));
    return effectUnit(written(literal), when);
  });
  return { name, inner, units: { preconditions: clauses.map(clauseUnit), effects: made } };
}

/** F1 of the units of all actions together: 2 right ÷ (found + true). */
export function f1({ right, found, true: there }: Agreement): number {
  return found + there === 0 ? 1 : (2 * right) / (found + there);
}

export function total(agreements: readonly Agreement[]): Agreement {
  const sum = (key: keyof Agreement) => agreements.reduce((all, one) => all + one[key], 0);
  return { right: sum('right'), found: sum('found'), true: sum('true') };
}

export interface Compared {
  readonly preconditions: Agreement;
  readonly effects: Agreement;
  /** Units of one side alone. */
  readonly missed: readonly string[];
  readonly wrong: readonly string[];
}

/** @param operator what was found of the action, if anything */
export function compared(truth: TrueOperator, operator: Operator | undefined): Compared {
  const names = operator === undefined ? [] : usedVariables(operator).map(({ name }) => name);
  const all = assignments(names, truth.inner).map((renamed) => {
    const found = operator === undefined ? { preconditions: [], effects: [] } : unitsOf(operator, renamed);
    const parts = (['preconditions', 'effects'] as const).map((part) => agreement(found[part], truth.units[part]));
    const both = {
      found: [...found.preconditions, ...found.effects],
      true: [...truth.units.preconditions, ...truth.units.effects],
    };
    return {
      preconditions: parts[0],
      effects: parts[1],
      missed: both.true.filter((unit) => !both.found.includes(unit)),
      wrong: both.found.filter((unit) => !both.true.includes(unit)),
    };
  });
  return all.reduce((best, one) => (one.missed.length < best.missed.length ? one : best));
}

function unitsOf(operator: Operator, renamed: ReadonlyMap<string, string>): Units {
  const { preconditions, effects } = operator;
  const named = (text: string) => text.replace(/\?[^\s(),]+/g, (name) => renamed.get(name) ?? name);
  const links = usedVariables(operator).flatMap(({ name, is }) =>
    is === undefined ? [] : [[named(is.replace(/\?(?=[,)])/, name))]],
  );
  const clauses = [...links, ...preconditions.map(({ any }) => any.map(named))];
  return {
    preconditions: [...new Set(clauses.map(clauseUnit))],
    effects: effects.map(({ makes, when }) => effectUnit(named(makes), when.map(named))),
  };
}

/** Those that preconditions and effects speak of, and those through which these are found. */
function usedVariables({ preconditions, effects, variables }: Operator): Operator['variables'] {
  const said = [...preconditions.flatMap(({ any }) => any), ...effects.flatMap(({ makes, when }) => [makes, ...when])];
  const used = new Set(said.flatMap((text) => variablesIn(readLiteral(text)!)));
  for (const { name, is } of [...variables].reverse()) {
    if (used.has(name) && is !== undefined) for (const other of variablesIn(readLiteral(is)!)) used.add(other);
  }
  return variables.filter(({ name }) => used.has(name));
}

function agreement(found: readonly string[], there: readonly string[]): Agreement {
  const [own, real] = [new Set(found), new Set(there)];
  return { right: [...own].filter((unit) => real.has(unit)).length, found: own.size, true: real.size };
}

function clauseUnit(literals: readonly string[]): string {
  return [...literals].sort().join(' | ');
}

function effectUnit(makes: string, when: readonly string[]): string {
  return when.length === 0 ? makes : `${makes} when ${[...when].sort().join(' & ')}`;
}

/** All ways to let each name be one of the places, or none, no place twice. */
function assignments(names: readonly string[], places: readonly string[]): Map<string, string>[] {
  if (names.length === 0) return [new Map()];
  const [first, ...others] = names;
  const without = assignments(others, places);
  const withPlace = places.flatMap((place) =>
    assignments(
      others,
      places.filter((one) => one !== place),
    ).map((rest) => new Map([[first, place], ...rest])),
  );
  return [...withPlace, ...without];
}

function written({ predicate, args, negated }: Literal): string {
  return `${negated ? 'not ' : ''}${predicate}(${args.join(', ')})`;
}

/** undefined: can never hold. */
function normal(condition: Condition, possible: Possible, inner: string[]): Clauses | undefined {
  switch (condition.kind) {
    case 'literal':
      return possible.fits(condition) ? [[written(condition)]] : undefined;
    case 'and': {
      const parts = condition.parts.map((part) => normal(part, possible, inner));
      return parts.includes(undefined) ? undefined : (parts as Clauses[]).flat();
    }
    case 'or': {
      const parts = condition.parts.map((part) => normal(part, possible, inner)).filter((part) => part !== undefined);
      if (parts.length === 0) return undefined;
      return parts.reduce((all, part) => all.flatMap((left) => part.map((right) => [...left, ...right])));
    }
    case 'exists':
      if (condition.variables.some(({ type }) => !possible.isOf(type))) return undefined;
      inner.push(...condition.variables.map(({ name }) => name));
      return normal(condition.part, possible, inner);
    default:
      throw new Error('a condition on all objects of a kind is not compared');
  }
}
