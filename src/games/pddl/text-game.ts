// A game of text: a planning task with the grammar of what it says. A game is worked out once and shared; each play of it holds
// only what changes.

import { sha256 } from '../../core/canonical-json.js';
import { groundTask, type Operator } from './ground.js';
import { pddlInvalid } from './lists.js';
import { readDomain, readProblem } from './read-task.js';
import type { PddlDomain } from './task.js';
import { type ActionText, readGrammar, type TextGrammar } from './text/grammar-file.js';
import { type Bindings, Librarian } from './text/query.js';
import type { Rhs } from './text/symbols.js';
import { type Entity, Teller } from './text/teller.js';
import { planWorld, World, type WorldPlan, type WorldState } from './world.js';

/** The three texts of a game, as PDDL and the grammar file have them. */
export interface GameSource {
  readonly domain: string;
  readonly problem: string;
  readonly grammar: string;
}

export interface GameOptions {
  /** Names the game in errors. */
  readonly what: string;
  /** Names of objects, given the ids of all that the initial facts speak of; what has none is called by its id. */
  readonly names?: (ids: readonly string[]) => ReadonlyMap<string, string>;
}

/** What a command that is not admissible is answered, as TextWorld answers it. */
export const NOTHING_HAPPENS = 'Nothing happens.';

const INTRO: Rhs = [{ kind: 'rule', name: 'intro' }];

export class TextGame {
  /** SHA-256 (hex) of the three texts. */
  readonly hash: string;
  /** SHA-256 (hex) of the domain alone. */
  readonly domainHash: string;
  readonly plan: WorldPlan;
  /** By number of the object. */
  readonly entities: readonly Entity[];
  /** All commands there are, sorted. */
  readonly commands: readonly string[];
  /** Place in `commands` of each operator's. */
  readonly commandOf: Uint32Array;
  /** Operators by their command, in the order of actions and objects. */
  readonly operatorsOf: ReadonlyMap<string, readonly number[]>;
  /** Atoms whose denial a text may ask for: it is part of the state. */
  readonly remembered: readonly number[];
  private readonly teller: Teller;
  private readonly texts: readonly ActionText[];
  private readonly parameters: readonly (readonly string[])[];

  /** @throws PDDL_UNFIT, PDDL_UNFIT */
  constructor({ domain, problem, grammar }: GameSource, { what, names }: GameOptions) {
    this.hash = sha256(JSON.stringify([domain, problem, grammar]));
    this.domainHash = sha256(domain);
    const read = readDomain(domain, `${what}, domain`);
    const text = readGrammar(grammar, `${what}, grammar`);
    const task = groundTask(read, readProblem(problem, read, `${what}, problem`), what);
    this.plan = planWorld(task);
    this.entities = entitiesOf(this.plan, names);
    this.texts = textsOf(read, text, what);
    this.parameters = read.actions.map(({ parameters }) => parameters.map(keyOf));
    this.teller = new Teller(text, new Librarian(this.plan, read.types), this.entities, what);
    const changing = new Set(task.predicates);
    requireFixedCommands(read, this.texts, changing, what);
    const written = this.writeCommands();
    this.commands = [...new Set(written)].sort();
    const places = new Map(this.commands.map((command, i) => [command, i]));
    this.commandOf = Uint32Array.from(written, (command) => places.get(command)!);
    this.operatorsOf = operatorsByCommand(written);
    const asked = deniedPredicates(text);
    this.remembered = task.predicates.flatMap((predicate, atom) => (asked.has(predicate) ? [atom] : []));
  }

  intro(world: WorldState): string {
    return this.teller.tell(INTRO, world, NOTHING);
  }

  /** What is answered to an operator that has just been applied. */
  feedback(operator: number, world: WorldState): string {
    const { action, args } = this.plan.task.operators[operator];
    return this.teller.tell(this.texts[action].feedback, world, this.bindings(action, args));
  }

  private writeCommands(): string[] {
    const world = new World(this.plan);
    const written = new Map<string, string>();
    return this.plan.task.operators.map(({ action, args }) => {
      const key = `${action} ${args.join(' ')}`;
      let command = written.get(key);
      if (command === undefined) {
        command = this.teller.tell(this.texts[action].template, world, this.bindings(action, args));
        written.set(key, command);
      }
      return command;
    });
  }

  private bindings(action: number, args: Operator['args']): Bindings {
    return new Map(this.parameters[action].map((key, i) => [key, args[i]]));
  }
}

const NOTHING: Bindings = new Map();

/** One play of a game. */
export class GamePlay {
  private readonly world: World;
  private readonly start: WorldState;
  private known: readonly string[] | undefined;

  constructor(readonly game: TextGame) {
    this.world = new World(game.plan);
    this.start = this.world.save();
  }

  get isWon(): boolean {
    return this.world.isGoal;
  }

