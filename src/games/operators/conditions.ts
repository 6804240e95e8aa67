// What may be said before an action, and in which tries it was so. Tries of which all the same can be said are counted together.

import { type Literal, readLiteral, truthOf, writeLiteral } from './literal.js';
import { variablesIn } from './operator.js';
import { argumentsFor, type Frame, type Offer, type Vocabulary } from './tries.js';

/** A literal as it may stand in a condition. */
export interface Condition {
  readonly literal: Literal;
  readonly text: string;
  /** Place of its positive form in `Case.truth`. */
  readonly place: number;
  /** What it takes to say; of two that explain the same, the one that takes less is meant. */
  readonly weight: number;
}

const FALSE = 0;
const TRUE = 1;
/** A variable means nothing: neither the literal holds nor its negation. */
const UNKNOWN = 2;

/** Tries of which all the same can be said. */
export interface Case {
  readonly truth: Uint8Array;
  accepted: number;
  refused: number;
}

export interface Said {
  readonly conditions: readonly Condition[];
  readonly cases: readonly Case[];
}

export function holds({ place, literal }: Condition, { truth }: Pick<Case, 'truth'>): boolean {
  return truth[place] === (literal.negated ? FALSE : TRUE);
}

/** All literals over the names of a frame, and their negations. */
export function conditionsOf(frame: Frame, vocabulary: Vocabulary): Condition[] {
  const positive = [
    ...predicateLiterals(frame, vocabulary),
    ...constantLiterals(frame, vocabulary),
    ...equalities(frame),
  ];
  const found = costsOf(frame, vocabulary);
  return positive.flatMap((literal, place) =>
    [false, true].flatMap((negated): Condition[] => {
      // That something is not one of a few known things says next to nothing.
      if (negated && literal.args.some((arg) => vocabulary.constants.has(arg))) return [];
      const one = { ...literal, negated };
      return [{ literal: one, text: writeLiteral(one), place, weight: weightOf(one, found, vocabulary) }];
    }),
  );
}

function predicateLiterals({ types }: Frame, { places }: Vocabulary): Literal[] {
  return [...places].flatMap(([predicate, at]) =>
    argumentsFor(at, types).map((args): Literal => ({ predicate, args, negated: false })),
  );
}

/** Of what the action names alone: what is found through it and a constant together would say too much. */
function constantLiterals({ tries }: Frame, { places, constants }: Vocabulary): Literal[] {
  const types = new Map(tries.action.parameters.map(({ name, type }) => [name, new Set([type])]));
  return [...places].flatMap(([predicate, at]) => {
    if (at.length !== 2) return [];
    return [...constants].flatMap(([constant, type]) =>
      at.flatMap((own, place) => {
        if (!own.has(type)) return [];
        const other = argumentsFor([at[1 - place]], types).map(([name]) => name);
        return other.map((name): Literal => {
          return { predicate, args: place === 0 ? [constant, name] : [name, constant], negated: false };
        });
      }),
    );
  });
}

function equalities({ types }: Frame): Literal[] {
  const names = [...types.keys()];
  return names.flatMap((a, i) =>
    names.slice(i + 1).flatMap((b): Literal[] => {
      const isPossible = [...types.get(a)!].some((type) => types.get(b)!.has(type));
      return isPossible ? [{ predicate: '=', args: [a, b], negated: false }] : [];
    }),
  );
}

/** What it takes to find a variable: more where the fact that leads to it changes, as there may be none or several at another time. */
function costsOf({ variables }: Frame, { changing }: Vocabulary): Map<string, number> {
  return new Map(variables.map(({ name, is }) => [name, is && changing.has(readLiteral(is)!.predicate) ? 0.36 : 0.3]));
}

/** What is so for good is simpler than what changes, what the action names simpler than what must be found. */
function weightOf(literal: Literal, found: ReadonlyMap<string, number>, { changing, constants }: Vocabulary): number {
  const reached = variablesIn(literal).reduce((sum, name) => sum + (found.get(name) ?? 0), 0);
  const named = literal.args.filter((arg) => constants.has(arg)).length;
  const changes = changing.has(literal.predicate) ? 0.05 : 0;
  return 1 + reached + 0.3 * named + (literal.negated ? 0.2 : 0) + changes + 0.01 * literal.args.length;
}

/** What of the conditions, as positive literals, was so before a try. */
export function truthIn(one: Offer, { bindings }: Frame, conditions: readonly Condition[]): Pick<Case, 'truth'> {
  const binding = bindings.get(one)!;
  const positive = conditions.filter(({ literal }) => !literal.negated);
  const truth = new Uint8Array(1 + Math.max(-1, ...conditions.map(({ place }) => place)));
  for (const { literal, place } of positive) {
    const is = truthOf(literal, binding, one.before);
    truth[place] = is === undefined ? UNKNOWN : is ? TRUE : FALSE;
  }
  return { truth };
}

/** What was offered counts as carried out. */
export function casesOf(frame: Frame, conditions: readonly Condition[]): Case[] {
  const cases = new Map<string, Case>();
  const count = (one: Offer, accepted: boolean) => {
    const { truth } = truthIn(one, frame, conditions);
    const key = truth.join('');
    const known = cases.get(key) ?? { truth, accepted: 0, refused: 0 };
    cases.set(key, known);
    known[accepted ? 'accepted' : 'refused'] += 1;
  };
  for (const one of frame.tries.all) count(one, one.accepted);
  for (const one of frame.tries.offered) count(one, true);
  return [...cases.values()];
}
