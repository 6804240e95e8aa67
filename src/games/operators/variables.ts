// What an operator may speak of beside the objects its action names: the only object of a type, and the one object that a fact
// links with what is known already. A link counts if it led to exactly one object in every try that was carried out, and wherever the
// action was offered.

import type { Parameter } from '../../worldmodel/taken-action.js';
import { type Literal, writeLiteral } from './literal.js';
import { fitting, type Variable } from './operator.js';
import type { Offer, Tries, Vocabulary } from './tries.js';

/** Links that a variable may be away from the objects of the action. */
const DEPTH = 2;

/** In the order they are found by. One that always was what another one is, is left out. */
export function variablesFor({ action, accepted, offered, all }: Tries, vocabulary: Vocabulary): Variable[] {
  if (accepted.length === 0) return [];
  const { parameters } = action;
  const possible: Offer[] = [...accepted, ...offered];
  const scenes = [...new Set([...all, ...offered].map(({ before }) => before.scene))];
  const typesIn = scenes.map(({ objects }) => objects.map(({ type }) => type));
  const single = [...new Set(typesIn[0])].filter((type) =>
    typesIn.every((types) => types.filter((one) => one === type).length === 1),
  );
  const typeOf = new Map(scenes.map((scene) => [scene, new Map(scene.objects.map(({ name, type }) => [name, type]))]));
  const variables: Variable[] = [];
  /** What each name known so far meant, a value for each try. */
  const meanings = parameters.map((_, i) => possible.map(({ objects }) => objects[i]));
  const bindings = possible.map(({ objects }) => new Map(parameters.map(({ name }, i) => [name, objects[i]])));
  const add = (variable: Omit<Variable, 'name'>, meaning: readonly string[]) => {
    if (meanings.some((known) => known.every((value, i) => value === meaning[i]))) return;
    const name = freeName(variable.type, [...parameters, ...variables]);
    variables.push({ name, ...variable });
    meanings.push([...meaning]);
    for (const [i, binding] of bindings.entries()) binding.set(name, meaning[i]);
  };
  for (const type of single.sort()) {
    const meaning = possible.map(({ before }) => before.scene.objects.find((object) => object.type === type)!.name);
    if (isSpokenOf(type, vocabulary)) add({ type }, meaning);
  }
  let from = 0;
  for (let depth = 0; depth < DEPTH; depth++) {
    const known = [...parameters, ...variables];
    const fresh = known.slice(from);
    from = known.length;
    for (const link of linksFrom(fresh, vocabulary)) {
      const meaning: string[] = [];
      for (const [i, { before }] of possible.entries()) {
        const found = fitting(link, bindings[i], before);
        if (found.length !== 1) break;
        meaning.push(found[0]);
      }
      if (meaning.length < possible.length) continue;
      const types = new Set(possible.map(({ before }, i) => typeOf.get(before.scene)!.get(meaning[i])));
      const [type] = types;
      if (types.size === 1 && type !== undefined) add({ type, is: writeLiteral(link) }, meaning);
    }
  }
  return variables;
}

/** Facts of two objects, one of which is known; what changes comes last, as what is so for good is the safer guide. */
function linksFrom(known: readonly Parameter[], { places, changing }: Vocabulary): Literal[] {
  const binary = [...places].filter(([, at]) => at.length === 2).map(([predicate]) => predicate);
  const ordered = [false, true].flatMap((changes) => binary.filter((one) => changing.has(one) === changes).sort());
  return known.flatMap(({ name, type }) =>
    ordered.flatMap((predicate) =>
      [0, 1].flatMap((place): Literal[] => {
        if (!places.get(predicate)![place].has(type)) return [];
        return [{ predicate, args: place === 0 ? [name, '?'] : ['?', name], negated: false }];
      }),
    ),
  );
}

/** A type of which no fact tells is of no use. */
function isSpokenOf(type: string, { places }: Vocabulary): boolean {
  return [...places.values()].some((at) => at.some((types) => types.has(type)));
}

function freeName(type: string, taken: readonly Parameter[]): string {
  const names = new Set(taken.map(({ name }) => name));
  let name = `?${type}`;
  for (let i = 2; names.has(name); i++) name = `?${type}${i}`;
  return name;
}
