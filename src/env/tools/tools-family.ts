// The contract of family `tools`: an agent acts by messages and calls; calls change a typed state; a user answers what is
// said. Real and simulated environments are one class that differs in who answers a call.

import type { JsonObject } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import type { Awaitable, Environment, ToolsSpace } from '../../core/environment.js';
import type { CallSpec, Picture, ToolSpec, ToolsDomain, ToolsTask, Verdict } from './domain.js';
import type { AssistantMessage, Message, ToolCall, UserCall } from './message.js';
import type { Outcome } from './outcome.js';
import type { Fault, Prediction } from './prediction.js';

/** What the agent does in one turn: says something to the user, or calls tools, or (where allowed) both. */
export type ToolsAction = Omit<AssistantMessage, 'role'>;

export interface ToolsObservation {
  /** Messages that are new since the last action; after reset: the policy and what the user says first. */
  readonly messages: readonly Message[];
}

export interface ToolsEnvironment extends Environment<ToolsObservation, ToolsAction> {
  readonly family: 'tools';
  readonly actionSpace: ToolsSpace;
  readonly domain: ToolsDomain;
  /** The whole conversation so far. */
  readonly messages: readonly Message[];
  /** The typed state as it stands; never shown to the agent. */
  readonly state: JsonObject;
}

/** What a step's `info` of a tools environment holds. */
export interface ToolsStepInfo {
  /** One for each call of the action, in order. */
  readonly predictions: readonly Prediction[];
  /** Canonical hash (hex, SHA-256) of the state after the step. */
  readonly stateHash: string;
  readonly userCost: Cost;
  /** Answers to the user's own calls; absent if it made none. */
  readonly userPredictions?: readonly Prediction[];
  /** At the end of the episode: the verdict that the outcome allows. */
  readonly verdict?: Verdict;
  /** At the end of the episode: the outcome. */
  readonly outcome?: Outcome;
}

/** All that may be looked at to answer one call. */
export interface CallQuery {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly state: JsonObject;
  /** Conversation up to and including the message that holds the call, and answers to calls before it. */
  readonly messages: readonly Message[];
  readonly call: ToolCall;
  /** Calls answered before this one in the episode. */
  readonly step: number;
  /** Seed of the episode; a model's randomness comes from (seed, step, attempt). */
  readonly seed: number;
  /** Row of a job the episode is, where it is one: what experience it may see depends on it. */
  readonly row?: number;
  /** Faults injected into earlier calls. */
  readonly faults?: readonly Fault[];
  /** Confidence of earlier answers that were not sure, by id of the call. */
  readonly doubts?: Readonly<Record<string, number>>;
}

/** Who answers calls. Unknown tools and arguments that break a tool's schema are refused before it is asked. */
export interface Responder {
  /** Names and versions of all that may answer; part of a job's identity. */
  readonly version: string;
  /**
   * Whether answers of this backend (a prediction's `backend`) may give rewards and end an episode: those of exact code and
   * of the real environment. What is not declared is not trusted.
   */
  trusts?(backend: string): boolean;
  /** As `ToolRules` has it. */
  readonly atOnce?: number;
  answer(query: CallQuery, signal?: AbortSignal): Awaitable<Prediction>;
  /** What a state that it led to looks like, where that is the world itself and no dream of it; see `ToolRules`. */
  picture?(state: JsonObject): Picture | undefined;
  /** Told that an episode is over, however it ended: for who holds something for it. */
  ended?(episode: Pick<CallQuery, 'task' | 'messages' | 'seed'>): void;
  close(): Awaitable<void>;
}

export interface UserTurn {
  readonly content: string;
  /** The user has nothing more to say: the episode ends. */
  readonly done: boolean;
  /** Calls of the user's own tools: after them the user is asked again, with their answers, before its message is shown. */
  readonly calls?: readonly CallSpec[];
  readonly cost: Cost;
}

export interface UserQuery {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  /** Conversation so far; a simulator shows its model only what a user would see. */
  readonly messages: readonly Message[];
  readonly seed: number;
  /** Calls since the agent's last message, with their answers. */
  readonly calls?: readonly UserCall[];
  /** Text beside these calls; it may be the whole message. */
  readonly said?: string;
}

export interface UserSimulator {
  readonly version: string;
  open(query: UserQuery, signal?: AbortSignal): Awaitable<UserTurn>;
  reply(query: UserQuery, signal?: AbortSignal): Awaitable<UserTurn>;
}

export interface Admissible {
  readonly lines: readonly string[];
  /** How each reads to who knows words alone; absent: as it is written. */
  readonly readings?: readonly string[];
  callOf(line: string): CallSpec;
}

export interface ToolsPolicyQuery {
  /** Everything the agent has seen, policy first. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** For policies that are told it (reference solutions, oracles); an honest agent does not look. */
  readonly task: ToolsTask;
  readonly seed: number;
  /** Actions taken before in the episode. */
  readonly step: number;
  /** What would do something now, in a world of lines that knows it. Worked out when asked for. */
  readonly admissible?: () => Admissible | undefined;
  /** Injected faults, for policies that may know of them. */
  readonly faults?: readonly Fault[];
}

/** A turn of a language model as tokens, exactly as its server read and wrote them. */
export interface TurnTokens {
  /** Ids of all it was shown, template and all. */
  readonly prompt: readonly number[];
  /** Ids it wrote. */
  readonly reply: readonly number[];
  /** Log-probability of each id it wrote; absent where the server gives none. */
  readonly logprobs?: readonly number[];
  /** Which weights wrote it; absent where the server does not say. */
  readonly weightVersion?: string;
}

/** How a walk without a task of its own came about. */
export interface WalkNote {
  /** What kind of goal was in mind. */
  readonly goalKind?: string;
  /** Sub-goals, each with the action before which it was set. */
  readonly subgoals: readonly { readonly step: number; readonly text: string }[];
  /** Why the agent ended it; absent where it did not. */
  readonly ended?: 'finished';
  /** What the walk was made into. */
  readonly wrapped?: WrapNote;
}

/** How a walk became a task that it solves. */
interface WrapNote {
  readonly instruction: string;
  /** Id of the recorded walk it was made of; absent where it was run for this. */
  readonly episode?: string;
  readonly modelVersion: string;
  /** Actions of the walk that were left out, as they changed nothing. */
  readonly leftOut: number;
  /** Who found that the walk does what the instruction says: no judge, or so many judges who all agreed. */
  readonly judges: number;
}

/** What a policy does, and what deciding it cost. */
export interface ToolsTurn {
  readonly action: ToolsAction;
  readonly cost: Cost;
  readonly tokens?: TurnTokens;
  /** Its reply ended at the most tokens that one may have: what it says stays, and is not to be learned. */
  readonly isCut?: boolean;
  /** Of who goes without a task: the whole walk so far. */
  readonly walk?: WalkNote;
}

export interface ToolsPolicy {
  readonly version: string;
  act(query: ToolsPolicyQuery, signal?: AbortSignal): Awaitable<ToolsTurn>;
}
