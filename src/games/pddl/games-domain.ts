// Games as a domain of the one tool `act`: so that whatever handles domains can record them, serve them, judge dreams by them.
// A game is read when a task of it is first played.

import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { contentHash } from '../../core/canonical-json.js';
import { nearest, reverieError } from '../../core/errors.js';
import { originOf } from '../../env/state/operations.js';
import { type ActGame, type ActRules, actDomain, type Begun } from '../../env/tools/act-domain.js';
import type { CheckResult, EpisodeEnd, Scene, ToolOutcome, ToolsDomain } from '../../env/tools/domain.js';
import type { ToolCall } from '../../env/tools/message.js';
import { GAME_STATE_SCHEMA, type GameState, NO_GAME, StateForm } from './game-state.js';
import { type GameOptions, GamePlay, type GameSource, NOTHING_HAPPENS, TextGame } from './text-game.js';
import type { WorldState } from './world.js';

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
  const carry = (tasks: readonly string[]) => carriedGames({ id, games, policy }, tasks) as unknown as Json;
  return actDomain({ id, games, version, policy, rules, stateSchema: GAME_STATE_SCHEMA, initialState, carry });
}

/** Games as plain JSON: what they are made of, and nothing that is read from elsewhere. */
export interface CarriedGames {
  readonly id: string;
  readonly policy?: string;
  /** Each text once: games of one world share most of them. */
  readonly texts: readonly string[];
  readonly games: readonly CarriedGame[];
}

interface CarriedGame extends ActGame {
  readonly goal?: string;
  /** Places in `texts`. */
  readonly source: Readonly<Record<keyof GameSource, number>>;
  /** Names of objects that are not called by their ids. */
  readonly names: readonly (readonly [id: string, name: string])[];
}

function carriedGames(
  { id, games, policy }: Pick<GamesDomainOptions, 'id' | 'games' | 'policy'>,
  tasks: readonly string[],
): CarriedGames {
  const texts = new Map<string, number>();
  const place = (text: string) => {
    if (!texts.has(text)) texts.set(text, texts.size);
    return texts.get(text)!;
  };
  const carried = tasks.map((task): CarriedGame => {
    const found = games.find((game) => game.id === task);
    if (found === undefined) {
      const known = games.map((game) => game.id);
      throw reverieError('TASK_UNKNOWN', { id, task, count: known.length, nearest: nearest(task, known) ?? 'none' });
    }
    const { read, ...about } = found;
    const { names, goal, domain, problem, grammar } = read();
    const { entities } = new TextGame(
      { domain, problem, grammar },
      { what: `Game "${task}"`, ...(names && { names }) },
    );
    return {
      ...about,
      ...(goal !== undefined && { goal }),
      source: { domain: place(domain), problem: place(problem), grammar: place(grammar) },
      names: entities.flatMap((one) => (one.name === one.id ? [] : [[one.id, one.name] as const])),
    };
  });
  return { id, ...(policy !== undefined && { policy }), texts: [...texts.keys()], games: carried };
}

/** The domain that games were carried from, as far as they were. */
export function carriedDomain(carried: CarriedGames): ToolsDomain {
  const { id, policy, texts, games } = carried;
  const entries = games.map(({ source: { domain, problem, grammar }, names, goal, ...about }): GameEntry => {
    const source = { domain: texts[domain], problem: texts[problem], grammar: texts[grammar] };
    const called = new Map(names);
    return { ...about, read: () => ({ ...source, ...(goal !== undefined && { goal }), names: () => called }) };
  });
  return gamesDomain({ id, games: entries, version: contentHash(carried), ...(policy !== undefined && { policy }) });
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

  progress(state: JsonObject): number {
    return this.at(state).play.progress;
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
