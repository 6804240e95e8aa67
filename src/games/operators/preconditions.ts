// What an action needs. What held whenever it was carried out is a candidate, all of it together being the safe end of what agrees with the
// tries (SAM learning, Stern and Juba 2017; version spaces, Mitchell 1982). Of this counts what held too often for chance and does not
// follow from the rest, and then the least that explains the refusals still open: literals, or two of which one must hold. What is left
// stays apart, as it is not known whether it is needed.

import type { Chances } from './effects.js';
import { type Case, type Condition, holds, type Said } from './effects.js';
import type { Precondition } from './operator.js';
import { spread } from './tries.js';

interface FoundPreconditions {
  readonly preconditions: readonly Precondition[];
  /** What held in every try that was carried out, and was not found to be needed. */
  readonly always: readonly string[];
  /** Refused tries in which all preconditions held. */
  readonly unexplained: number;
}

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

export function preconditionsOf({ conditions, cases }: Said, chances: Chances): FoundPreconditions {
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
  const single = cover(
    safe.map((condition) => [condition]),
    unexplained,
  );
  const open = unexplained.filter((one) => single.every((clause) => meets(clause, one)));
  const pairs = open.length === 0 ? [] : cover(pairsFor(conditions, accepted, open), open);
  const explained = [...certain, ...lightened(pruned([...single, ...pairs], unexplained), safe, unexplained)];
  const chosen = withoutImplied(explained, refused, chances);
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

/** Without literals that follow from the others, now that all of these are known. */
function withoutImplied(clauses: readonly Clause[], refused: readonly Case[], chances: Chances): Clause[] {
  let kept = [...clauses];
  for (const clause of [...clauses].sort((a, b) => weightOf(b) - weightOf(a))) {
    const rest = kept.filter((one) => one !== clause);
    const literals = rest.flatMap((one) => (one.length === 1 ? one : []));
    const isImplied = clause.length === 1 && chances.follows(clause[0], literals);
    if (isImplied && explainsAll(rest, kept, refused)) kept = rest;
  }
  return kept;
}

function meets(clause: Clause, one: Case): boolean {
  return clause.some((condition) => holds(condition, one));
}

function weightOf(clause: Clause): number {
  return clause.reduce((sum, { weight }) => sum + weight, 0);
}

/** Greedily (Chvatal 1979): what explains most of the refusals still open, for its weight, comes next. */
function cover(clauses: readonly Clause[], refused: readonly Case[]): Clause[] {
  const explains = clauses.map((clause) => refused.map((one) => !meets(clause, one)));
  const open = refused.map(() => true);
  const chosen: Clause[] = [];
  for (;;) {
    let best = -1;
    let most = 0;
    clauses.forEach((clause, i) => {
      let count = 0;
      for (let at = 0; at < refused.length; at++) if (open[at] && explains[i][at]) count += refused[at].refused;
      const worth = count / weightOf(clause);
      if (worth > most) [best, most] = [i, worth];
    });
    if (best < 0) return chosen;
    chosen.push(clauses[best]);
    explains[best].forEach((does, at) => {
      if (does) open[at] = false;
    });
  }
}

/** Without clauses that the others make needless, the heaviest first. */
function pruned(clauses: readonly Clause[], refused: readonly Case[]): Clause[] {
  let kept = [...clauses];
  for (const clause of [...clauses].sort((a, b) => weightOf(b) - weightOf(a))) {
    const rest = kept.filter((one) => one !== clause);
    if (explainsAll(rest, kept, refused)) kept = rest;
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
      (condition) => condition.weight < weightOf(clause) && explainsAll([...rest, [condition]], kept, refused),
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
