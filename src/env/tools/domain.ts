// A domain of tools: what a team has (tool schemas, a policy text, a database snapshot, tasks) and, where there is one, exact code of what
// the tools do; the conversation between an agent, a user and tools in one internal form; what answers a call, exact or simulated; and
// the contract of family `tools`, whose real and simulated environments are one class that differs in who answers. Calls keep their
// arguments as an object, and beside it the text the model wrote, as malformed calls are worth learning from too. Ids are always there.

import type { z } from 'zod';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';
import type { Awaitable, Environment, ToolsSpace } from '../../core/environment.js';
import type { Entry } from '../../core/registry.js';
import type { InducedRules } from './induced-schema.js';
import type { PhraseBook } from './phrases.js';

export interface ToolCall {
  /** Unique within an episode. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The arguments as the model wrote them, where they were not this object's JSON (malformed, then repaired). */
  readonly rawArguments?: string;
}

interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
}

interface UserMessage {
  readonly role: 'user';
  readonly content: string;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  /** What is said to the user; null or empty in a turn of calls alone. */
  readonly content: string | null;
  /** Thoughts before answer and calls; never shown to the user or to a simulator. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly toolCallId: string;
  readonly name: string;
  readonly content: string;
  readonly isError?: boolean;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A message of the conversation that the user sees: their own, or what the agent said to them. */
export interface SpokenMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/**
 * The conversation as the user sees it: no policy, no calls, no answers of tools, no thoughts. What an agent writes beside
 * its calls was said only if a user's turn followed it, as in some logs.
 */
export function spokenMessages(messages: readonly Message[]): SpokenMessage[] {
  return messages.flatMap((message, i): SpokenMessage[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.content }];
    if (message.role !== 'assistant' || !message.content?.trim()) return [];
    if (message.toolCalls?.length && !isAnsweredByUser(messages, i)) return [];
    return [{ role: 'assistant', content: message.content }];
  });
}

/** Calls whose tool message reports no error, in order. A call without an answer did not succeed. */
export function successfulCalls(messages: readonly Message[]): ToolCall[] {
  const succeeded = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool' && message.isError !== true) succeeded.add(message.toolCallId);
  }
  return messages.flatMap(callsOf).filter(({ id }) => succeeded.has(id));
}

function isAnsweredByUser(messages: readonly Message[], at: number): boolean {
  return messages.slice(at + 1).find(({ role }) => role !== 'tool')?.role === 'user';
}

export function callsOf(message: Message): readonly ToolCall[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []) : [];
}

/** JSON Patch, RFC 6902: paths are JSON Pointers (RFC 6901) into the state. */
export type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

export interface Prediction {
  /** The model's thoughts, written before its answer; kept for audits, never shown to the agent. */
  readonly reasoning?: string;
  /** Changes of the state, already validated and applicable; empty for reads and refusals. */
  readonly operations: readonly Operation[];
  /** What the agent is shown: the content of the tool message. */
  readonly observation: string;
  /** Whether the observation reports an error of the call. */
  readonly isError: boolean;
  /** Reward of this call where the backend gives one; null where only the end of the episode is judged. */
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** What a language model claims of reward and end. Recorded for audits only: nothing is paid or ended by it. */
  readonly claimed?: { readonly reward: number | null; readonly terminated: boolean };
  /** In [0, 1]; 1 for exact backends. */
  readonly confidence: number;
  /**
   * Who answered: `schema` (refused before anybody was asked), `rules`, `replay`, `llm`, `real`, or a backend of a user's. How
   * far it is trusted is said by its caller, and never by its name.
   */
  readonly backend: string;
  readonly modelVersion: string;
  /** Why this backend answered, and what those before it said: one line each. */
  readonly why: readonly string[];
  /** Problems for which a proposal was refused after one repair; absent where nothing was refused. */
  readonly refused?: readonly string[];
  /** Whether it was made in plain text, with no state that could have been checked. */
  readonly stateless?: boolean;
  /** Whether the proposal that stands is the repaired one. */
  readonly repaired?: boolean;
  readonly cost: Cost;
}

