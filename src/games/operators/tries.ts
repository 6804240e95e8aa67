// What operators are learned from: actions that were tried, with the facts around them, and what may be said about these.

import type { FactTable, Scene } from '../../env/tools/domain.js';
import { Situation } from '../../worldmodel/situation.js';
import type { TakenAction } from '../../worldmodel/taken-action.js';
import type { Binding } from './literal.js';
import { bindingOf, type Variable } from './operator.js';

/** An action as it was tried. */
export interface Transition {
  readonly scene: Scene;
  readonly before: FactTable;
  /** The same as `before` where it was refused. */
  readonly after: FactTable;
  readonly action: TakenAction;
  readonly accepted: boolean;
  readonly observation?: string;
  /** All that the world offered to do, where it tells: each of these would have been carried out, and nothing is known of what it would make so. */
  readonly offered?: readonly TakenAction[];
}

/** An action that could have been taken, ready to be asked. */
export interface Offer {
  readonly before: Situation;
  readonly objects: readonly string[];
}

/** A try of one action, likewise. */
export interface Try extends Offer {
  readonly after: Situation;
  readonly accepted: boolean;
  readonly observation?: string;
}

/** All tries of one action. */
export interface Tries {
  readonly action: Omit<TakenAction, 'objects'>;
  readonly all: readonly Try[];
  readonly accepted: readonly Try[];
  /** Of the times it was offered, so many at most, evenly spaced. */
  readonly offered: readonly Offer[];
}

/** Times that an action was offered that are looked at. */
const MOST_OFFERS = 1500;

/** By action, sorted by name. */
export function triesByAction(transitions: readonly Transition[]): Tries[] {
  const groups = new Map<string, Transition[]>();
  for (const one of transitions) {
    const group = groups.get(one.action.name);
    if (group === undefined) groups.set(one.action.name, [one]);
    else group.push(one);
  }
  const offers = offersByAction(transitions);
  return [...groups.keys()].sort().map((name) => {
    const group = groups.get(name)!;
    const all = group.map(tryOf);
    const offered = spread(offers.get(name) ?? [], MOST_OFFERS);
    return { action: group[0].action, all, accepted: all.filter(({ accepted }) => accepted), offered };
  });
}

/** What was offered in each state, once for calls that changed nothing. */
function offersByAction(transitions: readonly Transition[]): Map<string, Offer[]> {
  const offers = new Map<string, Offer[]>();
  let last: FactTable | undefined;
  for (const { scene, before: facts, offered = [] } of transitions) {
    if (facts === last) continue;
    last = facts;
    const before = new Situation(scene, facts);
    for (const { name, objects } of offered) {
      const known = offers.get(name);
      if (known === undefined) offers.set(name, [{ before, objects }]);
      else known.push({ before, objects });
    }
  }
  return offers;
}

/** So many of the list, evenly spaced. */
export function spread<T>(list: readonly T[], count: number): T[] {
  const kept = Math.min(count, list.length);
  return Array.from({ length: kept }, (_, i) => list[Math.floor((i * list.length) / kept)]);
}

function tryOf({ scene, before, after, action, accepted, observation }: Transition): Try {
  const situation = new Situation(scene, before);
  return {
    before: situation,
    after: before === after ? situation : new Situation(scene, after),
    objects: action.objects,
    accepted,
    ...(observation !== undefined && { observation }),
  };
}

/** What literals may be made of, as all transitions show it. */
export interface Vocabulary {
  /** Types of the objects that stand at each place of a predicate, by its name. */
  readonly places: ReadonlyMap<string, readonly ReadonlySet<string>[]>;
  /** Objects that are in every scene and about which nothing can change, with their types: a microwave's type, a colour. */
  readonly constants: ReadonlyMap<string, string>;
  /** Predicates with facts that change. */
  readonly changing: ReadonlySet<string>;
}

export function vocabularyOf(transitions: readonly Transition[]): Vocabulary {
  const scenes = [...new Set(transitions.map(({ scene }) => scene))];
  const types = new Map(scenes.map((scene) => [scene, new Map(scene.objects.map(({ name, type }) => [name, type]))]));
  const places = new Map<string, Set<string>[]>();
  const changing = new Set<string>();
  const spokenOf = new Set<string>();
  const seen = new Set<object>();
  const read = (scene: Scene, facts: FactTable, isFixed: boolean) => {
    for (const [predicate, table] of Object.entries(facts)) {
      if (seen.has(table)) continue;
      seen.add(table);
      if (!isFixed) changing.add(predicate);
      for (const row of new Situation(scene, { [predicate]: table }).rows(predicate)) {
        row.forEach((object, place) => {
          if (!isFixed) spokenOf.add(object);
          const type = types.get(scene)!.get(object);
          if (type === undefined) return;
          const known = places.get(predicate) ?? [];
          places.set(predicate, known);
          known[place] ??= new Set();
          known[place].add(type);
        });
      }
    }
  };
  for (const scene of scenes) read(scene, scene.facts, true);
  for (const { scene, before, after } of transitions) for (const facts of [before, after]) read(scene, facts, false);
  const [first, ...others] = scenes;
  const isConstant = ({ name, type }: Scene['objects'][number]) =>
    !spokenOf.has(name) && others.every((scene) => types.get(scene)!.get(name) === type);
  const constants = new Map((first?.objects ?? []).filter(isConstant).map(({ name, type }) => [name, type]));
  return { places, constants, changing };
}

/** An action's tries and offers with what its variables mean in each. */
export interface Frame {
  readonly tries: Tries;
  readonly variables: readonly Variable[];
  /** All names that literals may speak of, with the types of what they stand for. */
  readonly types: ReadonlyMap<string, ReadonlySet<string>>;
  readonly bindings: ReadonlyMap<Offer, Binding>;
}

export function frameOf(tries: Tries, variables: readonly Variable[]): Frame {
  const spoken = { parameters: tries.action.parameters, variables };
  const asked: Offer[] = [...tries.all, ...tries.offered];
  const bindings = new Map(asked.map((one) => [one, bindingOf(spoken, one.objects, one.before)]));
  const named = [...tries.action.parameters, ...variables];
  return { tries, variables, types: new Map(named.map(({ name, type }) => [name, new Set([type])])), bindings };
}

/** Every way to put names of fitting types into the places of a predicate, none twice. */
export function argumentsFor(
  places: readonly ReadonlySet<string>[],
  names: ReadonlyMap<string, ReadonlySet<string>>,
): string[][] {
  let found: string[][] = [[]];
  for (const types of places) {
    const fitting = [...names].filter(([, own]) => [...own].some((type) => types.has(type))).map(([name]) => name);
    found = found.flatMap((args) => fitting.filter((name) => !args.includes(name)).map((name) => [...args, name]));
  }
  return found;
}
