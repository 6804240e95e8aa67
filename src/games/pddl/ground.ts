// A task with its variables replaced by objects: the atoms that can ever become true, and every operator that could ever be
// applied, with the atoms it needs and changes. Found forwards from the initial facts: a new atom is joined with those before it.

import {
  type ActionSchema,
  addTo,
  type Clause,
  clausesOf,
  type Effect,
  type Literal,
  type PddlDomain,
  type PddlProblem,
  type Scope,
  supertypes,
  type Typed,
} from './read-task.js';

/** An atom made true or false where, before, all of `when` were true and none of `unless`. */
interface GroundEffect {
  readonly atom: number;
  readonly adds: boolean;
  readonly when: readonly number[];
  readonly unless: readonly number[];
}

export interface Operator {
  /** Place of the action in the domain. */
  readonly action: number;
  /** Objects for the action's parameters. */
  readonly args: readonly number[];
  readonly needs: readonly number[];
  readonly forbids: readonly number[];
  readonly effects: readonly GroundEffect[];
}

/** Atoms are numbers below `atoms`; they are sorted by predicate and names of objects. */
interface GroundTask {
  readonly universe: Universe;
  /** Atoms that can change. */
  readonly predicates: readonly string[];
  readonly args: readonly (readonly number[])[];
  readonly initial: readonly number[];
  /** What is true and stays so. */
  readonly constant: readonly { readonly predicate: string; readonly args: readonly number[] }[];
  /** Sorted by action, then by objects. */
  readonly operators: readonly Operator[];
  /** The goal is reached where all of `needs` and none of `forbids` of one of these are true. */
  readonly goals: readonly { readonly needs: readonly number[]; readonly forbids: readonly number[] }[];
}

/** @throws PDDL_UNFIT for variables and objects that was not declared */
export function groundTask(domain: PddlDomain, problem: PddlProblem, what: string): GroundTask {
  return new Grounder(domain, problem, what).ground();
}

/** One clause of an action's precondition, or of the goal. */
interface Rule {
  /** Place of the action; -1: the goal. */
  readonly action: number;
  readonly parameters: number;
  readonly plan: JoinPlan;
  /** Places in `plan.positive` of what can change. */
  readonly fluent: readonly number[];
}

/** A case of a conditional effect: slots are the action's parameters and more. */
interface EffectRule {
  readonly plan: JoinPlan;
  readonly fluent: ReadonlySet<number>;
  readonly target: Pattern;
  readonly adds: boolean;
}

interface Found {
  readonly rule: Rule;
  readonly objects: readonly number[];
  readonly effects: readonly GroundEffect[];
}

class Grounder {
  private readonly universe: Universe;
  private readonly facts: Facts;
  private readonly changing: ReadonlySet<string>;
  private readonly rules: readonly Rule[];
  private readonly effectRules: readonly (readonly EffectRule[])[];
  private readonly queue: number[] = [];
  private readonly queued = new Set<number>();
  private readonly found: Found[] = [];

  constructor(
    private readonly domain: PddlDomain,
    private readonly problem: PddlProblem,
    private readonly what: string,
  ) {
    const objects = [...domain.constants, ...problem.objects];
    this.universe = new Universe(objects, (type) => supertypes(domain.types, type));
    this.facts = new Facts(objects.length);
    this.changing = new Set(domain.actions.flatMap(({ effects }) => effects.map(({ literal }) => literal.predicate)));
    this.effectRules = domain.actions.map((action) => action.effects.flatMap((one) => this.effectRulesOf(action, one)));
    const actions = domain.actions.flatMap((action, i) => this.rulesOf(i, action.parameters, action.precondition));
    this.rules = [...actions, ...this.rulesOf(-1, [], problem.goal)];
  }

  ground(): GroundTask {
    for (const { predicate, args } of this.problem.init) {
      const atom = this.facts.intern(
        predicate,
        args.map((arg) => this.universe.numberOf(arg)),
      );
      if (this.changing.has(predicate)) this.reach(atom);
      else this.facts.add(atom);
    }
    for (const rule of this.rules) if (rule.fluent.length === 0) this.fire(rule);
    for (let next = 0; next < this.queue.length; next++) this.meet(this.queue[next]);
    return this.result();
  }

