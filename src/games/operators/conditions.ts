// What an action needs. What held whenever it was carried out is a candidate, all of it together being the safe end of what agrees with the
// tries (SAM learning, Stern and Juba 2017; version spaces, Mitchell 1982). Of this counts what held too often for chance and does not
// follow from the rest, and then the least that explains the refusals still open: literals, or two of which one must hold. What is left
// stays apart, as it is not known whether it is needed.

import { factKey, Situation } from '../../worldmodel/situation.js';
import type { Literal } from '../pddl/read-task.js';
import {
  isVariable,
  lazyBindingOf,
  type OperatorEffect,
  objectsOf,
  readLiteral,
  truthOf,
  variablesIn,
  writeLiteral,
} from './operator.js';
import {
  argumentsFor,
  eachGrounding,
  type Frame,
  type Offer,
  spread,
  type Transition,
  type Try,
  type Vocabulary,
} from './tries.js';

/** What held in all tries with a probability below this, were it not needed, is needed. */
const BY_CHANCE = 1e-3;

/** Weights below this are of facts about what the action names. */
const PLAIN = 1.2;

/** The same of pairs, of which there are many more; they are of literals no heavier than this, and looked at in so many ways. */
const PAIR_BY_CHANCE = 1e-6;
const MOST_FOR_PAIRS = 1.4;
const WAYS_FOR_PAIRS = 3000;

/** Conditions of which one must hold. */
type Clause = readonly Condition[];

export function preconditionsOf(conditions: readonly Condition[], cases: readonly Case[], chances: Chances) {
  const accepted = cases.filter((one) => one.accepted > 0);
  // Where the same was carried out and refused, nothing that can be said explains it.
  const refused = cases.filter((one) => one.accepted === 0);
  const safe = conditions.filter((condition) => accepted.every((one) => holds(condition, one)));
  const literals = established(safe, chances);
  const certain: Clause[] = [
    ...literals.map((condition) => [condition]),
    ...establishedPairs(conditions, accepted, literals, chances),
  ];
  const unexplained = refused.filter((one) => certain.every((clause) => meets(clause, one)));
  const single = explaining(
    safe.map((condition) => [condition]),
    unexplained,
  );
  const open = unexplained.filter((one) => single.every((clause) => meets(clause, one)));
  const pairs = open.length === 0 ? [] : explaining(pairsFor(conditions, accepted, open), open);
  const explained = [...certain, ...lightened(pruned([...single, ...pairs], unexplained), safe, unexplained)];
  // Literals that follow from the others, now that all of these are known, are left out.
  const literalsOf = (list: readonly Clause[]) => list.flatMap((one) => (one.length === 1 ? one : []));
  const chosen = pruned(explained, refused, (clause, rest) => {
    return clause.length === 1 && chances.follows(clause[0], literalsOf(rest));
  });
  const needed = new Set(chosen.flat());
  const sum = (list: readonly Case[], key: 'accepted' | 'refused') => list.reduce((n, one) => n + one[key], 0);
  const preconditions = chosen.map((clause) => {
    const unmet = cases.filter((one) => !meets(clause, one));
    const any = clause.map(({ text }) => text).sort();
    return { any, support: sum(unmet, 'refused'), counterExamples: sum(unmet, 'accepted') };
  });
  return {
    preconditions: preconditions.sort((a, b) => (a.any.join() < b.any.join() ? -1 : 1)),
    always: safe.filter((condition) => !needed.has(condition)).map(({ text }) => text),
    unexplained: sum(
      cases.filter((one) => chosen.every((clause) => meets(clause, one))),
      'refused',
    ),
  };
}

/**
 * Of what always held, what neither follows from the rest nor was so by chance. What takes more to say is doubted first. What was
 * doubted in the states looked at is asked once more in all of them, the least likely to be chance first.
 */
