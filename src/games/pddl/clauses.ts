// Conditions in disjunctive normal form: each clause is a conjunction of literals over the variables of an action and some
// more that anything may stand for. "For all" is written out, since the objects of a problem are known.

import { pddlInvalid } from './lists.js';
import type { Condition, Literal, Typed } from './task.js';

export interface Clause {
  /** Variables beside those in scope: it holds if some objects make it hold. */
  readonly variables: readonly Typed[];
  readonly literals: readonly Literal[];
}

/** Where a condition stands. */
export interface Scope {
  /** Names the place in errors. */
  readonly what: string;
  /** Variables that may be used, and objects. */
  readonly known: ReadonlySet<string>;
  readonly objectsOf: (type: string) => readonly string[];
}

/** More clauses than this are a domain that nobody could play. */
const MAX_CLAUSES = 20_000;

/** @throws PDDL_UNFIT for a variable or object that nobody declared, and for more clauses than can be handled */
export function clausesOf(condition: Condition, scope: Scope): Clause[] {
  let fresh = 0;
  const walk = (one: Condition, names: ReadonlyMap<string, string>): Clause[] => {
    if (one.kind === 'literal') return [{ variables: [], literals: [named(one, names, scope)] }];
    if (one.kind === 'or') return limit(one.parts.flatMap((part) => walk(part, names)));
    if (one.kind === 'and') return one.parts.map((part) => walk(part, names)).reduce(product, ALWAYS);
    if (one.kind === 'exists') {
      const variables = one.variables.map(({ name, type }) => ({ name: `${name}:${fresh++}`, type, old: name }));
      const inner = new Map([...names, ...variables.map(({ name, old }) => [old, name] as const)]);
      const added = variables.map(({ name, type }) => ({ name, type }));
      return walk(one.part, inner).map(({ variables: more, literals }) => ({
        variables: [...added, ...more],
        literals,
      }));
    }
    return everyBinding(one.variables, scope)
      .map((values) => walk(one.part, new Map([...names, ...values])))
      .reduce(product, ALWAYS);
  };
  const limit = (clauses: Clause[]): Clause[] => {
    if (clauses.length <= MAX_CLAUSES) return clauses;
    throw pddlInvalid(scope.what, `its condition has more than ${MAX_CLAUSES} cases`);
  };
  const product = (left: readonly Clause[], right: readonly Clause[]): Clause[] => {
    if (left.length * right.length > MAX_CLAUSES) limit(new Array(MAX_CLAUSES + 1));
    return left.flatMap((a) =>
      right.map((b) => ({
        variables: [...a.variables, ...b.variables],
        literals: [...a.literals, ...b.literals],
      })),
    );
  };
  return walk(condition, new Map());
}

const ALWAYS: Clause[] = [{ variables: [], literals: [] }];

function everyBinding(variables: readonly Typed[], { objectsOf }: Scope): (readonly (readonly [string, string])[])[] {
  return variables.reduce<(readonly (readonly [string, string])[])[]>(
    (found, { name, type }) =>
      found.flatMap((one) => objectsOf(type).map((object) => [...one, [name, object] as const])),
    [[]],
  );
}

function named({ predicate, args, negated }: Literal, names: ReadonlyMap<string, string>, scope: Scope): Literal {
  const resolved = args.map((arg) => {
    const found = names.get(arg) ?? arg;
    if (names.has(arg) || scope.known.has(found)) return found;
    const kind = arg.startsWith('?') ? 'variable' : 'object';
    throw pddlInvalid(scope.what, `there is no ${kind} "${arg}", as in (${predicate} ${args.join(' ')})`);
  });
  return { predicate, args: resolved, negated };
}
