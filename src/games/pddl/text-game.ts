// A game of text: a planning task with the grammar of what it says. A game is worked out once and shared; each play of it holds
// only what changes.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type JsonObject, sha256 } from '../../core/canonical-json.js';
import { describeIssues, type ReverieError, reverieError } from '../../core/errors.js';
import { readText } from '../../core/files.js';
import { originOf } from '../../env/state/operations.js';
import type { CheckResult, DomainEntry, EpisodeEnd, Scene, ToolOutcome, ToolsDomain } from '../../env/tools/domain.js';
import type { ToolCall } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import { type ActGame, type ActRules, actDomain, type Begun } from '../../env/tools/rules-responder.js';
import {
  type ActionText,
  type Bindings,
  type Entity,
  Librarian,
  type Rhs,
  readGrammar,
  Teller,
  type TextGrammar,
} from './grammar.js';
import { groundTask, type Operator, planWorld, World, type WorldPlan, type WorldState } from './ground.js';
import { addTo, type PddlDomain, pddlInvalid, readDomain, readProblem } from './read-task.js';

/** The three texts of a game, as PDDL and the grammar file have them. */
export interface GameSource {
  readonly domain: string;
  readonly problem: string;
  readonly grammar: string;
}

interface GameOptions {
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

  /** @throws PDDL_UNFIT */
  constructor({ domain, problem, grammar }: GameSource, { what, names }: GameOptions) {
    this.hash = sha256(JSON.stringify([domain, problem, grammar]));
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
    const operatorsOf = new Map<string, number[]>();
    written.forEach((command, operator) => {
      addTo(operatorsOf, command, operator);
    });
    this.operatorsOf = operatorsOf;
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
    const isLoose = template.some((one) => {
      if (one.kind !== 'each') return one.kind === 'rule';
      return one.symbol.kind === 'rule' || one.given?.some(({ predicate }) => changing.has(predicate));
    });
    if (!isLoose) return;
    throw pddlInvalid(`${what}, grammar`, `the template of action "${actions[i].name}" depends on facts that change`);
  });
}

/** Predicates that some text asks for as `not_...`. */
function deniedPredicates({ rules, actions }: TextGrammar): Set<string> {
  const all = [...rules.values()].flat();
  const rhs = [...all.map((rule) => rule.rhs), ...[...actions.values()].map(({ feedback }) => feedback)];
  const given = rhs.flatMap((symbols) => symbols.flatMap((one) => (one.kind === 'each' ? (one.given ?? []) : [])));
  const asked = [...given, ...all.flatMap(({ condition }) => condition ?? [])];
  return new Set(asked.flatMap(({ predicate, denied }) => (denied ? [predicate] : [])));
}

/** `facts.inreceptacle["apple 1, fridge 1"]` is true or absent; `not_...` are facts made false that the texts can tell of. */
export interface GameState extends JsonObject {
  readonly game: string;
  /** SHA-256 of the game's texts: the state belongs to no other. */
  readonly hash: string;
  readonly facts: { readonly [predicate: string]: { readonly [objects: string]: true } };
}

const GAME_STATE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    game: { type: 'string' },
    hash: { type: 'string' },
    facts: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { const: true } },
    },
  },
  required: ['game', 'hash', 'facts'],
  additionalProperties: false,
};

const NO_GAME: GameState = Object.freeze({ game: '', hash: '', facts: Object.freeze({}) });

/** A bit of a world's state, and where it stands in the JSON. */
interface Place {
  readonly atom: number;
  readonly denied: boolean;
  readonly predicate: string;
  readonly objects: string;
}

/** Translates between the states of one game's worlds and JSON. */
export class StateForm {
  /** What states call objects, by their number. */
  readonly names: readonly string[];
  private readonly places: readonly Place[];
  private readonly byName: ReadonlyMap<string, ReadonlyMap<string, Place>>;