  private scope(parameters: readonly Typed[], where: string): Scope {
    const known = new Set([...parameters.map(({ name }) => name), ...this.universe.names]);
    const objectsOf = (type: string) => this.universe.membersOf(type).list.map((i) => this.universe.names[i]);
    return { what: `${this.what}, ${where}`, known, objectsOf };
  }

  private rulesOf(action: number, parameters: readonly Typed[], condition: ActionSchema['precondition']): Rule[] {
    const where = action < 0 ? 'goal' : `action "${this.domain.actions[action].name}"`;
    return clausesOf(condition, this.scope(parameters, where)).map((clause) => {
      const plan = this.plan(parameters, clause);
      const fluent = plan.positive.flatMap(({ predicate }, i) => (this.changing.has(predicate) ? [i] : []));
      return { action, parameters: parameters.length, plan, fluent };
    });
  }

  private effectRulesOf({ name, parameters }: ActionSchema, { variables, condition, literal }: Effect): EffectRule[] {
    const all = [...parameters, ...variables];
    const scope = this.scope(all, `action "${name}"`);
    const [{ literals }] = clausesOf({ kind: 'literal', ...literal }, scope);
    return clausesOf(condition, scope).map((clause) => {
      const plan = this.plan(all, clause);
      const [target] = planOf(
        all,
        literals.map((one) => ({ ...one, negated: false })),
        this.universe,
      ).positive;
      const fluent = new Set(plan.positive.flatMap(({ predicate }, i) => (this.changing.has(predicate) ? [i] : [])));
      return { plan, fluent, target, adds: !literal.negated };
    });
  }

  private plan(variables: readonly Typed[], { variables: more, literals }: Clause): JoinPlan {
    return planOf([...variables, ...more], literals, this.universe);
  }

  private reach(atom: number): void {
    if (this.queued.has(atom)) return;
    this.queued.add(atom);
    this.queue.push(atom);
  }

  /** All bindings of a rule in which the new atom stands at one of its literals, each once. */
  private meet(atom: number): void {
    this.facts.add(atom);
    const predicate = this.facts.predicates[atom];
    for (const rule of this.rules) {
      for (const literal of rule.fluent) {
        if (rule.plan.positive[literal].predicate === predicate) this.fire(rule, { atom, literal });
      }
    }
  }

  private fire(rule: Rule, fresh?: { readonly atom: number; readonly literal: number }): void {
    const { plan } = rule;
    const binding = new Int32Array(plan.domains.length).fill(-1);
    const literals = [...plan.positive.keys()].filter((i) => i !== fresh?.literal);
    if (fresh !== undefined) {
      const { atom, literal } = fresh;
      if (unify(plan, plan.positive[literal], this.facts.args[atom], binding) === undefined) return;
    }
    // Where two literals could be the new atom, the first of them counts as its place.
    const admits = (fact: number, literal: number) =>
      fresh === undefined || fact !== fresh.atom || literal > fresh.literal;
    join(this.facts, plan, binding, literals, () => this.keep(rule, binding), admits);
  }

  private keep(rule: Rule, binding: Int32Array): void {
    const isRefused = rule.plan.negative.some(
      (pattern) => pattern.predicate !== '=' && !this.changing.has(pattern.predicate) && this.isFact(pattern, binding),
    );
    if (isRefused) return;
    const effects = rule.action < 0 ? [] : this.effectsOf(rule, binding);
    for (const { atom, adds } of effects) if (adds) this.reach(atom);
    this.found.push({ rule, objects: [...binding], effects });
  }

  private effectsOf({ action, parameters }: Rule, binding: Int32Array): GroundEffect[] {
    const effects: GroundEffect[] = [];
    for (const { plan, fluent, target, adds } of this.effectRules[action]) {
      const slots = new Int32Array(plan.domains.length).fill(-1);
      slots.set(binding.subarray(0, parameters));
      const fixed = [...plan.positive.keys()].filter((i) => !fluent.has(i));
      join(this.facts, plan, slots, fixed, () => {
        const stands = plan.negative.filter(({ predicate }) => predicate !== '=');
        const isNever = stands.some((one) => !this.changing.has(one.predicate) && this.isFact(one, slots));
        if (isNever) return;
        const when = plan.positive.filter((_, i) => fluent.has(i)).map((one) => this.atomOf(one, slots));
        const unless = stands.filter((one) => this.changing.has(one.predicate)).map((one) => this.atomOf(one, slots));
        effects.push({ atom: this.atomOf(target, slots), adds, when, unless });
      });
    }
    return effects;
  }

