// Tries of ALFWorld's actions with all their PDDL arguments, as transitions that operators are induced from. In a game an explorer
// follows the walkthrough or goes its own way: of what can be done it draws an action, then objects for it, evenly; and half of
// its tries are guesses that mostly fail: objects of the right types drawn evenly, objects that facts link with one another, or what
// can be done with one object exchanged.

import type { Rng } from '../src/core/rng.js';
import { applyOperations, type Scene, type TextGame } from '../src/env/index.js';
import { type GameState, StateForm } from '../src/env/pddl/game-state.js';
import type { Typed } from '../src/env/pddl/task.js';
import { World } from '../src/env/pddl/world.js';
import type { Transition } from '../src/synth/index.js';
import { Situation } from '../src/worldmodel/index.js';

export interface Schema {
  readonly name: string;
  readonly parameters: readonly Typed[];
}

interface Instance {
  readonly schema: Schema;
  readonly objects: readonly string[];
}

const GUESSES = 0.5;
/** Probability that an object of a guess is one that a fact links with those before it. */
const LINKED = 0.85;

export class Explorer {
  private readonly world: World;
  private readonly form: StateForm;
  private readonly scene: Scene;
  private readonly byInstance = new Map<string, number[]>();
  private readonly byType = new Map<string, string[]>();
  private state: GameState;

  /** @param schemas the domain's actions, in its order */
  constructor(
    private readonly game: TextGame,
    private readonly schemas: readonly Schema[],
    private readonly predicates: ReadonlySet<string>,
    private readonly rng: Rng,
  ) {
    this.world = new World(game.plan);
    this.form = new StateForm('game', game);
    this.scene = this.form.scene();
    for (const { name, type } of this.scene.objects) this.byType.set(type, [...(this.byType.get(type) ?? []), name]);
    game.plan.task.operators.forEach((_, operator) => {
      const key = keyOf(this.instanceOf(operator));
      this.byInstance.set(key, [...(this.byInstance.get(key) ?? []), operator]);
    });
    const { facts, ...rest } = this.form.write(this.world.save());
    const own = Object.entries(facts).filter(([predicate]) => predicates.has(predicate));
    this.state = freeze({ ...rest, facts: Object.fromEntries(own) } as GameState);
  }

  /** So many tries; a walkthrough's commands, where they are given, in between. */
  *explore(count: number, walkthrough: readonly string[] = []): Generator<Transition> {
    const left = [...walkthrough];
    for (let i = 0; i < count; i++) {
      const isGuess = this.rng.uniform() < GUESSES;
      yield this.try(isGuess ? this.guess() : (this.told(left) ?? this.possible()));
    }
  }

  private try(instance: Instance): Transition {
    const before = this.state;
    const operator = this.byInstance.get(keyOf(instance))?.find((one) => this.world.canApply(one));
    if (operator !== undefined) {
      const was = this.world.save();
      this.world.apply(operator);
      const changes = this.form.operations(was, this.world.save());
      const own = changes.filter(({ path }) => this.predicates.has(path.split('/')[2]));
      this.state = freeze(applyOperations(before, own) as GameState);
    }
    const { schema, objects } = instance;
    return {
      scene: this.scene,
      before: before.facts,
      after: this.state.facts,
      action: { name: schema.name, parameters: schema.parameters, objects },
      accepted: operator !== undefined,
    };
  }

  /** What the walkthrough's next command does; nothing once it cannot be carried out. */
  private told(left: string[]): Instance | undefined {
    const command = left.shift();
    if (command === undefined) return undefined;
    const operator = this.game.operatorsOf.get(command)?.find((one) => this.world.canApply(one));
    if (operator !== undefined) return this.instanceOf(operator);
    left.length = 0;
    return undefined;
  }

  private possible(): Instance {
    const operators = [...this.world.applicable()].sort((a, b) => a - b);
    const actions = [...new Set(operators.map((one) => this.game.plan.task.operators[one].action))];
    const action = this.pick(actions);
    return this.instanceOf(this.pick(operators.filter((one) => this.game.plan.task.operators[one].action === action)));
  }

  private guess(): Instance {
    const way = this.rng.int(3);
    if (way === 0) return this.filled(this.pick(this.schemas), 0);
    if (way === 1) return this.filled(this.pick(this.schemas), LINKED);
    const { schema, objects } = this.possible();
    if (objects.length === 0) return { schema, objects };
    const place = this.rng.int(objects.length);
    const other = this.pick(this.byType.get(schema.parameters[place].type) ?? []);
    return { schema, objects: objects.map((object, i) => (i === place ? other : object)) };
  }

  private filled(schema: Schema, linked: number): Instance {
    const at = new Situation(this.scene, this.state.facts);
    const objects: string[] = [];
    for (const { type } of schema.parameters) {
      const all = this.byType.get(type) ?? [];
      const near =
        this.rng.uniform() < linked ? all.filter((one) => objects.some((two) => areLinked(one, two, at))) : [];
      objects.push(this.pick(near.length > 0 ? near : all));
    }
    return { schema, objects };
  }

  private instanceOf(operator: number): Instance {
    const { action, args } = this.game.plan.task.operators[operator];
    return { schema: this.schemas[action], objects: args.map((object) => this.form.names[object]) };
  }

  private pick<T>(list: readonly T[]): T {
    return list[this.rng.int(list.length)];
  }
}

function keyOf({ schema, objects }: Instance): string {
  return `${schema.name} ${objects.join(', ')}`;
}

function areLinked(a: string, b: string, at: Situation): boolean {
  const predicates = [...Object.keys(at.scene.facts), ...Object.keys(at.facts)];
  return predicates.some((predicate) => at.holds(predicate, [a, b]) || at.holds(predicate, [b, a]));
}

/** Frozen states share what did not change, and are worked out once. */
function freeze(state: GameState): GameState {
  for (const table of Object.values(state.facts)) Object.freeze(table);
  Object.freeze(state.facts);
  return Object.freeze(state);
}
