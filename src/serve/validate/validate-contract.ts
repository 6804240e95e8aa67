// What is checked of a served environment, and what a check is given. The list follows OpenEnv's runtime checks and its
// RFC 008 (auto-validation).

import type { JsonObject } from '../../core/canonical-json.js';
import type { ServerLacks } from '../../env/servers/server-contract.js';

type CheckStatus = 'passed' | 'failed' | 'not-checked';

export interface CheckResult {
  readonly name: string;
  readonly status: CheckStatus;
  /** What is wrong, or why it was not checked, or what was seen. */
  readonly detail: string;
}

export interface ValidationReport {
  /** The URL, or the scenario's name. */
  readonly target: string;
  /** No check failed. */
  readonly passed: boolean;
  readonly checks: readonly CheckResult[];
}

/** What a reset or a step answered; an error frame as what it says. */
export interface Reply {
  readonly observation: JsonObject;
  readonly reward: unknown;
  readonly done: boolean;
  readonly error?: string;
}

/** One session of the server. */
export interface Player {
  reset(data: JsonObject): Promise<Reply>;
  step(action: JsonObject): Promise<Reply>;
  state(): Promise<JsonObject>;
  /** Resolves once the server has closed it: one that takes few sessions takes the next one then. */
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  /** undefined where it was no JSON. */
  readonly body: unknown;
}

export interface Server {
  readonly url: string;
  /** What its protocol has no words for, and cannot be checked therefore. */
  readonly lacks: ServerLacks;
  /** Of every request: the token, where there is one. */
  readonly headers: Readonly<Record<string, string>>;
  ask(path: string, body?: unknown): Promise<Answer>;
  connect(): Promise<Player>;
}

export interface Tool {
  readonly name: string;
  readonly input_schema: JsonObject;
}

/** What only whoever owns the environment knows. */
export interface Hidden {
  /** Actions that solve a task, by its id. */
  readonly solutions: ReadonlyMap<string, readonly JsonObject[]>;
  /** Texts no client may see, with what they are. */
  readonly secrets: readonly { readonly what: string; readonly text: string }[];
  /** Objects no client may see before it made them. */
  readonly calls: readonly JsonObject[];
  /** Who judges, where rewards depend on a model. */
  readonly judge: { readonly model: string; readonly parameters: string } | null;
  /** What the checks of the environment itself found, one sentence a fault. */
  readonly environment: () => Promise<readonly string[]>;
}

export interface ValidateOptions {
  readonly seed: number;
  /** Steps of a trajectory. */
  readonly steps: number;
  /** Tasks of each split that are tried. */
  readonly tasks: number;
  /** That every reward, and the sum of an episode, lies in; none: only that it is a number. */
  readonly rewardRange?: readonly [low: number, high: number];
}

/** All that checks look at. */
export interface Subject {
  readonly server: Server;
  readonly schemas: { readonly action: JsonObject; readonly observation: JsonObject; readonly state: JsonObject };
  /** Empty where the environment has no tools. */
  readonly tools: readonly Tool[];
  readonly tasks: readonly JsonObject[];
  readonly hidden?: Hidden;
  readonly options: ValidateOptions;
}

export interface Check {
  readonly name: string;
  /** What was seen, where it passed. @throws CheckFailed, NotChecked */
  run(subject: Subject): Promise<string>;
}

export class CheckFailed extends Error {}
export class NotChecked extends Error {}

/** @throws NotChecked where the protocol has no words for it */
export function requireWords({ lacks }: Server, ...what: readonly (keyof ServerLacks)[]): void {
  const reason = what.map((key) => lacks[key]).find((text) => text !== undefined);
  if (reason !== undefined) throw new NotChecked(reason);
}