/** What a call does, by any backend; most leave reward and end to others. */
type Outcome = Pick<Prediction, 'operations' | 'observation' | 'isError'> & {
  readonly reward?: number;
  readonly terminated?: boolean;
};

/** An exact backend's answer as a prediction. */
export function exactPrediction(
  { operations, observation, isError, reward, terminated = false }: Outcome,
  { backend, modelVersion, why }: Pick<Prediction, 'backend' | 'modelVersion' | 'why'>,
): Prediction {
  return {
    operations,
    observation,
    isError,
    reward: reward ?? null,
    terminated,
    truncated: false,
    confidence: 1,
    backend,
    modelVersion,
    why,
    cost: NO_COST,
  };
}

/** What the agent is shown of a call that must fail. */
export function refusalOf(reasons: readonly string[]): Outcome {
  return { operations: [], observation: `Error: ${reasons.join('; ')}`, isError: true };
}

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12 or 7) of the arguments: an object schema. */
  readonly parameters: JsonObject;
  /** `read` never changes the state; `write` may; `generic` has nothing to do with it (calculator, hand-over). */
  readonly kind: 'read' | 'write' | 'generic';
  /** A successful call ends the episode (hand-over to a human). */
  readonly terminates?: boolean;
}

export interface ToolOutcome {
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
  /** What the call earned, of rules that pay each call (`ToolsDomain.paysCalls`). */
  readonly reward?: number;
  readonly terminated?: boolean;
}

/** What a proposal says of its own outcome, in a form that can be held against the state after it. */
export interface OutcomeClaim {
  /** Another page, a change of the one that is there, or neither. */
  readonly outcome?: 'page' | 'change' | 'nothing';
  /** Of the page that is shown afterwards. */
  readonly title?: string;
  /** What elements show afterwards; of property `gone`, whether they are gone, and of `focused`, whether they have the keyboard. */
  readonly shows?: readonly { readonly id: string; readonly property: string; readonly value: string }[];
}

/** Facts by predicate, then by the objects they are about: `{ in: { "apple 1, fridge 1": true } }`. */
export type FactTable = Readonly<Record<string, Readonly<Record<string, true>>>>;

/** What there is in a world of facts, and what is so in it for good. */
export interface Scene {
  readonly objects: readonly { readonly name: string; readonly type: string }[];
  readonly facts: FactTable;
}

/** Exact code. All functions are pure: same arguments, same answer; the state given is never changed. */
export interface ToolRules {
  /** Identifies the exact code. */
  readonly version: string;
  /** Tools whose outcome `execute` knows. */
  readonly tools: ReadonlySet<string>;
  execute(state: JsonObject, call: ToolCall): ToolOutcome;
  /** `execute` itself refuses what a precondition refuses: `preconditions` need not be asked about what it carried out. */
  readonly refusesItself?: boolean;
  /** Reasons why the call must fail in this state, whatever else it would do; empty if none is known. */
  preconditions(state: JsonObject, call: ToolCall): readonly string[];
  /** What a call comes to by itself, without asking what really answers it; undefined where that cannot be said. */
  mechanics?(state: JsonObject, call: CallSpec): ToolOutcome | undefined;
  /** What a call that succeeded says it did, and the state after it does not show: one reason each. */
  unmet?(after: JsonObject, call: CallSpec): readonly string[];
  /** Parts of the state that say what was earned: a language model's changes of them are refused, as its word decides no reward. */
  readonly earned?: readonly string[];
  /** What a proposed change claims of itself, and the state after it does not show: one reason each. */
  unshown?(before: JsonObject, after: JsonObject, claim: OutcomeClaim): readonly string[];
  /** What a state may never be, or never become from `before`: one reason each. */
  invariants(before: JsonObject, after: JsonObject): readonly string[];
  /** A check named in a task's verifier. Throws for an unknown name. */
  check(name: string, episode: EpisodeEnd): CheckResult;
  /** Lines that would do something in this state, of a world that is acted in by lines, where the rules know what to offer. */
  admissible?(state: JsonObject): readonly string[];
  /** Each of these in words that tell it from the others, where a line names by an id what it is about. */
  readings?(state: JsonObject, lines: readonly string[]): readonly string[];
  /** An admissible line as a call; of the first tool, with the line as `text`, unless given. */
  callOf?(line: string): CallSpec;
  /** What a state that the rules themselves led to looks like, where that is shown and asked for. No part of the state. */
  picture?(state: JsonObject): Picture | undefined;
  /** All such texts of the state's world, whatever its state. */
  commands?(state: JsonObject): readonly string[];
  /** Where states are facts about objects (their `facts`): the scene of a state, the same object for all states of it. */
  scene?(state: JsonObject): Scene;
  /** Episodes that may be under way at once without any of them being run again; as many as one likes unless given. */
  readonly atOnce?: number;
  /** Tasks that probes of a simulator are made of, each of another family, where each takes long; all unless given. */
  readonly probedTasks?: number;
  close(): void;
}

