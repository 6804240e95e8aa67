// A domain of tools: what a team has (tool schemas, a policy text, a database snapshot, tasks) and, where there is one,
// exact code of what the tools do. The same domain is the real environment (with rules) and what a dream is made from.

import type { z } from 'zod';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { Entry } from '../../core/registry.js';
import { remembered } from '../state/records.js';
import type { Message, ToolCall } from './message.js';
import type { PhraseBook } from './phrases.js';
import type { Fault, Operation, StateCheck } from './prediction.js';

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12 or 7) of the arguments: an object schema. */
  readonly parameters: JsonObject;
  /** `read` never changes the state; `write` may; `generic` has nothing to do with it (calculator, hand-over). */
  readonly kind: 'read' | 'write' | 'generic';
  /** A successful call ends the episode (hand-over to a human). */
  readonly terminates?: boolean;
  /** Whose it is: the agent's unless given. */
  readonly for?: 'user';
  /** JSON Schema of the answer to a successful call, and an example. */
  readonly returns?: { readonly schema?: JsonObject; readonly example?: Json };
  /** Preconditions (CEL over `call` and `state`), each with its error message. */
  readonly enforces?: readonly { readonly require: string; readonly error: string }[];
  /** State checks to skip for its simulated answers. */
  readonly skipChecks?: readonly StateCheck[];
}

/** Those of the agent, and those of the user. */
export function allTools({ tools, userTools = [] }: Pick<ToolsDomain, 'tools' | 'userTools'>): readonly ToolSpec[] {
  if (userTools.length === 0) return tools;
  const ofTools = remembered(together, tools, () => new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>());
  return remembered(ofTools, userTools, () => [...tools, ...userTools]);
}

/** One list for the same two: what is compiled for tools is kept by their list. */
const together = new WeakMap<readonly ToolSpec[], WeakMap<readonly ToolSpec[], readonly ToolSpec[]>>();

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
  /** `execute` itself refuses what a precondition refuses or an invariant forbids: these need not be asked about what it carried out. */
  readonly refusesItself?: boolean;
  /** Reasons why the call must fail in this state, whatever else it would do; empty if none is known. */
  preconditions(state: JsonObject, call: ToolCall): readonly string[];
  /** What a call comes to by itself, without asking what really answers it; undefined where that cannot be said. */
  mechanics?(state: JsonObject, call: CallSpec): ToolOutcome | undefined;
  /** What a call that succeeded says it did, and the state after it does not show: one reason each. */
  unmet?(after: JsonObject, call: CallSpec, before: JsonObject): readonly string[];
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
  /** Injected faults. */
  readonly faults?: readonly Fault[];
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
   * case-insensitive; absent: always) matches it and that was not said before; `done` ends the conversation. Before it is said its `calls`
   * are made, of the user's own tools; `{answer}` in it is what the last of them answered.
   */
  readonly script?: readonly {
    readonly when?: string;
    readonly calls?: readonly CallSpec[];
    readonly say: string;
    readonly done?: boolean;
  }[];
  /** Which of the domain's tools for users this one has; all of them unless given. */
  readonly tools?: readonly string[];
}

/** Every part that is given must pass. Order of cost: rules and state first, a judge last. */
export interface VerifierSpec {
  /** The end state must equal the one after the task's reference calls (as in τ-bench). */
  readonly state?: 'reference';
  /** Of the end state: the value at a JSON Pointer; `exists: false` for nothing there. */
  readonly assert?: readonly { readonly path: string; readonly equals?: Json; readonly exists?: boolean }[];
  /** Values the agent must state to the user: whole words and ids, numbers by value, never as one of several alternatives. */
  readonly communicate?: readonly string[];
  /** Each value must have occurred in a tool's answer before it is stated. */
  readonly grounded?: boolean;
  /** Calls that must have been made; given arguments must be equal, others are free. */
  readonly called?: readonly CallSpec[];
  /** Tools of which no call may have succeeded. */
  readonly notCalled?: readonly string[];
  /** Tools that may not even be tried. */
  readonly never?: readonly string[];
  /** The listed tools may succeed only after the tool of their key has (`a | b`: one of these). */
  readonly before?: Readonly<Record<string, readonly string[]>>;
  /** Tools that may be called only after the user has agreed to a proposal of the call. */
  readonly confirmed?: readonly string[];
  readonly checks?: readonly string[];
  /** Sentences for a judge: each must hold. Only an audited judge may decide them. */
  readonly rubric?: readonly string[];
  /** The episode is worth the sum of what the real environment paid on the way, and nothing else can tell. */
  readonly rewards?: 'sum';
  /** A failed episode is worth the share of passed checks, unless it did something forbidden. */
  readonly partial?: boolean;
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
  /** Tools of the user, on the same state; the agent does not see them. */
  readonly userTools?: readonly ToolSpec[];
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
  /** The rules declared in rules.yaml; also `rules` if it decides every tool, otherwise constraints for other backends. */
  readonly declared?: ToolRules & { readonly file: unknown };
  /** What people come to it for, in a sentence each, beside what they do in any world of screens. */
  readonly goalKinds?: readonly string[];
  close(): void;
}

/** A domain's settings, checked: the keys of its schema. */
type DomainSettings = Readonly<Record<string, unknown>>;

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
