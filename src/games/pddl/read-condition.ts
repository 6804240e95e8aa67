// Conditions and effects of PDDL, read and checked: negations end at literals, effects are one literal each.

import { listOf, pddlInvalid, shown, type Term, type TermList, wordOf } from './lists.js';
import type { Condition, Effect, Literal, Typed } from './task.js';
import { TRUE } from './task.js';

/** What conditions may speak of. */
export interface Vocabulary {
  /** Names the text in errors. */
  readonly what: string;
  readonly types: ReadonlyMap<string, string>;
  readonly predicates: ReadonlyMap<string, readonly string[]>;
}

/** `a b - type c`: without a type, `object`. */
export function readTyped(list: TermList, { what, types }: Pick<Vocabulary, 'what' | 'types'>): Typed[] {
  const found: Typed[] = [];
  let names: string[] = [];
  for (let i = 0; i < list.length; i++) {
    const word = wordOf(list[i], what, 'a name in a typed list');
    if (word === '-') {
      const type = wordOf(list[++i], what, 'a type');
      // `?l - location, ?r - receptacle` is no PDDL. ALFWorld's domain has it, and Fast Downward, whose reading is what the games
      // are played by, takes "location," for a type that nothing is of.
      if (!types.has(type) && type !== 'object' && !type.endsWith(','))
        throw pddlInvalid(what, `there is no type "${type}"`);
      found.push(...names.map((name) => ({ name, type })));
      names = [];
    } else names.push(word);
  }
  return [...found, ...names.map((name) => ({ name, type: 'object' }))];
}

/** @throws PDDL_UNFIT */
export function readCondition(term: Term | undefined, vocabulary: Vocabulary, negated = false): Condition {
  const list = listOf(term, vocabulary.what, 'a condition');
  if (list.length === 0) return TRUE;
  const tag = wordOf(list[0], vocabulary.what, 'the head of a condition');
  const parts = list.slice(1);
  const only = (count: number) => {
    if (parts.length !== count) throw pddlInvalid(vocabulary.what, `${shown(list)} should have ${count} parts`);
  };
  if (tag === 'not') {
    only(1);
    return readCondition(parts[0], vocabulary, !negated);
  }
  if (tag === 'and' || tag === 'or') {
    const kind = (tag === 'and') !== negated ? 'and' : 'or';
    return { kind, parts: parts.map((part) => readCondition(part, vocabulary, negated)) };
  }
  if (tag === 'imply') {
    only(2);
    const [when, then] = [readCondition(parts[0], vocabulary, !negated), readCondition(parts[1], vocabulary, negated)];
    return { kind: negated ? 'and' : 'or', parts: [when, then] };
  }
  if (tag === 'forall' || tag === 'exists') {
    only(2);
    const variables = readTyped(listOf(parts[0], vocabulary.what, `the variables of ${tag}`), vocabulary);
    const kind = (tag === 'forall') !== negated ? 'forall' : 'exists';
    return { kind, variables, part: readCondition(parts[1], vocabulary, negated) };
  }
  return { kind: 'literal', ...readLiteral(list, vocabulary, negated) };
}

/** `(predicate argument ...)`, with as many arguments as it is declared with. */
export function readLiteral(list: TermList, { what, predicates }: Vocabulary, negated = false): Literal {
  const predicate = wordOf(list[0], what, 'a predicate');
  const args = list.slice(1).map((arg) => wordOf(arg, what, `an argument of "${predicate}"`));
  const arity = predicate === '=' ? 2 : predicates.get(predicate)?.length;
  if (arity === undefined) throw pddlInvalid(what, `there is no predicate "${predicate}", as in ${shown(list)}`);
  if (arity !== args.length) {
    throw pddlInvalid(what, `"${predicate}" takes ${arity} arguments, ${shown(list)} has ${args.length}`);
  }
  return { predicate, args, negated };
}

/** @throws PDDL_UNFIT, PDDL_UNFIT */
export function readEffects(term: Term | undefined, vocabulary: Vocabulary): Effect[] {
  const list = listOf(term, vocabulary.what, 'an effect');
  if (list.length === 0) return [];
  const { what } = vocabulary;
  const tag = wordOf(list[0], what, 'the head of an effect');
  if (tag === 'and') return list.slice(1).flatMap((part) => readEffects(part, vocabulary));
  // What an action costs decides nothing that can be seen or done.
  if (tag === 'increase') return [];
  if (tag === 'forall') {
    const variables = readTyped(listOf(list[1], what, 'the variables of forall'), vocabulary);
    return readEffects(list[2], vocabulary).map((effect) => ({
      ...effect,
      variables: [...variables, ...effect.variables],
    }));
  }
  if (tag === 'when') {
    const condition = readCondition(list[1], vocabulary);
    return readEffects(list[2], vocabulary).map((effect) => ({
      ...effect,
      condition: { kind: 'and', parts: [condition, effect.condition] },
    }));
  }
  const isNegated = tag === 'not';
  const literal = readLiteral(isNegated ? listOf(list[1], what, 'what is negated') : list, vocabulary, isNegated);
  if (literal.predicate === '=') throw pddlInvalid(what, `an effect cannot change ${shown(list)}`);
  return [{ variables: [], condition: TRUE, literal }];
}
