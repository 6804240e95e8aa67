// Facts known so far, indexed by predicate and argument, and the search for all bindings under which a clause's positive
// literals are among them.

import type { Literal, Typed } from './task.js';

/** Objects by number, with the objects of each type and below it. */
export class Universe {
  readonly names: readonly string[];
  readonly types: readonly string[];
  private readonly numbers: ReadonlyMap<string, number>;
  private readonly members = new Map<string, { list: number[]; has: Uint8Array }>();

  constructor(objects: readonly Typed[], ancestors: (type: string) => readonly string[]) {
    this.names = objects.map(({ name }) => name);
    this.types = objects.map(({ type }) => type);
    this.numbers = new Map(this.names.map((name, i) => [name, i]));
    objects.forEach(({ type }, i) => {
      for (const one of new Set([...ancestors(type), 'object'])) this.membersOf(one).list.push(i);
    });
    for (const { list, has } of this.members.values()) for (const i of list) has[i] = 1;
  }

  numberOf(name: string): number {
    return this.numbers.get(name)!;
  }

  membersOf(type: string): { readonly list: number[]; readonly has: Uint8Array } {
    let members = this.members.get(type);
    if (members === undefined) {
      members = { list: [], has: new Uint8Array(this.names.length) };
      this.members.set(type, members);
    }
    return members;
  }
}

interface Relation {
  readonly facts: number[];
  /** By position, then by object: the facts that have it there. */
  readonly at: Map<number, number[]>[];
}

const NONE: readonly number[] = [];

/** Ground atoms by number. An atom has a number as soon as it is spoken of; it is a fact once it is `add`ed. */
export class Facts {
  readonly predicates: string[] = [];
  readonly args: (readonly number[])[] = [];
  private readonly numbers = new Map<string, Map<number | string, number>>();
  private readonly known: boolean[] = [];
  private readonly relations = new Map<string, Relation>();

  /** `objects`: how many there are. */
  constructor(private readonly objects: number) {}

  get count(): number {
    return this.predicates.length;
  }

  intern(predicate: string, args: readonly number[]): number {
    let numbers = this.numbers.get(predicate);
    if (numbers === undefined) {
      numbers = new Map();
      this.numbers.set(predicate, numbers);
    }
    const key = this.keyOf(args);
    let atom = numbers.get(key);
    if (atom === undefined) {
      atom = this.predicates.length;
      numbers.set(key, atom);
      this.predicates.push(predicate);
      this.args.push(args);
      this.known.push(false);
    }
    return atom;
  }

  has(atom: number): boolean {
    return this.known[atom];
  }

  add(atom: number): void {
    if (this.known[atom]) return;
    this.known[atom] = true;
    const relation = this.relationOf(this.predicates[atom]);
    relation.facts.push(atom);
    this.args[atom].forEach((object, position) => {
      relation.at[position] ??= new Map();
      const index = relation.at[position];
      const list = index.get(object);
      if (list === undefined) index.set(object, [atom]);
      else list.push(atom);
    });
  }

  /** A list that holds all facts of the predicate that agree with what is bound: the shortest that an index has. */
  candidates({ predicate, args }: Pattern, binding: Int32Array): readonly number[] {
    const relation = this.relations.get(predicate);
    if (relation === undefined) return NONE;
    let best: readonly number[] = relation.facts;
    for (let position = 0; position < args.length; position++) {
      const object = objectAt(args[position], binding);
      if (object < 0) continue;
      const list = relation.at[position]?.get(object) ?? NONE;
      if (list.length < best.length) best = list;
    }
    return best;
  }

  /** Of one predicate's arguments: a number while that is exact, else a text. */
  private keyOf(args: readonly number[]): number | string {
    let key = 0;
    for (const object of args) key = key * this.objects + object;
    return this.objects ** args.length <= Number.MAX_SAFE_INTEGER ? key : args.join(' ');
  }

  private relationOf(predicate: string): Relation {
    let relation = this.relations.get(predicate);
    if (relation === undefined) {
      relation = { facts: [], at: [] };
      this.relations.set(predicate, relation);
    }
    return relation;
  }
}