function established(safe: readonly Condition[], chances: Chances): Condition[] {
  let kept = [...safe].sort((a, b) => b.weight - a.weight || (a.text < b.text ? -1 : 1));
  const isPlain = ({ weight }: Condition) => weight < PLAIN;
  const isChance = (one: Condition, others: readonly Condition[]) =>
    chances.byChance(chances.share(one, others)) >= BY_CHANCE;
  const isDoubted = [
    (one: Condition, others: readonly Condition[]) => !isPlain(one) && isChance(one, others),
    // Of two facts that nearly say the same, the one that follows from the other in all states is to go.
    (one: Condition, others: readonly Condition[]) => isPlain(one) && chances.follows(one, others),
    isChance,
  ];
  for (const is of isDoubted) {
    for (const condition of [...kept]) {
      const others = kept.filter((one) => one !== condition);
      if (is(condition, others)) kept = others;
    }
  }
  const doubted = safe.filter((condition) => !kept.includes(condition));
  let ways = chances.ways(kept, doubted);
  for (;;) {
    const left = doubted.map((condition, i) => {
      const share = ways.filter((way) => way[i] === 1).length / ways.length;
      return { condition, i, chance: ways.length === 0 ? 1 : chances.byChance(share) };
    });
    const [best] = left.sort((a, b) => a.chance - b.chance || a.condition.weight - b.condition.weight);
    if (best === undefined || best.chance >= BY_CHANCE) return kept;
    kept = [...kept, best.condition];
    ways = ways.filter((way) => way[best.i] === 1);
  }
}

/** Pairs of which one held too often for it to be chance; the least likely first, each beside those before it. */
function establishedPairs(
  conditions: readonly Condition[],
  accepted: readonly Case[],
  literals: readonly Condition[],
  chances: Chances,
): Clause[] {
  const named = conditions.filter(({ weight, literal }) => weight < MOST_FOR_PAIRS && literal.predicate !== '=');
  const asked = named.filter((condition) => accepted.some((one) => holds(condition, one)));
  const places = new Map(asked.map((condition, i) => [condition, i]));
  let ways = spread(chances.ways(literals, asked), WAYS_FOR_PAIRS);
  const pairs = pairsFor(asked, accepted);
  const found: Clause[] = [];
  for (;;) {
    let best: Clause | undefined;
    let least = PAIR_BY_CHANCE;
    for (const pair of pairs) {
      const [a, b] = pair.map((condition) => places.get(condition)!);
      const chance = chances.byChance(ways.filter((way) => way[a] === 1 || way[b] === 1).length / ways.length);
      if (chance < least) [best, least] = [pair, chance];
    }
    if (best === undefined) return found;
    found.push(best);
    const [a, b] = best.map((condition) => places.get(condition)!);
    ways = ways.filter((way) => way[a] === 1 || way[b] === 1);
  }
}

function meets(clause: Clause, one: Case): boolean {
  return clause.some((condition) => holds(condition, one));
}

function clauseWeight(clause: Clause): number {
  return clause.reduce((sum, { weight }) => sum + weight, 0);
}

/** Greedily (Chvatal 1979): what explains most of what is still open, for its weight, comes next, and is taken out of `open`. */
function cover<T extends { readonly explains: Iterable<number>; readonly weight: number }>(
  claims: readonly T[],
  open: Set<number>,
  timesOf: (item: number) => number = () => 1,
): T[] {
  const chosen: T[] = [];
  for (;;) {
    let best: T | undefined;
    let most = 0;
    for (const claim of claims) {
      let explained = 0;
      for (const item of claim.explains) if (open.has(item)) explained += timesOf(item);
      const worth = explained / claim.weight;
      if (worth > most) [best, most] = [claim, worth];
    }
    if (best === undefined) return chosen;
    chosen.push(best);
    for (const item of best.explains) open.delete(item);
  }
}

/** The clauses that explain the refusals. */
function explaining(clauses: readonly Clause[], refused: readonly Case[]): Clause[] {
  const claims = clauses.map((clause) => ({
    clause,
    weight: clauseWeight(clause),
    explains: refused.flatMap((one, i) => (meets(clause, one) ? [] : [i])),
  }));
  return cover(claims, new Set(refused.keys()), (i) => refused[i].refused).map(({ clause }) => clause);
}

