// What an action needs. What held whenever it was carried out is a candidate, all of it together being the safe end of what agrees with the
// tries (SAM learning, Stern and Juba 2017; version spaces, Mitchell 1982). Of this counts what held too often for chance and does not
// follow from the rest, and then the least that explains the refusals still open: literals, or two of which one must hold. What is left
// stays apart, as nobody knows whether it is needed.

import type { Precondition } from '../../worldmodel/index.js';
import type { Chances } from './chance.js';
import { type Case, type Condition, holds, type Said } from './conditions.js';

export interface FoundPreconditions {
  readonly preconditions: readonly Precondition[];
  /** What held in every try that was carried out, and was not found to be needed. */
  readonly always: readonly string[];
  /** Refused tries in which all preconditions held. */
  readonly unexplained: number;
}

/** What held in all tries with a probability below this, were it not needed, is needed. */
const BY_CHANCE = 1e-3;

/** Conditions of which one must hold. */
type Clause = readonly Condition[];

export function preconditionsOf({ conditions, cases }: Said, chances: Chances): FoundPreconditions {
  const accepted = cases.filter((one) => one.accepted > 0);
  // Where the same was carried out and refused, nothing that can be said explains it.
  const refused = cases.filter((one) => one.accepted === 0);
  const safe = conditions.filter((condition) => accepted.every((one) => holds(condition, one)));
  const certain: Clause[] = established(safe, chances).map((condition) => [condition]);
  const unexplained = refused.filter((one) => certain.every((clause) => meets(clause, one)));
  const single = cover(
    safe.map((condition) => [condition]),
    unexplained,
  );
  const open = unexplained.filter((one) => single.every((clause) => meets(clause, one)));
  const pairs = open.length === 0 ? [] : cover(pairsFor(conditions, accepted, open), open);
  const chosen = [...certain, ...lightened(pruned([...single, ...pairs], unexplained), safe, unexplained)];
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
  for (const isDoubted of [(share: number) => share === 1, (share: number) => chances.byChance(share) >= BY_CHANCE]) {
    for (const condition of [...kept]) {
      const others = kept.filter((one) => one !== condition);
      if (isDoubted(chances.share(condition, others))) kept = others;
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

/** Pairs of which one held whenever the action was carried out, though neither always did. */
function pairsFor(conditions: readonly Condition[], accepted: readonly Case[], open: readonly Case[]): Clause[] {
  const possible = conditions.filter(
    (condition) =>
      accepted.some((one) => holds(condition, one)) &&
      accepted.some((one) => !holds(condition, one)) &&
      open.some((one) => !holds(condition, one)),
  );
  const lacking = possible.map((condition) => accepted.filter((one) => !holds(condition, one)));
  return possible.flatMap((a, i) =>
    possible.slice(i + 1).flatMap((b): Clause[] => (lacking[i].every((one) => holds(b, one)) ? [[a, b]] : [])),
  );
}