/** A literal whose arguments are slots of a binding (0, 1, ...) or objects (their number's complement, below zero). */
export interface Pattern {
  readonly predicate: string;
  readonly args: readonly number[];
}

export function objectAt(arg: number, binding: Int32Array): number {
  return arg < 0 ? ~arg : binding[arg];
}

/** A clause with its variables as slots of a binding. */
export interface JoinPlan {
  /** By slot: which objects may stand there. */
  readonly domains: readonly { readonly list: readonly number[]; readonly has: Uint8Array }[];
  readonly positive: readonly Pattern[];
  readonly negative: readonly Pattern[];
}

export function planOf(variables: readonly Typed[], literals: readonly Literal[], universe: Universe): JoinPlan {
  const slots = new Map(variables.map(({ name }, i) => [name, i]));
  const pattern = ({ predicate, args }: Literal): Pattern => ({
    predicate,
    args: args.map((arg) => slots.get(arg) ?? ~universe.numberOf(arg)),
  });
  return {
    domains: variables.map(({ type }) => universe.membersOf(type)),
    positive: literals.filter(({ negated }) => !negated).map(pattern),
    negative: literals.filter(({ negated }) => negated).map(pattern),
  };
}

/** Whether a fact may stand for the pattern, given which of the plan's positive literals it would be. */
type Admits = (fact: number, literal: number) => boolean;

/**
 * Calls `found` for every binding that extends the one given so that all `literals` (indices of positive ones) are facts and
 * every slot holds an object of its type. Equality is decided once all slots are bound. The binding is the same array each time.
 */
export function join(
  facts: Facts,
  plan: JoinPlan,
  binding: Int32Array,
  literals: readonly number[],
  found: () => void,
  admits: Admits = () => true,
): void {
  const open = literals.filter((i) => plan.positive[i].predicate !== '=');
  const equal = literals.filter((i) => plan.positive[i].predicate === '=').map((i) => plan.positive[i]);
  const unequal = plan.negative.filter(({ predicate }) => predicate === '=');
  const isSame = ({ args: [a, b] }: Pattern) => objectAt(a, binding) === objectAt(b, binding);

  const bindRest = (slot: number): void => {
    if (slot === binding.length) {
      if (equal.every(isSame) && !unequal.some(isSame)) found();
    } else if (binding[slot] >= 0) bindRest(slot + 1);
    else {
      for (const object of plan.domains[slot].list) {
        binding[slot] = object;
        bindRest(slot + 1);
      }
      binding[slot] = -1;
    }
  };

  const bindNext = (left: readonly number[]): void => {
    if (left.length === 0) {
      bindRest(0);
      return;
    }
    let next = left[0];
    let list = facts.candidates(plan.positive[next], binding);
    for (let i = 1; i < left.length && list.length > 0; i++) {
      const other = facts.candidates(plan.positive[left[i]], binding);
      if (other.length >= list.length) continue;
      next = left[i];
      list = other;
    }
    const rest = left.filter((i) => i !== next);
    // The list may grow while it is walked: what is added then is met when its own turn comes.
    const { length } = list;
    for (let i = 0; i < length; i++) {
      if (!admits(list[i], next)) continue;
      const bound = unify(plan, plan.positive[next], facts.args[list[i]], binding);
      if (bound === undefined) continue;
      bindNext(rest);
      for (const slot of bound) binding[slot] = -1;
    }
  };
  bindNext(open);
}

/** Binds the pattern to the objects of a fact; answers the slots it bound, or undefined (with nothing bound) if they differ. */
export function unify(
  { domains }: JoinPlan,
  { args }: Pattern,
  objects: readonly number[],
  binding: Int32Array,
): number[] | undefined {
  const bound: number[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    const value = objectAt(arg, binding);
    if (value === objects[i]) continue;
    if (value >= 0 || domains[arg].has[objects[i]] === 0) {
      for (const slot of bound) binding[slot] = -1;
      return undefined;
    }
    binding[arg] = objects[i];
    bound.push(arg);
  }
  return bound;
}
