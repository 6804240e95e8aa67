// The state of a ground task, and what can be done in it. Every operator counts its unmet needs; an atom that changes tells
// the operators that watch it, so that what can be done is known after each step without looking at the rest.

import type { GroundTask } from './ground.js';

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
  const count = task.predicates.length;
  return {
    task,
    needed: watchersOf(
      rules.map(({ needs }) => needs),
      count,
    ),
    forbidden: watchersOf(
      rules.map(({ forbids }) => forbids),
      count,
    ),
    unmetAtFirst: Uint16Array.from(rules, ({ needs }) => new Set(needs).size),
  };
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

  /** The initial state. */
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