  private atomOf({ predicate, args }: Pattern, binding: Int32Array): number {
    return this.facts.intern(
      predicate,
      args.map((arg) => objectAt(arg, binding)),
    );
  }

  private isFact(pattern: Pattern, binding: Int32Array): boolean {
    return this.facts.has(this.atomOf(pattern, binding));
  }

  private result(): GroundTask {
    const { facts, universe } = this;
    const names = facts.args.map(
      (args, atom) => `${facts.predicates[atom]} ${args.map((i) => universe.names[i]).join(' ')}`,
    );
    const order = [...this.queue].sort((a, b) => (names[a] < names[b] ? -1 : 1));
    const place = new Int32Array(facts.count).fill(-1);
    order.forEach((atom, i) => {
      place[atom] = i;
    });
    const isInitial = new Set(this.problem.init.map(({ predicate, args }) => `${predicate} ${args.join(' ')}`));
    const kept = this.found.flatMap((one) => this.settled(one, place) ?? []);
    return {
      universe,
      predicates: order.map((atom) => facts.predicates[atom]),
      args: order.map((atom) => facts.args[atom]),
      initial: order.flatMap((atom, i) => (isInitial.has(names[atom]) ? [i] : [])),
      constant: [...Array(facts.count).keys()]
        .filter((atom) => facts.has(atom) && !this.changing.has(facts.predicates[atom]))
        .map((atom) => ({ predicate: facts.predicates[atom], args: facts.args[atom] })),
      operators: kept.filter(({ action }) => action >= 0).sort(byActionAndObjects),
      goals: kept.filter(({ action }) => action < 0).map(({ needs, forbids }) => ({ needs, forbids })),
    };
  }

  /** The operator with final numbers; undefined where it could change nothing or contradicts itself. */
  private settled({ rule, objects, effects }: Found, place: Int32Array): Operator | undefined {
    const binding = Int32Array.from(objects);
    const atoms = (patterns: readonly Pattern[]) =>
      patterns
        .filter(({ predicate }) => this.changing.has(predicate))
        .map((one) => place[this.atomOf(one, binding)] ?? -1);
    const needs = atoms(rule.plan.positive);
    const forbids = atoms(rule.plan.negative).filter((atom) => atom >= 0);
    if (needs.some((atom) => forbids.includes(atom))) return undefined;
    const args = objects.slice(0, rule.parameters);
    if (rule.action < 0) return { action: -1, args, needs, forbids, effects: [] };
    const felt = feltEffects(effects, place, needs, forbids);
    return felt.length === 0 ? undefined : { action: rule.action, args, needs, forbids, effects: felt };
  }
}

/** Effects that can happen and change something, given what the operator needs. */
function feltEffects(
  effects: readonly GroundEffect[],
  place: Int32Array,
  needs: readonly number[],
  forbids: readonly number[],
): GroundEffect[] {
  const possible = effects.flatMap(({ atom, adds, when, unless }): GroundEffect[] => {
    const [at, ...places] = [atom, ...when, ...unless].map((one) => place[one] ?? -1);
    const [yes, no] = [places.slice(0, when.length), places.slice(when.length)];
    if (at < 0 || yes.some((one) => one < 0 || forbids.includes(one)) || no.some((one) => needs.includes(one)))
      return [];
    const open = {
      when: yes.filter((one) => !needs.includes(one)),
      unless: no.filter((one) => one >= 0 && !forbids.includes(one)),
    };
    return [{ atom: at, adds, ...open }];
  });
  const isUnconditional = ({ when, unless }: GroundEffect) => when.length + unless.length === 0;
  const always = new Set(possible.flatMap((one) => (one.adds && isUnconditional(one) ? [one.atom] : [])));
  return possible.filter(
    ({ atom, adds }) => !(adds ? needs.includes(atom) : forbids.includes(atom) || always.has(atom)),
  );
}

function byActionAndObjects(a: Operator, b: Operator): number {
  if (a.action !== b.action) return a.action - b.action;
  const at = a.args.findIndex((object, i) => object !== b.args[i]);
  return at < 0 ? 0 : a.args[at] - b.args[at];
}

