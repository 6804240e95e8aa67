// Games as a domain of the one tool `act`: so that whatever handles domains can record them, serve them, judge dreams by them.
// A game is read when a task of it is first played.

import { LRUCache } from 'lru-cache';
import { contentHash } from '../../core/hash.js';
import type { JsonObject } from '../../core/json.js';
import { originOf } from '../state/operations.js';
import type {
  CheckResult,
  EpisodeEnd,
  Scene,
  ToolOutcome,
  ToolRules,
  ToolsDomain,
  ToolsTask,
} from '../tools/domain.js';
import type { ToolCall } from '../tools/message.js';
import type { Operation } from '../tools/prediction.js';
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

export interface GameEntry {
  readonly id: string;
  /** Games made from one another share it; default: the id. */
  readonly family?: string;
  readonly split?: ToolsTask['split'];
  readonly tags?: readonly string[];
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

const POLICY =
  'You play a text game. Call act with one command each turn and read what happens. A command that cannot be carried out changes nothing.';

/** Changes whenever the same command in the same game could be answered otherwise. */
const RULES_VERSION = '1';

/** Games kept worked out; one takes a few megabytes. */
const GAMES_KEPT = 64;

/** The domain; its tasks are the games. */
export function gamesDomain({ id, games, version, policy = POLICY }: GamesDomainOptions): ToolsDomain {
  const rules = new GameRules(games, `${id} games ${RULES_VERSION}`);
  const content = { id, policy, version, rules: rules.version, games: games.map((game) => game.id) };
  return {
    id,
    version: contentHash(content),
    policy,
    tools: [
      {
        name: 'act',
        description: 'Says one command of the game.',
        parameters: {
          type: 'object',
          properties: { text: { type: 'string', description: 'the command' } },
          required: ['text'],
          additionalProperties: false,
        },
        kind: 'write',
      },
    ],
    stateSchema: GAME_STATE_SCHEMA,
    initialState: deepFreeze(NO_GAME),
    tasks: games.map((game) => taskOf(game, rules)),
    rules,
    close: () => rules.close(),
  };
}

const GOAL_CHECK = 'goal';

/** Everything that takes the game itself is worked out when it is read, and once. */
function taskOf(entry: GameEntry, rules: GameRules): ToolsTask {
  const { id, family = id, split, tags } = entry;
  let begun: Begun | undefined;
  const begin = () => {
    begun ??= rules.begin(id);
    return begun;
  };
  return {
    id,
    family,
    ...(split !== undefined && { split }),
    ...(tags !== undefined && { tags }),
    user: {
      get opening() {
        return begin().opening;
      },
      get goal() {
        return begin().goal;
      },
    },
    get initialOperations() {
      return begin().operations;
    },
    verifier: { checks: [GOAL_CHECK] },
    get reference() {
      return begin().reference;
    },
  };
}

interface Begun {
  readonly opening: string;
  readonly goal: string;
  readonly operations: readonly Operation[];
  readonly reference?: ToolsTask['reference'];
}

interface OpenGame {
  readonly play: GamePlay;
  readonly form: StateForm;
  readonly scene: Scene;
}

class GameRules implements ToolRules {
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
    const calls = file.walkthrough?.map((text) => ({ name: 'act', arguments: { text } }));
    return {
      opening,
      goal: file.goal ?? 'Reach the goal of the game.',
      operations: set.map(([key, value]) => ({ op: 'replace', path: `/${key}`, value })),
      ...(calls !== undefined && { reference: { calls } }),
    };
  }

  execute(state: JsonObject, { arguments: { text } }: ToolCall): ToolOutcome {
    const { play, form, world } = this.at(state);
    const observation = play.step(String(text));
    const after = play.save();
    const operations = form.operations(world, after);
    this.worlds.set(operations, after);
    return { operations, observation, isError: observation === NOTHING_HAPPENS };
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
