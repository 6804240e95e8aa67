// Games on disk: TextWorld's game files for PDDL (`.tw-pddl`, JSON), and folders of PDDL as one writes it by hand: domain.pddl,
// grammar.twl, and a problem in each further `.pddl` file.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type JsonObject, sha256 } from '../../core/canonical-json.js';
import { type ReverieError, reverieError } from '../../core/errors.js';
import { originOf } from '../../env/state/operations.js';
import { type ActGame, type ActRules, actDomain, type Begun } from '../../env/tools/act-domain.js';
import type { CheckResult, DomainEntry, EpisodeEnd, Scene, ToolOutcome, ToolsDomain } from '../../env/tools/domain.js';
import type { ToolCall } from '../../env/tools/message.js';
import {
  GAME_STATE_SCHEMA,
  type GameOptions,
  GamePlay,
  type GameSource,
  type GameState,
  NO_GAME,
  NOTHING_HAPPENS,
  StateForm,
  TextGame,
} from './text-game.js';
import type { WorldState } from './world.js';

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
  if (domain !== undefined && grammar !== undefined) {
    return { domain: textOf(domain), problem: textOf(file), grammar: textOf(grammar) };
  }
  let json: unknown;
  try {
    json = JSON.parse(textOf(file));
  } catch (cause) {
    throw noGameFile(file, `it is no whole JSON: ${(cause as Error).message}`, cause);
  }
  const read = gameFileSchema.safeParse(json);
  if (!read.success) {
    const [{ path: keys, message }] = read.error.issues;
    throw noGameFile(file, `"${keys.join('.')}": ${message}`);
  }
  const { pddl_domain, pddl_problem, walkthrough } = read.data;
  const texts = { domain: pddl_domain, problem: pddl_problem, grammar: read.data.grammar };
  return walkthrough == null ? texts : { ...texts, walkthrough };
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
    return readFileSync(file, 'utf8');
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

/** What a game's file holds. */
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

/** The domain; its tasks are the games. */
export function gamesDomain({ id, games, version, policy }: GamesDomainOptions): ToolsDomain {
  const rules = new GameRules(games, `${id} games ${RULES_VERSION}`);
  const initialState = deepFreeze(NO_GAME);
  return actDomain({ id, games, version, policy, rules, stateSchema: GAME_STATE_SCHEMA, initialState });
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

  /** Commands that do something in this state. */
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

function deepFreeze(state: GameState): GameState {
  Object.freeze(state.facts);
  return Object.freeze(state);
}
