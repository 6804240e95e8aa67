// A planning task as PDDL states it: types, predicates, actions; objects, what is true at first, and the goal.

/** A variable (`?x`) or an object, with the type it is declared with. */
export interface Typed {
  readonly name: string;
  readonly type: string;
}

/** Arguments are variables (`?x`) or names of objects. */
export interface Literal {
  readonly predicate: string;
  readonly args: readonly string[];
  readonly negated: boolean;
}

/** A condition with negations pushed down to its literals. */
export type Condition =
  | ({ readonly kind: 'literal' } & Literal)
  | { readonly kind: 'and'; readonly parts: readonly Condition[] }
  | { readonly kind: 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'forall'; readonly variables: readonly Typed[]; readonly part: Condition }
  | { readonly kind: 'exists'; readonly variables: readonly Typed[]; readonly part: Condition };

/** One literal made true or false, for all values of `variables`, where `condition` held before. */
export interface Effect {
  readonly variables: readonly Typed[];
  readonly condition: Condition;
  readonly literal: Literal;
}

export interface ActionSchema {
  readonly name: string;
  readonly parameters: readonly Typed[];
  readonly precondition: Condition;
  readonly effects: readonly Effect[];
}

export interface PddlDomain {
  readonly name: string;
  readonly requirements: readonly string[];
  /** Each type's direct supertype; `object` is above all. */
  readonly types: ReadonlyMap<string, string>;
  /** Types of the arguments of each predicate. */
  readonly predicates: ReadonlyMap<string, readonly string[]>;
  readonly constants: readonly Typed[];
  readonly actions: readonly ActionSchema[];
}

export interface PddlProblem {
  readonly name: string;
  readonly objects: readonly Typed[];
  /** Positive literals without variables. */
  readonly init: readonly Literal[];
  readonly goal: Condition;
}

export const TRUE: Condition = { kind: 'and', parts: [] };

/** The type and all above it. */
export function supertypes(types: ReadonlyMap<string, string>, type: string): string[] {
  const found = [type];
  for (let up = types.get(type); up !== undefined && !found.includes(up); up = types.get(up)) found.push(up);
  return found;
}
