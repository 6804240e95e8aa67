// All objects for an action's parameters under which literals hold in a state: found by the facts that link them, not by trying all.

import { isVariable, type Literal, type Parameter, type Situation } from '../../worldmodel/index.js';

/** Parameters with what they may stand for once others are fixed. */
interface Search {
  readonly at: Situation;
  readonly parameters: readonly Parameter[];
  readonly literals: readonly Literal[];
  readonly visit: (objects: readonly string[]) => void;
  readonly binding: Map<string, string>;
  left: number;
}

/**
 * Calls `visit` with one object for each parameter, at most so often.
 * @param literals  positive, over parameters and objects alone
 */
export function eachGrounding(
  at: Situation,
  parameters: readonly Parameter[],
  literals: readonly Literal[],
  limit: number,
  visit: (objects: readonly string[]) => void,
): void {
  const search = { at, parameters, literals, visit, binding: new Map<string, string>(), left: limit };
  if (literals.every((literal) => isPossible(literal, search))) next(search);
}

function next(search: Search): void {
  const { parameters, binding, literals } = search;
  const open = parameters.filter(({ name }) => !binding.has(name));
  if (open.length === 0) {
    search.left -= 1;
    search.visit(parameters.map(({ name }) => binding.get(name)!));
    return;
  }
  let best = open[0];
  let least: readonly string[] | undefined;
  for (const parameter of open) {
    for (const literal of literals) {
      const found = linked(literal, parameter.name, search);
      if (found === undefined || (least !== undefined && found.length >= least.length)) continue;
      [best, least] = [parameter, found];
    }
  }
  const all = search.at.allOf(best.type);
  const candidates = least === undefined ? all : least.filter((object) => all.includes(object));
  const own = literals.filter(({ args }) => args.includes(best.name));
  for (const object of candidates) {
    if (search.left <= 0) return;
    binding.set(best.name, object);
    if (own.every((literal) => isPossible(literal, search))) next(search);
  }
  binding.delete(best.name);
}

/** Whether it holds, or speaks of what is still open. */
function isPossible({ predicate, args }: Literal, { binding, at }: Search): boolean {
  const objects = args.map((arg) => (isVariable(arg) ? binding.get(arg) : arg));
  return objects.includes(undefined) || at.holds(predicate, objects as string[]);
}

/** What the parameter may be by this literal alone; undefined where it says nothing of it yet. */
function linked({ predicate, args }: Literal, name: string, { binding, at }: Search): readonly string[] | undefined {
  const place = args.indexOf(name);
  if (place < 0 || predicate === '=') return undefined;
  if (args.length === 1) return at.rows(predicate).map(([object]) => object);
  const fixed = args.findIndex((arg) => !isVariable(arg) || binding.has(arg));
  if (fixed < 0) return undefined;
  const object = isVariable(args[fixed]) ? binding.get(args[fixed])! : args[fixed];
  return [...new Set(at.about(predicate, fixed, object).map((row) => row[place]))];
}