  /** The largest share of a goal's facts that are true, in [0, 1]. */
  get progress(): number {
    const { truth } = this.world;
    const met = (atoms: readonly number[], value: number) => atoms.filter((atom) => truth[atom] === value).length;
    const shares = this.game.plan.task.goals.map(({ needs, forbids }) => {
      const all = needs.length + forbids.length;
      return all === 0 ? 1 : (met(needs, 1) + met(forbids, 0)) / all;
    });
    return Math.max(0, ...shares);
  }

  /** Back to the beginning. Answers the first text. */
  reset(): string {
    this.load(this.start);
    return this.game.intro(this.world);
  }

  /** Commands that do something, each once, sorted by their characters. */
  admissible(): readonly string[] {
    if (this.known === undefined) {
      const { commandOf, commands } = this.game;
      const operators = this.world.applicable();
      const places = new Uint32Array(operators.length);
      for (let i = 0; i < operators.length; i++) places[i] = commandOf[operators[i]];
      places.sort();
      const known: string[] = [];
      for (let i = 0; i < places.length; i++)
        if (i === 0 || places[i] !== places[i - 1]) known.push(commands[places[i]]);
      this.known = known;
    }
    return this.known;
  }

  /** Does what the command says, and answers the text; one that is not admissible changes nothing. */
  step(command: string): string {
    const operators = this.game.operatorsOf.get(command.trim());
    const operator = operators?.find((one) => this.world.canApply(one));
    if (operator === undefined) return NOTHING_HAPPENS;
    this.world.apply(operator);
    this.known = undefined;
    return this.game.feedback(operator, this.world);
  }

  save(): WorldState {
    return this.world.save();
  }

  load(state: WorldState): void {
    this.world.load(state);
    this.known = undefined;
  }

  /** Atoms that are true, and those that were made false where that can be told; sorted, in ids of objects. */
  facts(): string[] {
    const { remembered } = this.game;
    const { predicates } = this.game.plan.task;
    const facts: string[] = [];
    for (let atom = 0; atom < predicates.length; atom++)
      if (this.world.truth[atom] === 1) facts.push(this.nameOf(atom));
    for (const atom of remembered) if (this.world.denied[atom] === 1) facts.push(`not_${this.nameOf(atom)}`);
    return facts;
  }

  /** SHA-256 (hex) of the game and of all that can change: equal exactly where the same may follow. */
  stateHash(): string {
    return sha256(this.game.hash, '\n', this.facts().join('\n'));
  }

  private nameOf(atom: number): string {
    const { predicates, args, universe } = this.game.plan.task;
    return `${predicates[atom]} ${args[atom].map((object) => universe.names[object]).join(' ')}`;
  }
}

function keyOf({ name, type }: { readonly name: string; readonly type: string }): string {
  return `${name.slice(1)}:${type}`;
}

function entitiesOf({ task }: WorldPlan, names: GameOptions['names']): Entity[] {
  const { universe } = task;
  const spoken = new Set([...task.constant.flatMap(({ args }) => args), ...task.initial.flatMap((i) => task.args[i])]);
  const given = names?.([...spoken].map((object) => universe.names[object]));
  return universe.names.map((id, i) => ({ id, type: universe.types[i], name: given?.get(id) ?? id }));
}

function textsOf({ actions }: PddlDomain, { actions: texts }: TextGrammar, what: string): ActionText[] {
  return actions.map(({ name }) => {
    const text = texts.get(name);
    if (text === undefined) throw pddlInvalid(`${what}, grammar`, `it has no action "${name}", which the domain has`);
    return text;
  });
}

/** Commands are written once a game, so they may not depend on what changes in it. */
function requireFixedCommands(
  { actions }: PddlDomain,
  texts: readonly ActionText[],
  changing: ReadonlySet<string>,
  what: string,
): void {
  texts.forEach(({ template }, i) => {
    const loose = template.find(
      (symbol) =>
        symbol.kind === 'rule' ||
        (symbol.kind === 'each' &&
          (symbol.symbol.kind === 'rule' || symbol.given?.some(({ predicate }) => changing.has(predicate)))),
    );
    if (loose === undefined) return;
    const problem = `the template of action "${actions[i].name}" depends on facts that change`;
    throw pddlInvalid(`${what}, grammar`, problem);
  });
}

function operatorsByCommand(written: readonly string[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  written.forEach((command, operator) => {
    const list = found.get(command);
    if (list === undefined) found.set(command, [operator]);
    else list.push(operator);
  });
  return found;
}

/** Predicates that some text asks for as `not_...`. */
function deniedPredicates({ rules, actions }: TextGrammar): Set<string> {
  const all = [...rules.values()].flat();
  const rhs = [...all.map((rule) => rule.rhs), ...[...actions.values()].map(({ feedback }) => feedback)];
  const given = rhs.flatMap((symbols) => symbols.flatMap((one) => (one.kind === 'each' ? (one.given ?? []) : [])));
  const asked = [...given, ...all.flatMap(({ condition }) => condition ?? [])];
  return new Set(asked.flatMap(({ predicate, denied }) => (denied ? [predicate] : [])));
}
