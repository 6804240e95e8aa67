// Questions to the facts of a world: conjunctions of predicates over placeholders, answered in a fixed order, so that what is
// listed in a text is listed the same way each time. Order and rules of matching are TextWorld's (textworld/logic, all_assignments).

import { pddlInvalid } from '../lists.js';
import type { WorldPlan, WorldState } from '../world.js';

/** A placeholder is told from others by name and type. */
export interface Placeholder {
  readonly name: string;
  readonly type: string;
  readonly key: string;
}

export interface QueryLiteral {
  readonly predicate: string;
  /** Asks for facts that were made false (`not_opened`), which is not the same as all that are not true. */
  readonly denied: boolean;
  readonly placeholders: readonly Placeholder[];
}

export type Query = readonly QueryLiteral[];

/** Objects by the placeholder's key; the order is that in which they were bound. */
export type Bindings = ReadonlyMap<string, number>;

/** `openable(r:receptacle) & not_opened(r:receptacle)`. @throws PDDL_UNFIT */
export function readQuery(text: string, what: string): Query {
  return text.split('&').map((part) => {
    const [, name, inside] = /^\s*(!?[\w/]+)\s*\(([^()]*)\)\s*$/.exec(part) ?? [];
    if (name === undefined)
      throw pddlInvalid(what, `"${part.trim()}" in "${text.trim()}" is no predicate(placeholders)`);
    const written = inside.split(',').map((one) => one.trim());
    const placeholders = written.filter((one) => one !== '').map((one) => placeholder(one));
    const denied = name.startsWith('not_');
    return { predicate: denied ? name.slice('not_'.length) : name, denied, placeholders };
  });
}

function placeholder(written: string): Placeholder {
  const [name, type = name.replace(/'+$/, '')] = written.split(':').map((part) => part.trim());
  return { name, type, key: `${name}:${type}` };
}

/** Facts that could ever answer one literal, in the order in which they are to be found. */
interface Answers {
  readonly objects: readonly (readonly number[])[];
  /** Their atoms; -1: always true. */
  readonly atoms: readonly number[];
  /** By argument, then by object: places in the two lists. */
  readonly at: readonly ReadonlyMap<number, readonly number[]>[];
}

/** Answers queries about worlds of one plan; what it works out of a query is kept with it. */
export class Librarian {
  private readonly known = new WeakMap<QueryLiteral, Answers>();
  private readonly byPredicate = new Map<string, { objects: readonly number[]; atom: number }[]>();

  /** `types`: each type's supertype. */
  constructor(
    private readonly plan: WorldPlan,
    private readonly types: ReadonlyMap<string, string>,
  ) {
    const { task } = plan;
    const keep = (predicate: string, objects: readonly number[], atom: number) => {
      const facts = this.byPredicate.get(predicate);
      if (facts === undefined) this.byPredicate.set(predicate, [{ objects, atom }]);
      else facts.push({ objects, atom });
    };
    for (const { predicate, args } of task.constant) keep(predicate, args, -1);
    task.predicates.forEach((predicate, atom) => {
      keep(predicate, task.args[atom], atom);
    });
  }

  /** Whether the query holds in some way that extends the bindings. */
  holds(query: Query, state: WorldState, bindings: Bindings): boolean {
    return this.search(query, state, bindings, () => true);
  }

  /** All ways in which the query holds that extend the bindings. */
  all(query: Query, state: WorldState, bindings: Bindings): Bindings[] {
    const found: Bindings[] = [];
    this.search(query, state, bindings, (one) => {
      found.push(new Map(one));
      return false;
    });
    return found;
  }

  /** Different placeholders stand for different objects. Ends, with true, when `found` answers true. */
  private search(query: Query, state: WorldState, given: Bindings, found: (bound: Bindings) => boolean): boolean {
    const bound = new Map(given);
    const used = new Set(given.values());
    const ask = (depth: number): boolean => {
      if (depth === query.length) return found(bound);
      const { placeholders, denied } = query[depth];
      const answers = this.answersTo(query[depth]);
      const bits = denied ? state.denied : state.truth;
      const isFact = (atom: number) => (atom < 0 ? !denied : bits[atom] === 1);
      return candidates(answers, placeholders, bound).some((place) => {
        if (!isFact(answers.atoms[place])) return false;
        const fresh: string[] = [];
        const fits = answers.objects[place].every((object, i) => {
          const { key } = placeholders[i];
          const before = bound.get(key);
          if (before !== undefined) return before === object;
          if (used.has(object)) return false;
          bound.set(key, object);
          used.add(object);
          fresh.push(key);
          return true;
        });
        const isDone = fits && ask(depth + 1);
        for (const key of fresh) {
          used.delete(bound.get(key)!);
          bound.delete(key);
        }
        return isDone;
      });
    };
    return ask(0);
  }

  private answersTo(literal: QueryLiteral): Answers {
    const known = this.known.get(literal);
    if (known !== undefined) return known;
    const { universe } = this.plan.task;
    const ranks = this.signatureRanks(literal);
    const signature = (objects: readonly number[]) => objects.map((object) => universe.types[object]).join(' ');
    const facts = (this.byPredicate.get(literal.predicate) ?? [])
      .filter(({ objects }) => objects.length === literal.placeholders.length && ranks.has(signature(objects)))
      .map((fact) => ({ ...fact, rank: ranks.get(signature(fact.objects))! }))
      .sort((a, b) => a.rank - b.rank || compareNames(a.objects, b.objects, universe.names));
    const at = literal.placeholders.map((_, position) => {
      const index = new Map<number, number[]>();
      facts.forEach(({ objects }, place) => {
        const list = index.get(objects[position]);
        if (list === undefined) index.set(objects[position], [place]);
        else list.push(place);
      });
      return index;
    });
    const answers = { objects: facts.map(({ objects }) => objects), atoms: facts.map(({ atom }) => atom), at };
    this.known.set(literal, answers);
    return answers;
  }

  /** The types asked for, then those below them, breadth first: facts are found in this order. */
  private signatureRanks({ placeholders }: QueryLiteral): ReadonlyMap<string, number> {
    const below = new Map<string, string[]>();
    for (const [type, above] of [...this.types].sort(([a], [b]) => (a < b ? -1 : 1))) {
      below.set(above, [...(below.get(above) ?? []), type]);
    }
    const ranks = new Map<string, number>();
    const queue = [placeholders.map(({ type }) => type)];
    for (let next = 0; next < queue.length; next++) {
      const types = queue[next];
      if (ranks.has(types.join(' '))) continue;
      ranks.set(types.join(' '), ranks.size);
      types.forEach((type, i) => {
        for (const sub of below.get(type) ?? []) queue.push(types.with(i, sub));
      });
    }
    return ranks;
  }
}

function candidates(
  { objects, at }: Answers,
  placeholders: readonly Placeholder[],
  bound: Bindings,
): readonly number[] {
  let best: readonly number[] | undefined;
  placeholders.forEach(({ key }, position) => {
    const object = bound.get(key);
    if (object === undefined) return;
    const list = at[position].get(object) ?? [];
    if (best === undefined || list.length < best.length) best = list;
  });
  return best ?? [...objects.keys()];
}

function compareNames(a: readonly number[], b: readonly number[], names: readonly string[]): number {
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) return names[a[i]] < names[b[i]] ? -1 : 1;
  }
  return 0;
}