  constructor(
    private readonly id: string,
    private readonly game: TextGame,
  ) {
    const { predicates, args } = game.plan.task;
    const names = distinctNames(game);
    this.names = names;
    const place = (atom: number, denied: boolean): Place => ({
      atom,
      denied,
      predicate: `${denied ? 'not_' : ''}${predicates[atom]}`,
      objects: args[atom].map((object) => names[object]).join(', '),
    });
    this.places = [
      ...predicates.map((_, atom) => place(atom, false)),
      ...game.remembered.map((atom) => place(atom, true)),
    ];
    const byName = new Map<string, Map<string, Place>>();
    for (const one of this.places) {
      const known = byName.get(one.predicate) ?? new Map();
      byName.set(one.predicate, known.set(one.objects, one));
    }
    this.byName = byName;
  }

  /** What there is in the game, in the order of its objects' ids, and what no action changes. */
  scene(): Scene {
    const { constant, universe } = this.game.plan.task;
    const { names } = this;
    const facts: Record<string, Record<string, true>> = {};
    for (const { predicate, args } of constant) {
      facts[predicate] ??= {};
      facts[predicate][args.map((object) => names[object]).join(', ')] = true;
    }
    const order = [...names.keys()].sort((a, b) => (universe.names[a] < universe.names[b] ? -1 : 1));
    return { objects: order.map((i) => ({ name: names[i], type: universe.types[i] })), facts };
  }

  write(state: WorldState): GameState {
    const facts: Record<string, Record<string, true>> = {};
    for (const predicate of this.byName.keys()) facts[predicate] = {};
    for (const place of this.places) if (bit(state, place) === 1) facts[place.predicate][place.objects] = true;
    return { game: this.id, hash: this.game.hash, facts };
  }

  /** Facts that the game does not know are passed over. @throws GAME_CHANGED if the state belongs to other texts */
  read({ hash, facts }: GameState): WorldState {
    if (hash !== this.game.hash) throw reverieError('GAME_CHANGED', { game: this.id, hash, found: this.game.hash });
    const count = this.game.plan.task.predicates.length;
    const state = { truth: new Uint8Array(count), denied: new Uint8Array(count) };
    for (const [predicate, all] of Object.entries(facts)) {
      const known = this.byName.get(predicate);
      for (const objects of Object.keys(all)) {
        const place = known?.get(objects);
        if (place !== undefined) (place.denied ? state.denied : state.truth)[place.atom] = 1;
      }
    }
    return state;
  }

  /** What changes one state into the other. */
  operations(before: WorldState, after: WorldState): Operation[] {
    return this.places.flatMap((place): Operation[] => {
      const is = bit(after, place);
      if (bit(before, place) === is) return [];
      const path = `/facts/${escaped(place.predicate)}/${escaped(place.objects)}`;
      return [is === 1 ? { op: 'add', path, value: true } : { op: 'remove', path }];
    });
  }
}

function bit({ truth, denied }: WorldState, place: Place): number {
  return (place.denied ? denied : truth)[place.atom];
}

