// Tries of ALFWorld's actions with all their PDDL arguments, as transitions that operators are induced from. In a game an explorer
// follows the walkthrough, or goes its own way: of what can be done it draws an action, the less often it was carried out before the
// likelier (1 / root of 1 + times), then objects for it, evenly. In half of the walkthroughs it mistakes a thing to be taken for another
// in the same place, and goes on with that. Half of its tries, and a fifth on the way of a walkthrough, are guesses that mostly fail: an action, drawn alike, with objects of the right types drawn evenly (1 in 10) or such as facts link with one another
// (6), or what can be done with one object exchanged (3).

import type { Rng } from '../src/core/rng.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { Scene } from '../src/env/tools/domain.js';
import type { Transition } from '../src/games/operators/tries.js';
import { World } from '../src/games/pddl/ground.js';
import type { Typed } from '../src/games/pddl/read-task.js';
import { type GameState, StateForm, type TextGame } from '../src/games/pddl/text-game.js';
import { Situation } from '../src/worldmodel/situation.js';

export interface Schema {
  readonly name: string;
  readonly parameters: readonly Typed[];
}

interface Instance {
  readonly schema: Schema;
  readonly objects: readonly string[];
}

const GUESSES = { alone: 0.5, following: 0.2 };
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
    /** How often each action was carried out before. */
    private readonly counts: Map<string, number>,
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
    const mistakes = this.rng.uniform() < 0.5 ? new Map<string, string>() : undefined;
    for (let i = 0; i < count; i++) {
      const isGuess = this.rng.uniform() < (left.length > 0 ? GUESSES.following : GUESSES.alone);
      yield this.try(isGuess ? this.guess() : (this.told(left, mistakes) ?? this.possible()));
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
      this.counts.set(instance.schema.name, (this.counts.get(instance.schema.name) ?? 0) + 1);
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

  /** What the walkthrough's next command does, with what was mistaken for what; nothing once it is at its end. */
  private told(left: string[], mistakes?: Map<string, string>): Instance | undefined {
    const operators = this.game.operatorsOf.get(left.shift() ?? '');
    if (operators === undefined) return undefined;
    const { schema, objects } = this.instanceOf(operators.find((one) => this.world.canApply(one)) ?? operators[0]);
    if (mistakes?.size === 0 && schema.name === 'pickupobject') this.mistake(objects, mistakes);
    return { schema, objects: objects.map((object) => mistakes?.get(object) ?? object) };
  }

  /** Takes the thing, and its type, for those of another in the same receptacle, if there is one. */
  private mistake(objects: readonly string[], mistakes: Map<string, string>): void {
    const at = new Situation(this.scene, this.state.facts);
    const [, , thing, receptacle] = objects;
    const others = at.about('inreceptacle', 1, receptacle).filter(([one]) => one !== thing);
    if (others.length === 0) return;
    const [other] = this.pick(others);
    const [own, its] = [thing, other].map((one) => at.about('objecttype', 0, one)[0]?.[1]);
    mistakes.set(thing, other);
    if (own !== undefined && its !== undefined) mistakes.set(own, its);
  }

  private possible(): Instance {
    const operators = [...this.world.applicable()].sort((a, b) => a - b);
    const actions = [...new Set(operators.map((one) => this.game.plan.task.operators[one].action))];
    const action = this.rarely(actions.map((one) => this.schemas[one]));
    const own = operators.filter((one) => this.schemas[this.game.plan.task.operators[one].action] === action);
    return this.instanceOf(this.pick(own));
  }

  private guess(): Instance {
    const way = this.rng.int(10);
    if (way < 7) return this.filled(this.rarely(this.schemas), way === 0 ? 0 : LINKED);
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

  /** An action, likelier the less often it was carried out. */
  private rarely(schemas: readonly Schema[]): Schema {
    const weights = schemas.map(({ name }) => 1 / Math.sqrt(1 + (this.counts.get(name) ?? 0)));
    let left = this.rng.uniform() * weights.reduce((sum, weight) => sum + weight, 0);
    const found = schemas.find((_, i) => {
      left -= weights[i];
      return left < 0;
    });
    return found ?? schemas[schemas.length - 1];
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