/** Without clauses that are needless beside the rest, which explains as much; the heaviest first. */
function pruned(
  clauses: readonly Clause[],
  refused: readonly Case[],
  isNeedless: (clause: Clause, rest: readonly Clause[]) => boolean = () => true,
): Clause[] {
  let kept = [...clauses];
  for (const clause of [...clauses].sort((a, b) => clauseWeight(b) - clauseWeight(a))) {
    const rest = kept.filter((one) => one !== clause);
    if (isNeedless(clause, rest) && explainsAll(rest, kept, refused)) kept = rest;
  }
  return kept;
}

/** Each clause replaced by the lightest literal that does the same beside the others. */
function lightened(clauses: readonly Clause[], safe: readonly Condition[], refused: readonly Case[]): Clause[] {
  const light = [...safe].sort((a, b) => a.weight - b.weight);
  let kept = [...clauses];
  for (const clause of clauses) {
    const rest = kept.filter((one) => one !== clause);
    const better = light.find(
      (condition) => condition.weight < clauseWeight(clause) && explainsAll([...rest, [condition]], kept, refused),
    );
    if (better !== undefined) kept = pruned([...rest, [better]], refused);
  }
  return kept;
}

/** Whether `clauses` explain each refusal that `than` do. */
function explainsAll(clauses: readonly Clause[], than: readonly Clause[], refused: readonly Case[]): boolean {
  return refused.every(
    (one) => than.every((clause) => meets(clause, one)) || clauses.some((clause) => !meets(clause, one)),
  );
}

/** Pairs of which one held whenever the action was carried out, though neither always did; and in some of `open`, if any, neither. */
function pairsFor(conditions: readonly Condition[], accepted: readonly Case[], open: readonly Case[] = []): Clause[] {
  const possible = conditions.filter(
    (condition) =>
      accepted.some((one) => holds(condition, one)) &&
      accepted.some((one) => !holds(condition, one)) &&
      (open.length === 0 || open.some((one) => !holds(condition, one))),
  );
  const lacking = possible.map((condition) => accepted.filter((one) => !holds(condition, one)));
  return possible.flatMap((a, i) =>
    possible.slice(i + 1).flatMap((b): Clause[] => (lacking[i].every((one) => holds(b, one)) ? [[a, b]] : [])),
  );
}

/** A literal that changed in some try, in the words of the action. */
interface Candidate {
  readonly literal: Literal;
  readonly weight: number;
  /** Numbers of the changes it would explain. */
  readonly changes: ReadonlySet<number>;
  /** By try: whether it was so afterwards. */
  readonly after: readonly boolean[];
  /** By try: whether it was so before. */
  readonly before: readonly boolean[];
}

/** A candidate with what must hold before. */
interface Claim {
  readonly candidate: Candidate;
  readonly when: readonly Condition[];
  readonly explains: ReadonlySet<number>;
  readonly weight: number;
}

/** @param truths  of each try that was carried out, what could be said before it */
export function effectsOf(
  frame: Frame,
  conditions: readonly Condition[],
  truths: ReadonlyMap<Try, Pick<Case, 'truth'>>,
): {
  readonly effects: readonly OperatorEffect[] /** Changes that no effect explains. */;
  readonly unexplained: number;
} {
  const { accepted } = frame.tries;
  const changes = accepted.flatMap((one, i) => changesOf(one).map((change) => ({ ...change, at: i })));
  const candidates = candidatesFor(frame, changes);
  const always = candidates.filter(({ after }) => after.every((is) => is));
  const claims = always.map((candidate): Claim => {
    return { candidate, when: [], explains: candidate.changes, weight: candidate.weight };
  });
  const open = new Set(changes.keys());
  const chosen = cover(claims, open);
  if (open.size > 0) {
    const cases = accepted.map((one) => truths.get(one)!);
    const others = candidates.filter(
      (one) => !always.includes(one) && [...one.changes].some((change) => open.has(change)),
    );
    const conditional = others.flatMap((one) => conditionedOn(one, conditions, cases, changes, open));
    chosen.push(...cover(conditional, open));
  }
  const key = ({ makes, when }: OperatorEffect) => `${makes} ${when.join(' ')}`;
  const effects = chosen.map((claim) => effectOf(claim, accepted, truths));
  return { effects: effects.sort((a, b) => (key(a) < key(b) ? -1 : 1)), unexplained: open.size };
}

