// What a call is about: its name and arguments with the names of objects taken out, so that `act` with "take apple 1 from fridge 1" is
// an action `take {object} from {receptacle}` of two objects.

import type { Json } from '../core/canonical-json.js';
import { canonicalJson } from '../core/canonical-json.js';
import type { CallSpec, Scene } from '../env/tools/domain.js';

export interface Parameter {
  /** With its question mark: `?receptacle`. */
  readonly name: string;
  readonly type: string;
}

/** One action as it was taken: which, and on which objects. */
export interface TakenAction {
  /** Equal for the same action on objects of the same types. */
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** One for each parameter. */
  readonly objects: readonly string[];
}

interface Names {
  readonly pattern: RegExp;
  readonly types: ReadonlyMap<string, string>;
}

const names = new WeakMap<Scene, Names>();

/** A call of a tool whose one argument is a text is told by that text alone. */
export function takenAction({ name, arguments: given }: CallSpec, scene: Scene): TakenAction {
  const { types } = namesOf(scene);
  const objects: string[] = [];
  const parameters: Parameter[] = [];
  const lifted = (text: string) => {
    const split = splitByNames(text.trim(), scene);
    return split.between.reduce((before, piece, i) => {
      const object = split.objects[i - 1];
      const type = types.get(object)!;
      const same = parameters.filter((one) => one.type === type).length;
      parameters.push({ name: same === 0 ? `?${type}` : `?${type}${same + 1}`, type });
      objects.push(object);
      return `${before}{${type}}${piece}`;
    });
  };
  const keys = Object.keys(given).sort();
  const parts = keys.map((key) => written(given[key], lifted));
  const isText = keys.length === 1 && typeof given[keys[0]] === 'string';
  const action = isText ? `${name}: ${parts[0]}` : `${name}(${keys.map((key, i) => `${key}=${parts[i]}`).join(', ')})`;
  return { name: action, parameters, objects };
}

/** A text taken apart: `between` has what stands before each object, and what stands after the last. */
export function splitByNames(text: string, scene: Scene): { readonly between: string[]; readonly objects: string[] } {
  const between: string[] = [];
  const objects: string[] = [];
  let from = 0;
  for (const { 0: object, index } of text.matchAll(namesOf(scene).pattern)) {
    between.push(text.slice(from, index));
    objects.push(object);
    from = index + object.length;
  }
  return { between: [...between, text.slice(from)], objects };
}

function written(value: Json, lifted: (text: string) => string): string {
  return typeof value === 'string' ? lifted(value) : canonicalJson(value);
}

function namesOf(scene: Scene): Names {
  let known = names.get(scene);
  if (known === undefined) {
    const types = new Map(scene.objects.map(({ name, type }) => [name, type]));
    // Where one name begins another, the longer one is meant.
    const sorted = [...types.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
    const alternatives = sorted.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${alternatives || '(?!)'})(?![\\p{L}\\p{N}_])`, 'gu');
    known = { pattern, types };
    names.set(scene, known);
  }
  return known;
}