/** What is seen of a world that has a look, beside what is said of it in words. */
export interface Picture {
  readonly png: Uint8Array;
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  /** Where things are that the state has by an id: left, top, width and height in pixels. Those without a place are left out. */
  readonly boxes: Readonly<Record<string, readonly [number, number, number, number]>>;
}

export interface CheckResult {
  readonly name: string;
  /** null: could not be decided. */
  readonly passed: boolean | null;
  readonly reason: string;
  /** What the episode is worth, where this check decides it alone and not by all or nothing. */
  readonly reward?: number;
}

export interface EpisodeEnd {
  readonly initialState: JsonObject;
  readonly finalState: JsonObject;
  readonly messages: readonly Message[];
  /** Sum of what exact backends paid on the way; null or absent where none did. */
  readonly paid?: number | null;
}

/** A call as written in tasks: no id. */
export interface CallSpec {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Who talks to the agent. The goal is hidden from the agent. */
export interface UserSpec {
  /** First message, as it is said; without it the simulator writes one. */
  readonly opening?: string;
  /** The hidden instruction: what is wanted, what is known, how to react. */
  readonly goal: string;
  readonly persona?: string;
  /**
   * For the scripted user: the reply to a message of the agent is the first line whose `when` (a regular expression,
   * case-insensitive; absent: always) matches it and that was not said before; `done` ends the conversation.
   */
  readonly script?: readonly { readonly when?: string; readonly say: string; readonly done?: boolean }[];
}

/** Every part that is given must pass. Order of cost: rules and state first, a judge last. */
export interface VerifierSpec {
  /** The end state must equal the one after the task's reference calls (as in τ-bench). */
  readonly state?: 'reference';
  /** Of the end state: the value at a JSON Pointer; `exists: false` for nothing there. */
  readonly assert?: readonly { readonly path: string; readonly equals?: Json; readonly exists?: boolean }[];
  /** Texts the agent must have told the user; compared without case and thousands separators. */
  readonly communicate?: readonly string[];
  /** Calls that must have been made; given arguments must be equal, others are free. */
  readonly called?: readonly CallSpec[];
  readonly notCalled?: readonly string[];
  readonly checks?: readonly string[];
  /** Sentences for a judge: each must hold. Only an audited judge may decide them. */
  readonly rubric?: readonly string[];
  /** The episode is worth the sum of what the real environment paid on the way, and nothing else can tell. */
  readonly rewards?: 'sum';
}

export interface ToolsTask {
  readonly id: string;
  /** Tasks made from one another share it: splits and leakage checks go by it. */
  readonly family: string;
  readonly split?: 'train' | 'validation' | 'test';
  readonly user: UserSpec;
  /** Changes of the domain's initial state that this task begins with. */
  readonly initialOperations?: readonly Operation[];
  readonly verifier: VerifierSpec;
  /** Calls that solve it, in order; what the agent says to the user at the end, where that is verified. */
  readonly reference?: { readonly calls: readonly CallSpec[]; readonly say?: string };
  /** Known ways to fail: the verifier must refuse each. */
  readonly failures?: readonly { readonly name: string; readonly calls: readonly CallSpec[]; readonly say?: string }[];
  readonly tags?: readonly string[];
  /** How it came about, where it was made from others. */
  readonly origin?: {
    readonly seeds: readonly string[];
    readonly strategy: string;
    readonly modelVersion: string;
  };
}

/** What was found of an episode. Never a silent 0: an episode that could not be judged has reward null. */
export interface Verdict {
  readonly reward: number | null;
  readonly checks: readonly CheckResult[];
  /** Who decided: exact checks alone, or also a judge (its version). */
  readonly judge?: string;
}

export interface ToolsDomain {
  readonly id: string;
  /** SHA-256 (hex) of everything below, rules included. */
  readonly version: string;
  readonly policy: string;
  readonly tools: readonly ToolSpec[];
  readonly stateSchema: JsonObject;
  /** Frozen; shared by all episodes. */
  readonly initialState: JsonObject;
  readonly tasks: readonly ToolsTask[];
  /** How agents and users put things; absent: in the standard ways. */
  readonly phrases?: PhraseBook;
  /** Absent where only a specification is known, or where it runs elsewhere. */
  readonly rules?: ToolRules;
  /** The rules pay each call themselves, that which ends the episode too: the verdict says whether it was solved and pays nothing. */
  readonly paysCalls?: boolean;
  /** How a state is shown, where that follows from the state alone: what is shown of a change is made of this for every backend. */
  readonly rendering?: (state: JsonObject) => string;
  /** The kind of world as which it is run line by line, where it is another than its tools say. */
  readonly face?: string;
  /** What was found in logs of it, accepted or not. */
  readonly induced?: InducedRules;
  /** What people come to it for, in a sentence each, beside what they do in any world of screens. */
  readonly goalKinds?: readonly string[];
  close(): void;
}

/** A domain's settings, checked: the keys of its schema. */
export type DomainSettings = Readonly<Record<string, unknown>>;

/** From settings, and the folder that relative paths in them start from, to the domain. */
type MakeDomain = (settings: DomainSettings, folder: string) => Promise<ToolsDomain>;

/** `name` is the `id` that scenarios give; `schema` has the keys of the section `domain` beside `id`. */
export interface DomainEntry extends Entry<MakeDomain> {
  readonly schema?: z.ZodObject;
  /** The key of its schema that names it in place of `id`: there are many domains behind one entry. */
  readonly namedBy?: string;
  /** Absolute paths of the files that decide what it is, whether they are there or not: they count in a scenario's hash. */
  readonly files?: (settings: DomainSettings, folder: string) => readonly string[];
  /** Absolute path of the folder in which its probes and labelled episodes are looked for; absent: the scenario's. */
  readonly home?: (settings: DomainSettings, folder: string) => string;
}

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
  /** At the end of the episode. */
  readonly verdict?: Verdict;
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
  readonly cost: Cost;
}

export interface UserQuery {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  /** Conversation so far; a simulator shows its model only what a user would see. */
  readonly messages: readonly Message[];
  readonly seed: number;
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
  /** A mistake made on purpose: it stays in the episode, and is not to be learned. */
  readonly isMistake?: boolean;
  /** Its reply ended at the most tokens that one may have: what it says stays, and is not to be learned. */
  readonly isCut?: boolean;
  /** Of who goes without a task: the whole walk so far. */
  readonly walk?: WalkNote;
}

export interface ToolsPolicy {
  readonly version: string;
  act(query: ToolsPolicyQuery, signal?: AbortSignal): Awaitable<ToolsTurn>;
}