/** Objects by number, with the objects of each type and below it. */
class Universe {
  readonly names: readonly string[];
  readonly types: readonly string[];
  private readonly numbers: ReadonlyMap<string, number>;
  private readonly members = new Map<string, { list: number[]; has: Uint8Array }>();

  constructor(objects: readonly Typed[], ancestors: (type: string) => readonly string[]) {
    this.names = objects.map(({ name }) => name);
    this.types = objects.map(({ type }) => type);
    this.numbers = new Map(this.names.map((name, i) => [name, i]));
    objects.forEach(({ type }, i) => {
      for (const one of new Set([...ancestors(type), 'object'])) this.membersOf(one).list.push(i);
    });
    for (const { list, has } of this.members.values()) for (const i of list) has[i] = 1;
  }

  numberOf(name: string): number {
    return this.numbers.get(name)!;
  }

  membersOf(type: string): { readonly list: number[]; readonly has: Uint8Array } {
    let members = this.members.get(type);
    if (members === undefined) {
      members = { list: [], has: new Uint8Array(this.names.length) };
      this.members.set(type, members);
    }
    return members;
  }
}

interface Relation {
  readonly facts: number[];
  /** By position, then by object: the facts that have it there. */
  readonly at: Map<number, number[]>[];
}

const NONE: readonly number[] = [];

/** Ground atoms by number. An atom has a number as soon as it is spoken of; it is a fact once it is `add`ed. */
export class Facts {
  readonly predicates: string[] = [];
  readonly args: (readonly number[])[] = [];
  private readonly numbers = new Map<string, Map<number | string, number>>();
  private readonly known: boolean[] = [];
  private readonly relations = new Map<string, Relation>();

  /** `objects`: how many there are. */
  constructor(private readonly objects: number) {}

  get count(): number {
    return this.predicates.length;
  }

  intern(predicate: string, args: readonly number[]): number {
    let numbers = this.numbers.get(predicate);
    if (numbers === undefined) {
      numbers = new Map();
      this.numbers.set(predicate, numbers);
    }
    const key = this.keyOf(args);
    let atom = numbers.get(key);
    if (atom === undefined) {
      atom = this.predicates.length;
      numbers.set(key, atom);
      this.predicates.push(predicate);
      this.args.push(args);
      this.known.push(false);
    }
    return atom;
  }

  has(atom: number): boolean {
    return this.known[atom];
  }

  add(atom: number): void {
    if (this.known[atom]) return;
    this.known[atom] = true;
    const relation = this.relationOf(this.predicates[atom]);
    relation.facts.push(atom);
    this.args[atom].forEach((object, position) => {
      relation.at[position] ??= new Map();
      addTo(relation.at[position], object, atom);
    });
  }

  /** A list that holds all facts of the predicate that agree with what is bound: the shortest that an index has. */
  candidates({ predicate, args }: Pattern, binding: Int32Array): readonly number[] {
    const relation = this.relations.get(predicate);
    if (relation === undefined) return NONE;
    let best: readonly number[] = relation.facts;
    for (let position = 0; position < args.length; position++) {
      const object = objectAt(args[position], binding);
      if (object < 0) continue;
      const list = relation.at[position]?.get(object) ?? NONE;
      if (list.length < best.length) best = list;
    }
    return best;
  }

  /** Of one predicate's arguments: a number while that is exact, else a text. */
  private keyOf(args: readonly number[]): number | string {
    let key = 0;
    for (const object of args) key = key * this.objects + object;
    return this.objects ** args.length <= Number.MAX_SAFE_INTEGER ? key : args.join(' ');
  }

  private relationOf(predicate: string): Relation {
    let relation = this.relations.get(predicate);
    if (relation === undefined) {
      relation = { facts: [], at: [] };
      this.relations.set(predicate, relation);
    }
    return relation;
  }
}

/** A literal whose arguments are slots of a binding (0, 1, ...) or objects (their number's complement, below zero). */
interface Pattern {
  readonly predicate: string;
  readonly args: readonly number[];
}

function objectAt(arg: number, binding: Int32Array): number {
  return arg < 0 ? ~arg : binding[arg];
}

/** A clause with its variables as slots of a binding. */
interface JoinPlan {
  /** By slot: which objects may stand there. */
  readonly domains: readonly { readonly list: readonly number[]; readonly has: Uint8Array }[];
  readonly positive: readonly Pattern[];
  readonly negative: readonly Pattern[];
}

