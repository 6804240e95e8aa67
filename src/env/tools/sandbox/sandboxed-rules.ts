// A rules file as exact rules of a domain: its functions run in the sandbox on states that are kept there, parsed.

import { createHash } from 'node:crypto';
import { reverieError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { asOperation } from '../../state/operations.js';
import type { CheckResult, EpisodeEnd, ToolOutcome, ToolRules } from '../domain.js';
import type { ToolCall } from '../message.js';
import { stateChanges } from '../verify-episode.js';
import { readRules } from './rules-source.js';
import { Sandbox, SandboxFailure } from './sandbox.js';
import type { SandboxLimits } from './sandbox-thread.js';

/** Rules that also say what they hold. */
export interface SandboxedRules extends ToolRules {
  readonly checks: ReadonlySet<string>;
  readonly preconditioned: ReadonlySet<string>;
}

interface Patch {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: (string | number)[];
  readonly value?: unknown;
}

type ToolAnswer = { readonly refused: string } | { readonly observation: string; readonly patches: readonly Patch[] };

export interface SandboxOptions {
  /** Tools that never change the state (kinds `read` and `generic`): they see it frozen, which is faster. */
  readonly readers?: readonly string[];
  readonly limits?: SandboxLimits;
  /** Time beyond the limit after which a thread that does not answer is ended; 2,500 by default. */
  readonly graceMs?: number;
}

/**
 * Loads the text of a rules file.
 * @param file what it is called in errors
 * @throws RULES_INVALID
 */
export async function sandboxedRules(
  text: string,
  file: string,
  { readers = [], limits, graceMs }: SandboxOptions = {},
): Promise<SandboxedRules> {
  const sandbox = new Sandbox(readRules(text, file).program, file, limits, graceMs);
  try {
    const outline = sandbox.request({ request: 'outline' }) as Record<'tools' | 'preconditions' | 'checks', string[]>;
    const version = createHash('sha256').update(text).digest('hex');
    return new RulesFile(file, version, sandbox, outline, new Set(readers));
  } catch (error) {
    sandbox.close();
    if (error instanceof SandboxFailure) throw reverieError('RULES_INVALID', { file, problem: error.message }, error);
    throw error;
  }
}

class RulesFile implements SandboxedRules {
  readonly version: string;
  readonly tools: ReadonlySet<string>;
  readonly checks: ReadonlySet<string>;
  readonly preconditioned: ReadonlySet<string>;
  private readonly file: string;
  private readonly sandbox: Sandbox;
  private readonly readers: ReadonlySet<string>;
  private readonly states: HeldStates;

  constructor(
    file: string,
    version: string,
    sandbox: Sandbox,
    outline: Record<string, string[]>,
    readers: ReadonlySet<string>,
  ) {
    this.file = file;
    this.readers = readers;
    this.version = version;
    this.sandbox = sandbox;
    this.tools = new Set(outline.tools);
    this.checks = new Set(outline.checks);
    this.preconditioned = new Set(outline.preconditions);
    this.states = new HeldStates(sandbox);
  }

  execute(state: JsonObject, { name, arguments: args }: ToolCall): ToolOutcome {
    const answer = this.ask(
      `tool ${name}`,
      { request: this.readers.has(name) ? 'read' : 'write', name, args },
      { state },
    ) as ToolAnswer;
    if ('refused' in answer) return { operations: [], observation: `Error: ${answer.refused}`, isError: true };
    return { operations: answer.patches.map(asOperation), observation: answer.observation, isError: false };
  }

  preconditions(state: JsonObject, { name, arguments: args }: ToolCall): readonly string[] {
    if (!this.preconditioned.has(name)) return [];
    return this.ask(`precondition of ${name}`, { request: 'precondition', name, args }, { state }) as string[];
  }

  invariants(before: JsonObject, after: JsonObject): readonly string[] {
    return this.ask('invariants', { request: 'invariants' }, { before, after }) as string[];
  }

  check(name: string, { initialState, finalState, messages }: EpisodeEnd): CheckResult {
    const request = { request: 'check', name, messages };
    const found = this.ask(`check ${name}`, request, { initialState, finalState });
    return { name, ...(found as { passed: boolean | null; reason: string }) };
  }

  close(): void {
    this.sandbox.close();
  }

  private ask(where: string, request: object, states: Readonly<Record<string, JsonObject>>): unknown {
    const answered = () => this.sandbox.request({ ...request, ...this.states.keysOf(states) });
    try {
      return answered();
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
      if (error.reason !== 'memory' && error.reason !== 'clock') throw this.failed(where, error);
    }
    // States kept from earlier calls take memory too, and machines sleep: an answer must not depend on either.
    try {
      return answered();
    } catch (error) {
      throw error instanceof SandboxFailure ? this.failed(where, error) : error;
    }
  }

  private failed(where: string, failure: SandboxFailure): Error {
    return reverieError('RULES_FAILED', { file: this.file, where, problem: failure.message }, failure);
  }
}

// Which states the sandbox has parsed. A state that is new there is sent as its changes from one it has, as states of an
// episode share most of their parts.

const MAX_HELD = 16;

class HeldStates {
  /** Held states by key, least recently used first. */
  private readonly held = new Map<number, JsonObject>();
  private readonly keys = new WeakMap<JsonObject, number>();
  private readonly sandbox: Sandbox;
  private generation = 0;
  private next = 1;

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  /** The keys under which the sandbox has these states, as it has them now. */
  keysOf(states: Readonly<Record<string, JsonObject>>): Record<string, number> {
    const { generation } = this.sandbox;
    if (generation !== this.generation) this.held.clear();
    this.generation = generation;
    const keys = Object.entries(states).map(([name, state]) => [name, this.keyOf(state)] as const);
    this.dropOldest();
    return Object.fromEntries(keys);
  }

  private keyOf(state: JsonObject): number {
    const known = this.keys.get(state);
    if (known !== undefined && this.held.has(known)) {
      this.touch(known, state);
      return known;
    }
    const key = this.next++;
    // What may still change must be looked at again the next time, and is no ground to derive others from.
    const kept = Object.isFrozen(state) ? state : structuredClone(state);
    this.send(key, kept);
    this.touch(key, kept);
    this.keys.set(kept, key);
    return key;
  }

  private send(key: number, state: JsonObject): void {
    const latest = [...this.held].at(-1);
    if (latest === undefined) this.sandbox.request({ request: 'hold', key, state });
    else this.sandbox.request({ request: 'derive', key, from: latest[0], changes: stateChanges(latest[1], state) });
  }

  private touch(key: number, state: JsonObject): void {
    this.held.delete(key);
    this.held.set(key, state);
  }

  private dropOldest(): void {
    for (const key of this.held.keys()) {
      if (this.held.size <= MAX_HELD) return;
      this.held.delete(key);
      this.sandbox.request({ request: 'drop', key });
    }
  }
}
