// Games of text as a domain of the one tool `act`: its tasks are the games. What a game begins with is worked out when a task of it
// is first played, as that may take a while.

import { contentHash, type JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, ToolRules, ToolsDomain, ToolsTask } from './domain.js';
import type { Operation } from './prediction.js';

/** A game, before anything of it is known. */
export interface ActGame {
  readonly id: string;
  /** Games made from one another share it; default: the id. */
  readonly family?: string;
  readonly split?: ToolsTask['split'];
  readonly tags?: readonly string[];
}

/** What a game begins with. */
export interface Begun {
  /** The first text. */
  readonly opening: string;
  /** What is to be done, in words. */
  readonly goal: string;
  /** From the domain's initial state to that of the game. */
  readonly operations: readonly Operation[];
}

export interface ActRules extends ToolRules {
  /** @throws a catalogue error naming the game */
  begin(id: string): Begun;
  /** Commands that win, where they are known. */
  walkthrough(id: string): readonly string[] | undefined;
}

interface ActDomainOptions {
  readonly id: string;
  readonly games: readonly ActGame[];
  /** SHA-256 or the like of all that decides what the games are. */
  readonly version: string;
  /** What the agent is told before the game begins. */
  readonly policy?: string;
  readonly rules: ActRules;
  readonly stateSchema: JsonObject;
  /** Frozen: the state of no game. */
  readonly initialState: JsonObject;
  readonly paysCalls?: boolean;
}

const POLICY =
  'You play a text game. Call act with one command each turn and read what happens. A command that cannot be carried out changes nothing.';

/** The check of the rules that says whether a game was won. */
const GOAL_CHECK = 'goal';

export function actDomain(options: ActDomainOptions): ToolsDomain {
  const { id, games, version, policy = POLICY, rules, stateSchema, initialState, paysCalls } = options;
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
    stateSchema,
    initialState,
    tasks: games.map((game) =>
      taskOfGame(game, {
        begin: () => rules.begin(game.id),
        solution: () => rules.walkthrough(game.id)?.map((text) => ({ name: 'act', arguments: { text } })),
      }),
    ),
    rules,
    ...(paysCalls && { paysCalls }),
    close: () => rules.close(),
  };
}

/** How what a task needs is worked out; each once, when it is first asked for. */
interface GameTaskParts {
  readonly begin: () => Begun;
  /** Calls that win, where they are known. */
  readonly solution: () => readonly CallSpec[] | undefined;
}

/** The task that a game is. */
export function taskOfGame({ id, family = id, split, tags }: ActGame, parts: GameTaskParts): ToolsTask {
  const begin = once(parts.begin);
  const reference = once(() => {
    const calls = parts.solution();
    return calls && { calls };
  });
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
      return reference();
    },
  };
}

/** Whether a task's beginning and solution are worked out once they are looked at, as those of games are. */
export function isWorkedOutLater(task: ToolsTask): boolean {
  return Object.getOwnPropertyDescriptor(task, 'reference')?.get !== undefined;
}

function once<T>(work: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: work() };
    return made.value;
  };
}