function planOf(variables: readonly Typed[], literals: readonly Literal[], universe: Universe): JoinPlan {
  const slots = new Map(variables.map(({ name }, i) => [name, i]));
  const pattern = ({ predicate, args }: Literal): Pattern => ({
    predicate,
    args: args.map((arg) => slots.get(arg) ?? ~universe.numberOf(arg)),
  });
  return {
    domains: variables.map(({ type }) => universe.membersOf(type)),
    positive: literals.filter(({ negated }) => !negated).map(pattern),
    negative: literals.filter(({ negated }) => negated).map(pattern),
  };
}

/** Whether a fact may stand for the pattern, given which of the plan's positive literals it would be. */
type Admits = (fact: number, literal: number) => boolean;

/**
 * Calls `found` for every binding that extends the one given so that all `literals` (indices of positive ones) are facts and
 * every slot holds an object of its type. Equality is decided once all slots are bound. The binding is the same array each time.
 */
export function join(
  facts: Facts,
  plan: JoinPlan,
  binding: Int32Array,
  literals: readonly number[],
  found: () => void,
  admits: Admits = () => true,
): void {
  const open = literals.filter((i) => plan.positive[i].predicate !== '=');
  const equal = literals.filter((i) => plan.positive[i].predicate === '=').map((i) => plan.positive[i]);
  const unequal = plan.negative.filter(({ predicate }) => predicate === '=');
  const isSame = ({ args: [a, b] }: Pattern) => objectAt(a, binding) === objectAt(b, binding);

  const bindRest = (slot: number): void => {
    if (slot === binding.length) {
      if (equal.every(isSame) && !unequal.some(isSame)) found();
    } else if (binding[slot] >= 0) bindRest(slot + 1);
    else {
      for (const object of plan.domains[slot].list) {
        binding[slot] = object;
        bindRest(slot + 1);
      }
      binding[slot] = -1;
    }
  };

  const bindNext = (left: readonly number[]): void => {
    if (left.length === 0) {
      bindRest(0);
      return;
    }
    let next = left[0];
    let list = facts.candidates(plan.positive[next], binding);
    for (let i = 1; i < left.length && list.length > 0; i++) {
      const other = facts.candidates(plan.positive[left[i]], binding);
      if (other.length >= list.length) continue;
      next = left[i];
      list = other;
    }
    const rest = left.filter((i) => i !== next);
    // The list may grow while it is walked: what is added then is met when its own turn comes.
    const { length } = list;
    for (let i = 0; i < length; i++) {
      if (!admits(list[i], next)) continue;
      const bound = unify(plan, plan.positive[next], facts.args[list[i]], binding);
      if (bound === undefined) continue;
      bindNext(rest);
      for (const slot of bound) binding[slot] = -1;
    }
  };
  bindNext(open);
}

/** Binds the pattern to the objects of a fact; answers the slots it bound, or undefined (with nothing bound) if they differ. */
function unify(
  { domains }: JoinPlan,
  { args }: Pattern,
  objects: readonly number[],
  binding: Int32Array,
): number[] | undefined {
  const bound: number[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    const value = objectAt(arg, binding);
    if (value === objects[i]) continue;
    if (value >= 0 || domains[arg].has[objects[i]] === 0) {
      for (const slot of bound) binding[slot] = -1;
      return undefined;
    }
    binding[arg] = objects[i];
    bound.push(arg);
  }
  return bound;
}

/** Everything of a world that changes; plain bytes, one an atom. */
export interface WorldState {
  /** 1 where the atom is true. */
  readonly truth: Uint8Array;
  /** 1 where the atom was made false by the last effect that touched it. Nothing is denied at first. */
  readonly denied: Uint8Array;
}

/** Who watches each atom: the operators `list[from[atom]]` to `list[from[atom + 1]]`. */
interface Watchers {
  readonly from: Uint32Array;
  readonly list: Uint32Array;
}

/** What is the same for all worlds of a task. Goals are watched as operators are, behind them. */
export interface WorldPlan {
  readonly task: GroundTask;
  readonly needed: Watchers;
  readonly forbidden: Watchers;
  readonly unmetAtFirst: Uint16Array;
}