interface Change {
  readonly predicate: string;
  readonly objects: readonly string[];
  readonly negated: boolean;
}

/** Facts that came and went; tables that both states share are passed over. */
export function changesOf({ before, after }: Pick<Try, 'before' | 'after'>): Change[] {
  const predicates = new Set([...Object.keys(before.facts), ...Object.keys(after.facts)]);
  return [...predicates].flatMap((predicate) => {
    const [was = {}, is = {}] = [before.facts[predicate], after.facts[predicate]];
    if (was === is) return [];
    const gone = Object.keys(was).filter((key) => !(key in is));
    const come = Object.keys(is).filter((key) => !(key in was));
    return [gone, come].flatMap((keys, i) =>
      keys.map((key): Change => ({ predicate, objects: key === '' ? [] : key.split(', '), negated: i === 0 })),
    );
  });
}

function candidatesFor(frame: Frame, changes: readonly (Change & { readonly at: number })[]): Candidate[] {
  const { tries, bindings, variables } = frame;
  const found = new Map<string, { readonly literal: Literal; readonly changes: Set<number> }>();
  changes.forEach(({ predicate, objects, negated, at }, number) => {
    const binding = bindings.get(tries.accepted[at])!;
    for (const args of spelled(objects, binding)) {
      const literal = { predicate, args, negated };
      const text = writeLiteral(literal);
      const known = found.get(text) ?? { literal, changes: new Set() };
      found.set(text, known);
      known.changes.add(number);
    }
  });
  const reached = new Set(variables.map(({ name }) => name));
  return [...found.values()].map(({ literal, changes }) => {
    const at = (when: 'before' | 'after') =>
      tries.accepted.map((one) => {
        const objects = objectsOf(literal.args, bindings.get(one)!);
        const isFact = objects !== undefined && one[when].facts[literal.predicate]?.[factKey(objects)] === true;
        return objects !== undefined && isFact !== literal.negated;
      });
    const weight = 1 + 0.3 * variablesIn(literal).filter((name) => reached.has(name)).length;
    return { literal, weight, changes, after: at('after'), before: at('before') };
  });
}

/** All ways to call the objects by what they are to the action. */
function spelled(objects: readonly string[], binding: ReadonlyMap<string, string>): string[][] {
  let found: string[][] = [[]];
  for (const object of objects) {
    const names = [...binding].filter(([, value]) => value === object).map(([name]) => name);
    found = found.flatMap((args) => names.map((name) => [...args, name]));
  }
  return found;
}

/** The candidate under each condition after which it always was so. */
function conditionedOn(
  candidate: Candidate,
  conditions: readonly Condition[],
  cases: readonly Pick<Case, 'truth'>[],
  changes: readonly { readonly at: number }[],
  open: ReadonlySet<number>,
): Claim[] {
  const { literal, after, before } = candidate;
  return conditions.flatMap((condition): Claim[] => {
    const held = cases.map((one) => holds(condition, one));
    if (held.some((is, i) => is && !after[i])) return [];
    const explains = new Set([...candidate.changes].filter((change) => open.has(change) && held[changes[change].at]));
    if (explains.size === 0) return [];
    // Of equal conditions the one about the same fact is meant: switched on where it was off.
    const isOwn =
      condition.literal.predicate === literal.predicate && condition.literal.args.join() === literal.args.join();
    const idle = held.filter((is, i) => is && before[i]).length;
    const weight = candidate.weight + (isOwn ? 0.1 : condition.weight) + idle / cases.length;
    return [{ candidate, when: [condition], explains, weight }];
  });
}

function effectOf(
  { candidate, when }: Claim,
  accepted: readonly Try[],
  truths: ReadonlyMap<Try, Pick<Case, 'truth'>>,
): OperatorEffect {
  const due = accepted.flatMap((one, i) => (when.every((condition) => holds(condition, truths.get(one)!)) ? [i] : []));
  const so = due.filter((i) => candidate.after[i]);
  return {
    makes: writeLiteral(candidate.literal),
    when: when.map(({ text }) => text),
    support: so.length,
    counterExamples: due.length - so.length,
    changed: so.filter((i) => !candidate.before[i]).length,
  };
}

