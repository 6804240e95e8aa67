// What an action makes so: of what was so after every try that was carried out, the least that explains all changes. A change that came
// in some tries alone is explained by what held before in these and in no other.

import { factKey } from '../../worldmodel/situation.js';
import { type Case, type Condition, holds } from './conditions.js';
import { type Literal, objectsOf, writeLiteral } from './literal.js';
import { type OperatorEffect, variablesIn } from './operator.js';
import type { Frame, Try } from './tries.js';

export interface FoundEffects {
  readonly effects: readonly OperatorEffect[];
  /** Changes that no effect explains. */
  readonly unexplained: number;
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
): FoundEffects {
  const { accepted } = frame.tries;
  const changes = accepted.flatMap((one, i) => changesOf(one).map((change) => ({ ...change, at: i })));
  const candidates = candidatesFor(frame, changes);
  const always = candidates.filter(({ after }) => after.every((is) => is));
  const claims = always.map((candidate): Claim => {
    return { candidate, when: [], explains: candidate.changes, weight: candidate.weight };
  });
  const open = new Set(changes.keys());
  const chosen = choose(claims, open);
  if (open.size > 0) {
    const cases = accepted.map((one) => truths.get(one)!);
    const others = candidates.filter(
      (one) => !always.includes(one) && [...one.changes].some((change) => open.has(change)),
    );
    const conditional = others.flatMap((one) => conditionedOn(one, conditions, cases, changes, open));
    chosen.push(...choose(conditional, open));
  }
  const effects = chosen.map((claim) => effectOf(claim, accepted, truths));
  return { effects: effects.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)), unexplained: open.size };
}

function keyOf({ makes, when }: OperatorEffect): string {
  return `${makes} ${when.join(' ')}`;
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

/** Greedily: what explains most, then what is said more simply. What was explained is taken out of `open`. */
function choose(claims: readonly Claim[], open: Set<number>): Claim[] {
  const chosen: Claim[] = [];
  for (;;) {
    let best: Claim | undefined;
    let most = 0;
    for (const claim of claims) {
      const worth = [...claim.explains].filter((change) => open.has(change)).length / claim.weight;
      if (worth > most) [best, most] = [claim, worth];
    }
    if (best === undefined) return chosen;
    chosen.push(best);
    for (const change of best.explains) open.delete(change);
  }
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