export function planWorld(task: GroundTask): WorldPlan {
  const rules = [...task.operators, ...task.goals];
  const watchers = (key: 'needs' | 'forbids') => {
    const lists = rules.map((rule) => rule[key]);
    return watchersOf(lists, task.predicates.length);
  };
  const unmetAtFirst = Uint16Array.from(rules, ({ needs }) => new Set(needs).size);
  return { task, needed: watchers('needs'), forbidden: watchers('forbids'), unmetAtFirst };
}

function watchersOf(lists: readonly (readonly number[])[], count: number): Watchers {
  const from = new Uint32Array(count + 1);
  const unique = lists.map((list) => [...new Set(list)]);
  for (const list of unique) for (const atom of list) from[atom + 1] += 1;
  for (let atom = 0; atom < count; atom++) from[atom + 1] += from[atom];
  const next = from.slice();
  const list = new Uint32Array(from[count]);
  unique.forEach((atoms, rule) => {
    for (const atom of atoms) list[next[atom]++] = rule;
  });
  return { from, list };
}

export class World {
  readonly truth: Uint8Array;
  readonly denied: Uint8Array;
  private readonly unmet: Uint16Array;
  private readonly operators: number;
  /** Operators that can be applied, in no order: the first `applicableCount` of `members`. */
  private readonly members: Uint32Array;
  private readonly places: Uint32Array;
  private applicableCount = 0;
  private goalsMet = 0;

  constructor(readonly plan: WorldPlan) {
    const { task, unmetAtFirst } = plan;
    this.truth = new Uint8Array(task.predicates.length);
    this.denied = new Uint8Array(task.predicates.length);
    this.unmet = unmetAtFirst.slice();
    this.operators = task.operators.length;
    this.members = new Uint32Array(task.operators.length);
    this.places = new Uint32Array(task.operators.length);
    this.unmet.forEach((count, rule) => {
      if (count === 0) this.enable(rule);
    });
    for (const atom of task.initial) this.set(atom, 1);
  }

  get isGoal(): boolean {
    return this.goalsMet > 0;
  }

  /** Operators that can be applied, in no order; valid until something changes. */
  applicable(): Uint32Array {
    return this.members.subarray(0, this.applicableCount);
  }

  canApply(operator: number): boolean {
    return this.unmet[operator] === 0;
  }

  /** Conditions of effects are asked before anything changes; what is both added and deleted is added. */
  apply(operator: number): void {
    const { effects } = this.plan.task.operators[operator];
    const happening = effects.filter(
      ({ when, unless }) => when.every((one) => this.truth[one] === 1) && unless.every((one) => this.truth[one] === 0),
    );
    for (const { atom, adds } of happening) if (!adds) this.deny(atom);
    for (const { atom, adds } of happening) if (adds) this.affirm(atom);
  }

  save(): WorldState {
    return { truth: this.truth.slice(), denied: this.denied.slice() };
  }

  load({ truth, denied }: WorldState): void {
    for (let atom = 0; atom < truth.length; atom++) if (this.truth[atom] !== truth[atom]) this.set(atom, truth[atom]);
    this.denied.set(denied);
  }

  private deny(atom: number): void {
    if (this.truth[atom] === 1) this.set(atom, 0);
    this.denied[atom] = 1;
  }

  private affirm(atom: number): void {
    if (this.truth[atom] === 0) this.set(atom, 1);
    this.denied[atom] = 0;
  }

  private set(atom: number, value: number): void {
    this.truth[atom] = value;
    const { needed, forbidden } = this.plan;
    const [freed, bound] = value === 1 ? [needed, forbidden] : [forbidden, needed];
    for (let i = bound.from[atom]; i < bound.from[atom + 1]; i++) {
      const rule = bound.list[i];
      if (this.unmet[rule]++ === 0) this.disable(rule);
    }
    for (let i = freed.from[atom]; i < freed.from[atom + 1]; i++) {
      const rule = freed.list[i];
      if (--this.unmet[rule] === 0) this.enable(rule);
    }
  }

  private enable(rule: number): void {
    if (rule >= this.operators) this.goalsMet += 1;
    else {
      this.places[rule] = this.applicableCount;
      this.members[this.applicableCount++] = rule;
    }
  }

  private disable(rule: number): void {
    if (rule >= this.operators) this.goalsMet -= 1;
    else {
      const last = this.members[--this.applicableCount];
      this.members[this.places[rule]] = last;
      this.places[last] = this.places[rule];
    }
  }
}