/** States that are looked at: of the action's own tries, of their scenes, and of all. */
const STATES = { own: 60, near: 120, all: 120, further: 1500 };
/** Ways to try the action in one state that are looked at. */
const MOST_WAYS = 400;

export class Chances {
  private readonly some: readonly Situation[];
  private readonly more: readonly Situation[];
  private readonly every: readonly Situation[];
  /** Tries that tell something of their own. */
  private readonly count: number;

  constructor(
    private readonly frame: Frame,
    transitions: readonly Transition[],
  ) {
    const accepted: Offer[] = [...frame.tries.accepted, ...frame.tries.offered];
    const scenes = new Set(accepted.map(({ before }) => before.scene));
    const distinct = transitions.filter(({ before }, i) => i === 0 || transitions[i - 1].before !== before);
    const situation = ({ scene, before }: Transition) => new Situation(scene, before);
    const near = distinct.filter(({ scene }) => scenes.has(scene));
    this.some = [
      ...spread(accepted, STATES.own).map(({ before }) => before),
      ...spread(near, STATES.near).map(situation),
      ...spread(distinct, STATES.all).map(situation),
    ];
    this.more = spread(near, STATES.further).map(situation);
    this.every = distinct.map(situation);
    const numbers = new Map([...scenes].map((scene, i) => [scene, i]));
    this.count = new Set(accepted.map(({ before, objects }) => [numbers.get(before.scene), ...objects].join())).size;
  }

  /** Whether it holds wherever the others do; looks no further than the first way in which it does not. */
  follows(condition: Condition, others: readonly Condition[]): boolean {
    return [this.some, this.more].every((states) => {
      let so = true;
      this.visit(states, others, (holds) => {
        so = holds(condition);
        return so;
      });
      return so;
    });
  }

  /** The share of ways in which the condition holds where the others do; 1 where there are none. */
  share(condition: Condition, others: readonly Condition[]): number {
    let [all, so] = [0, 0];
    this.visit(this.some, others, (holds) => {
      all += 1;
      if (holds(condition)) so += 1;
      return true;
    });
    return all === 0 ? 1 : so / all;
  }

  /** In every state that was seen, each way in which all of `met` hold: which of `asked` hold then. */
  ways(met: readonly Condition[], asked: readonly Condition[]): Uint8Array[] {
    const found: Uint8Array[] = [];
    this.visit(this.every, met, (holds) => found.push(Uint8Array.from(asked, (one) => Number(holds(one)))) > 0);
    return found;
  }

  /** The probability that all tries have by chance what holds in such a share of ways. */
  byChance(share: number): number {
    return share ** this.count;
  }

  private visit(
    states: readonly Situation[],
    met: readonly Condition[],
    found: (holds: (condition: Condition) => boolean) => boolean,
  ): void {
    const { tries, variables } = this.frame;
    const { parameters } = tries.action;
    const names = new Set(parameters.map(({ name }) => name));
    const byName = new Map(variables.map((variable) => [variable.name, variable]));
    const isJoined = ({ literal: { negated, predicate, args } }: Condition) =>
      !negated && predicate !== '=' && args.every((arg) => !isVariable(arg) || names.has(arg));
    const joined = met.filter(isJoined).map(({ literal }) => literal);
    const checked = met.filter((one) => !isJoined(one)).map(({ literal }) => literal);
    let goesOn = true;
    for (const at of states) {
      if (!goesOn) return;
      eachGrounding(at, parameters, joined, MOST_WAYS, (objects) => {
        const binding = lazyBindingOf(parameters, byName, objects, at);
        if (!checked.every((literal) => truthOf(literal, binding, at) === true)) return true;
        goesOn = found(({ literal }) => truthOf(literal, binding, at) === true);
        return goesOn;
      });
    }
  }
}

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
  const types = new Map(tries.action.parameters.map(({ name, type }) => [name, type]));
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
      return types.get(a) === types.get(b) ? [{ predicate: '=', args: [a, b], negated: false }] : [];
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
