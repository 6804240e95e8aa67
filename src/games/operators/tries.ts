// What operators are learned from: actions that were tried, with the facts around them, and what may be said about these.

import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { FactTable, Scene, ToolsDomain } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { admissibleIn } from '../../env/tools/text-environment.js';
import type { ExperienceStep } from '../../replay/experience/experience.js';
import { type Parameter, Situation, type TakenAction, takenAction } from '../../worldmodel/situation.js';
import { addTo, type Literal } from '../pddl/read-task.js';
import { type Binding, bindingOf, fitting, isVariable, objectsOf, type Variable, writeLiteral } from './operator.js';

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

export interface Try extends Offer {
  readonly after: Situation;
  readonly accepted: boolean;
  readonly observation?: string;
}

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
  for (const one of transitions) addTo(groups, one.action.name, one);
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
    for (const { name, objects } of offered) addTo(offers, name, { before, objects });
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

/** An action's tries and offers with what its variables mean in each. */
export interface Frame {
  readonly tries: Tries;
  readonly variables: readonly Variable[];
  /** All names that literals may speak of, with the type of what each stands for. */
  readonly types: ReadonlyMap<string, string>;
  readonly bindings: ReadonlyMap<Offer, Binding>;
}

export function frameOf(tries: Tries, variables: readonly Variable[]): Frame {
  const spoken = { parameters: tries.action.parameters, variables };
  const asked: Offer[] = [...tries.all, ...tries.offered];
  const bindings = new Map(asked.map((one) => [one, bindingOf(spoken, one.objects, one.before)]));
  const named = [...tries.action.parameters, ...variables];
  return { tries, variables, types: new Map(named.map(({ name, type }) => [name, type])), bindings };
}

/** Every way to put names of fitting types into the places of a predicate, none twice. */
export function argumentsFor(places: readonly ReadonlySet<string>[], names: ReadonlyMap<string, string>): string[][] {
  let found: string[][] = [[]];
  for (const types of places) {
    const fitting = [...names].filter(([, type]) => types.has(type)).map(([name]) => name);
    found = found.flatMap((args) => fitting.filter((name) => !args.includes(name)).map((name) => [...args, name]));
  }
  return found;
}

/** @param steps  in order of episodes; calls after the first one of an episode whose changes are not known are left out */
export function recordedTries(steps: readonly ExperienceStep[], domain: ToolsDomain): Transition[] {
  const scene = domain.rules?.scene?.bind(domain.rules);
  if (scene === undefined) return [];
  const tasks = new Map(domain.tasks.map((task) => [task.id, task]));
  let episode: string | undefined;
  let state: JsonObject | undefined;
  let told: JsonObject | undefined;
  const offers = offersOf(domain);
  return steps.flatMap(({ episode: own, task, call, operations, observation, isError }): Transition[] => {
    if (own !== episode) {
      const known = tasks.get(task);
      state = known && initialStateOf(domain, known);
      episode = own;
    }
    if (state === undefined || operations === undefined) {
      state = undefined;
      return [];
    }
    const before = state;
    state = applyOperations(before, operations);
    const [was, is] = [before, state].map(({ facts }) => facts as FactTable);
    const there = scene(before);
    const action = takenAction(call, there);
    const offered = before === told ? undefined : offers(there, before);
    told = before;
    return [
      { scene: there, before: was, after: is, action, accepted: !isError, observation, ...(offered && { offered }) },
    ];
  });
}

/** What a world offered to do in a state; a command is read once for all states of a scene. */
function offersOf(domain: ToolsDomain): (scene: Scene, state: JsonObject) => TakenAction[] | undefined {
  const read = new WeakMap<Scene, Map<string, TakenAction>>();
  return (scene, state) => {
    const offered = admissibleIn(domain, state);
    if (offered === undefined) return undefined;
    const known = read.get(scene) ?? new Map<string, TakenAction>();
    read.set(scene, known);
    return offered.lines.map((line) => {
      const action = known.get(line) ?? takenAction(offered.callOf(line), scene);
      known.set(line, action);
      return action;
    });
  };
}

/**
 * Calls `visit` with one object for each parameter, at most so often, and until it says false: that this is enough. The parameter that the
 * fewest facts allow something for is bound next.
 * @param literals  positive, over parameters and objects alone
 */
export function eachGrounding(
  at: Situation,
  parameters: readonly Parameter[],
  literals: readonly Literal[],
  limit: number,
  visit: (objects: readonly string[]) => boolean,
): void {
  const binding = new Map<string, string>();
  let left = limit;
  /** Whether it holds, or speaks of what is still open. */
  const isPossible = ({ predicate, args }: Literal) => {
    const objects = objectsOf(args, binding);
    return objects === undefined || at.holds(predicate, objects);
  };
  /** The facts that the literal could be, given what is bound beside the place; undefined where nothing is. */
  const linked = ({ predicate, args }: Literal, place: number) => {
    if (args.length === 1) return at.rows(predicate);
    const fixed = args.findIndex((arg, i) => i !== place && (!isVariable(arg) || binding.has(arg)));
    return fixed < 0 ? undefined : at.about(predicate, fixed, binding.get(args[fixed]) ?? args[fixed]);
  };
  const narrowest = (open: readonly Parameter[]) => {
    let best: { parameter: Parameter; place: number; rows: readonly (readonly string[])[] } | undefined;
    for (const parameter of open) {
      for (const literal of literals) {
        const place = literal.args.indexOf(parameter.name);
        const rows = place < 0 ? undefined : linked(literal, place);
        if (rows !== undefined && (best === undefined || rows.length < best.rows.length))
          best = { parameter, place, rows };
      }
    }
    if (best === undefined) return { parameter: open[0], candidates: at.allOf(open[0].type) };
    const { parameter, place, rows } = best;
    return { parameter, candidates: new Set(rows.map((row) => row[place])) };
  };
  const bindNext = (): void => {
    const open = parameters.filter(({ name }) => !binding.has(name));
    if (open.length === 0) {
      left = visit(parameters.map(({ name }) => binding.get(name)!)) ? left - 1 : 0;
      return;
    }
    const { parameter, candidates } = narrowest(open);
    const own = literals.filter(({ args }) => args.includes(parameter.name));
    for (const object of candidates) {
      if (left <= 0) break;
      if (at.typeOf(object) !== parameter.type) continue;
      binding.set(parameter.name, object);
      if (own.every(isPossible)) bindNext();
    }
    binding.delete(parameter.name);
  };
  if (literals.every(isPossible)) bindNext();
}
