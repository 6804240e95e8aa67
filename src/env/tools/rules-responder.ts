// The real environment: calls answered by the domain's own rules. And games of text as a domain of the one tool `act`: its tasks are
// the games; what a game begins with is worked out when a task of it is first played, as that may take a while.

import { contentHash, type JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { CallSpec, ToolOutcome, ToolRules, ToolsDomain, ToolsTask } from './domain.js';
import type { ToolCall } from './message.js';
import { exactPrediction, type Operation, type Prediction, refusalOf } from './prediction.js';
import type { Responder, UserSimulator } from './tools-family.js';

/**
 * Answers every call by the domain's exact rules. Where these carry a call out although a precondition refuses it, the
 * precondition stands. `backend` is what answers are recorded as: `real` where this is the environment itself, `rules`
 * where it is part of a dream.
 */
export function rulesResponder(domain: ToolsDomain, backend: 'rules' | 'real' = 'real'): Responder {
  const { rules } = domain;
  const modelVersion = rules?.version ?? 'none';
  return {
    version: `${backend}:${modelVersion}`,
    atOnce: rules?.atOnce,
    trusts: (name) => name === backend,
    picture: (state) => (backend === 'real' ? rules?.picture?.(state) : undefined),
    /** @throws TOOL_WITHOUT_RULE on a call of a tool that the rules do not know */
    answer({ state, call }): Prediction {
      if (!rules?.tools.has(call.name)) throw reverieError('TOOL_WITHOUT_RULE', { domain: domain.id, tool: call.name });
      const outcome = rules.execute(state, call);
      const refusals = refusalsOf(rules, state, call, outcome);
      if (refusals.length === 0)
        return exactPrediction(outcome, { backend, modelVersion, why: [`the rules know ${call.name}`] });
      const why = `a precondition of ${call.name} refuses: ${refusals.join('; ')}`;
      return exactPrediction(refusalOf(refusals), { backend, modelVersion, why: [why] });
    },
    close: () => {},
  };
}

/** Why a call that the rules carried out must fail all the same; empty if it stands. */
export function refusalsOf(
  rules: ToolRules,
  state: JsonObject,
  call: ToolCall,
  outcome: ToolOutcome,
): readonly string[] {
  return outcome.isError || rules.refusesItself ? [] : rules.preconditions(state, call);
}

/** What lives elsewhere, and is asked there. */
export interface RealEnvironment {
  /** Episodes that may run there at once. */
  readonly sessions: number;
  /** Answers calls; an episode that has to be run again must go as it went. Closing it does nothing. */
  readonly responder: Responder;
  /** Tells what is seen first. */
  readonly user: UserSimulator;
}

/** A domain that runs elsewhere; copies with other tasks are, too. */
export interface DomainElsewhere extends ToolsDomain {
  readonly real: RealEnvironment;
}

/** Undefined for domains that run by their rules, or not at all. */
export function elsewhere(domain: ToolsDomain): RealEnvironment | undefined {
  return (domain as Partial<DomainElsewhere>).real;
}

/** Whether there is a real environment that can be asked. */
export function isReal(domain: ToolsDomain): boolean {
  return domain.rules !== undefined || elsewhere(domain) !== undefined;
}

/** The real environment; rules that are lacking say so when they are asked. What lives elsewhere is closed by its domain. */
export function realResponder(domain: ToolsDomain): Responder {
  return elsewhere(domain)?.responder ?? rulesResponder(domain);
}

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