/** Names as texts have them; an object that shares its name with another goes by its id. */
function distinctNames({ entities }: TextGame): string[] {
  const times = new Map<string, number>();
  const plain = entities.map(({ name }) => name.trim());
  for (const name of plain) times.set(name, (times.get(name) ?? 0) + 1);
  return entities.map(({ id }, i) => (times.get(plain[i]) === 1 ? plain[i] : id));
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

const GAME_FILE = '.tw-pddl';
const DOMAIN = 'domain.pddl';
const GRAMMAR = 'grammar.twl';

/** What a game file holds; other keys are passed over. */
const gameFileSchema = z.object({
  pddl_domain: z.string(),
  pddl_problem: z.string(),
  grammar: z.string(),
  walkthrough: z.array(z.string()).nullish(),
});

/** `name`: its place below the folder, without the ending. */
export interface FoundGame {
  readonly name: string;
  /** Absolute paths of all files that decide what it is; the first is its own. */
  readonly files: readonly string[];
}

/**
 * All games below a folder, sorted by name.
 * @throws ENV_UNUSABLE if there is no such folder, or no game in it
 */
export function findGames(folder: string): FoundGame[] {
  const root = path.resolve(folder);
  if (!existsSync(root)) throw gamesNotFound(root, 'there is no such folder');
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const shared = [DOMAIN, GRAMMAR].map((file) => path.join(root, file));
  const isOwnFolder = names.includes(DOMAIN) && names.includes(GRAMMAR);
  const found = names.flatMap((name): FoundGame[] => {
    const file = path.join(root, name);
    const bare = name.slice(0, -path.extname(name).length).replaceAll(path.sep, '/');
    if (name.endsWith(GAME_FILE)) return [{ name: bare, files: [file] }];
    const isProblem = isOwnFolder && name.endsWith('.pddl') && name !== DOMAIN;
    return isProblem ? [{ name: bare, files: [file, ...shared] }] : [];
  });
  const lack = `it holds no ${GAME_FILE} file, nor ${DOMAIN} with ${GRAMMAR} and problems`;
  if (found.length === 0) throw gamesNotFound(root, lack);
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** ENV_UNUSABLE, for callers with a place of their own for games. */
export function gamesNotFound(folder: string, problem: string): ReverieError {
  return reverieError('ENV_UNUSABLE', {
    problem: `No games are in "${folder}": ${problem}.`,
    hint: 'Name the folder that the games lie in; docs/text-games.md says where ALFWorld keeps its own, and how to lay out yours.',
  });
}

/** @throws FILE_INVALID if it cannot be read, is cut off, or holds something else */
export function readGame({ files: [file, domain, grammar] }: FoundGame): GameFile {
  if (domain !== undefined && grammar !== undefined)
    return { domain: textOf(domain), problem: textOf(file), grammar: textOf(grammar) };
  let json: unknown;
  try {
    json = JSON.parse(textOf(file));
  } catch (cause) {
    throw noGameFile(file, `it is no whole JSON: ${(cause as Error).message}`, cause);
  }
  const read = gameFileSchema.safeParse(json);
  if (!read.success) throw noGameFile(file, describeIssues(read.error));
  const { pddl_domain, pddl_problem, walkthrough, grammar: texts } = read.data;
  return { domain: pddl_domain, problem: pddl_problem, grammar: texts, ...(walkthrough && { walkthrough }) };
}

/** SHA-256 of the games' names and of all that their files hold. */
export function gamesHash(games: readonly FoundGame[]): string {
  return sha256(...games.flatMap(({ name, files }) => [name, ...files.map((file) => sha256(readFileSync(file)))]));
}

function noGameFile(file: string, problem: string, cause?: unknown): ReverieError {
  const hint =
    'Get the file from where it came once more if it was cut off; docs/text-games.md says what a game file holds.';
  return reverieError('FILE_INVALID', { problem: `"${file}" is no game file: ${problem}.`, hint }, cause);
}

function textOf(file: string): string {
  try {
    return readText(file);
  } catch (cause) {
    throw noGameFile(file, (cause as Error).message, cause);
  }
}

const settings = z.strictObject({
  folder: z.string().min(1).describe('folder of the games, relative to the scenario'),
});

export const textGames: DomainEntry = {
  name: 'text-games',
  summary: 'Games of PDDL and a text grammar, in a folder of their own.',
  schema: settings,
  files: ({ folder: games = '.' }, folder) => {
    try {
      return [...new Set(findGames(path.resolve(folder, games as string)).flatMap(({ files }) => files))];
    } catch {
      // What is missing is reported when the games are played.
      return [];
    }
  },
  make: async () => {
    return async (given, folder) => {
      const found = findGames(path.resolve(folder, settings.parse(given).folder));
      const games = found.map((game) => ({ id: game.name, read: () => readGame(game) }));
      return gamesDomain({ id: 'text-games', games, version: gamesHash(found) });
    };
  },
};

export interface GameFile extends GameSource {
  /** Commands that win it, where they are known. */
  readonly walkthrough?: readonly string[];
  /** What is to be done, in words. */
  readonly goal?: string;
  readonly names?: GameOptions['names'];
}

export interface GameEntry extends ActGame {
  /** Reads the file, each time it is asked. @throws a catalogue error naming it */
  readonly read: () => GameFile;
}

export interface GamesDomainOptions {
  readonly id: string;
  readonly games: readonly GameEntry[];
  /** SHA-256 or the like of all that decides what the games are. */
  readonly version: string;
  /** What the agent is told before the game begins. */
  readonly policy?: string;
}

/** Changes whenever the same command in the same game could be answered otherwise. */
const RULES_VERSION = '1';

/** Games kept worked out, about 1.7 MB each: what a training and its evaluations go through in turn, and come back to. */
const GAMES_KEPT = 192;

export function gamesDomain({ id, games, version, policy }: GamesDomainOptions): ToolsDomain {
  const rules = new GameRules(games, `${id} games ${RULES_VERSION}`);
  return actDomain({ id, games, version, policy, rules, stateSchema: GAME_STATE_SCHEMA, initialState: NO_GAME });
}

interface OpenGame {
  readonly play: GamePlay;
  readonly form: StateForm;
  readonly scene: Scene;
}

class GameRules implements ActRules {
  readonly tools: ReadonlySet<string> = new Set(['act']);
  readonly refusesItself = true;
  private readonly entries: ReadonlyMap<string, GameEntry>;
  private readonly open = new LRUCache<string, OpenGame>({ max: GAMES_KEPT });
  /** Worlds by their state, and by the operations that lead to it. */
  private readonly worlds = new WeakMap<object, WorldState>();

  constructor(
    games: readonly GameEntry[],
    readonly version: string,
  ) {
    this.entries = new Map(games.map((game) => [game.id, game]));
  }

  begin(id: string): Begun {
    const file = this.entries.get(id)!.read();
    const { play, form } = this.opened(id, file);
    const opening = play.reset();
    const { game, hash, facts } = form.write(play.save());
    const set = Object.entries({ game, hash, facts });
    return {
      opening,
      goal: file.goal ?? 'Reach the goal of the game.',
      operations: set.map(([key, value]) => ({ op: 'replace', path: `/${key}`, value })),
    };
  }

  walkthrough(id: string): readonly string[] | undefined {
    return this.entries.get(id)!.read().walkthrough;
  }

  execute(state: JsonObject, { arguments: { text } }: ToolCall): ToolOutcome {
    const { play, form, world } = this.at(state);
    const observation = play.step(String(text));
    const after = play.save();
    const operations = form.operations(world, after);
    this.worlds.set(operations, after);
    return { operations, observation, isError: observation === NOTHING_HAPPENS, terminated: play.isWon };
  }

  admissible(state: JsonObject): readonly string[] {
    return this.at(state).play.admissible();
  }

  commands(state: JsonObject): readonly string[] {
    return this.opened((state as GameState).game).play.game.commands;
  }

  scene(state: JsonObject): Scene {
    return this.opened((state as GameState).game).scene;
  }

  preconditions(): readonly string[] {
    return [];
  }

  invariants(): readonly string[] {
    return [];
  }

  check(name: string, { finalState }: EpisodeEnd): CheckResult {
    const passed = this.at(finalState).play.isWon;
    return { name, passed, reason: passed ? 'the goal of the game is reached' : 'the goal of the game is not reached' };
  }

  close(): void {
    this.open.clear();
  }

  /** The game of a state, standing there. */
  private at(state: JsonObject): OpenGame & { readonly world: WorldState } {
    const given = state as GameState;
    const { play, form, scene } = this.opened(given.game);
    let world = this.worlds.get(state);
    if (world === undefined) {
      const origin = originOf(state);
      world = (origin && this.worlds.get(origin.operations)) ?? form.read(given);
      if (Object.isFrozen(state)) this.worlds.set(state, world);
    }
    play.load(world);
    return { play, form, scene, world };
  }

  private opened(id: string, file?: GameFile): OpenGame {
    let open = this.open.get(id);
    if (open === undefined) {
      const { names, ...source } = file ?? this.entries.get(id)!.read();
      const game = new TextGame(source, { what: `Game "${id}"`, ...(names && { names }) });
      const form = new StateForm(id, game);
      open = { play: new GamePlay(game), form, scene: form.scene() };
      this.open.set(id, open);
    }
    return open;
  }
}
