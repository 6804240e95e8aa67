// All objects for an action's parameters under which literals hold in a state: found by the facts that link them, not by trying all.

import type { Situation } from '../../worldmodel/situation.js';
import type { Parameter } from '../../worldmodel/taken-action.js';
import { isVariable, type Literal } from './literal.js';

/** Told of a way; false: no further one is asked for. */
export type Visit = (objects: readonly string[]) => boolean;

/** Parameters with what they may stand for once others are fixed. */
interface Search {
  readonly at: Situation;
  readonly parameters: readonly Parameter[];
  readonly literals: readonly Literal[];
  readonly visit: Visit;
  readonly binding: Map<string, string>;
  left: number;
}

/**
 * Calls `visit` with one object for each parameter, at most so often, and until it says that this is enough.
 * @param literals  positive, over parameters and objects alone
 */
export function eachGrounding(
  at: Situation,
  parameters: readonly Parameter[],
  literals: readonly Literal[],
  limit: number,
  visit: Visit,
): void {
  const search = { at, parameters, literals, visit, binding: new Map<string, string>(), left: limit };
  if (literals.every((literal) => isPossible(literal, search))) next(search);
}

function next(search: Search): void {
  const { parameters, binding, literals, at } = search;
  const open = parameters.filter(({ name }) => !binding.has(name));
  if (open.length === 0) {
    const isEnough = !search.visit(parameters.map(({ name }) => binding.get(name)!));
    search.left = isEnough ? 0 : search.left - 1;
    return;
  }
  const { parameter, candidates } = narrowest(open, search);
  const own = literals.filter(({ args }) => args.includes(parameter.name));
  for (const object of candidates) {
    if (search.left <= 0) break;
    if (at.typeOf(object) !== parameter.type) continue;
    binding.set(parameter.name, object);
    if (own.every((literal) => isPossible(literal, search))) next(search);
  }
  binding.delete(parameter.name);
}

/** The open parameter that the fewest facts allow something for, and what they allow. */
function narrowest(
  open: readonly Parameter[],
  search: Search,
): { readonly parameter: Parameter; readonly candidates: Iterable<string> } {
  let best: { readonly parameter: Parameter; readonly place: number; readonly rows: Rows } | undefined;
  for (const parameter of open) {
    for (const literal of search.literals) {
      const place = literal.args.indexOf(parameter.name);
      const rows = place < 0 ? undefined : linked(literal, place, search);
      if (rows !== undefined && (best === undefined || rows.length < best.rows.length))
        best = { parameter, place, rows };
    }
  }
  if (best === undefined) return { parameter: open[0], candidates: search.at.allOf(open[0].type) };
  const { parameter, place, rows } = best;
  return { parameter, candidates: new Set(rows.map((row) => row[place])) };
}

/** Whether it holds, or speaks of what is still open. */
function isPossible({ predicate, args }: Literal, { binding, at }: Search): boolean {
  const objects: string[] = [];
  for (const arg of args) {
    const object = isVariable(arg) ? binding.get(arg) : arg;
    if (object === undefined) return true;
    objects.push(object);
  }
  return at.holds(predicate, objects);
}

type Rows = readonly (readonly string[])[];

/** The facts that the literal could be, given what is bound beside the place; undefined where nothing is. */
function linked({ predicate, args }: Literal, place: number, { binding, at }: Search): Rows | undefined {
  if (args.length === 1) return at.rows(predicate);
  const fixed = args.findIndex((arg, i) => i !== place && (!isVariable(arg) || binding.has(arg)));
  if (fixed < 0) return undefined;
  return at.about(predicate, fixed, binding.get(args[fixed]) ?? args[fixed]);
}
