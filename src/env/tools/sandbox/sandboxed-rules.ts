// A rules file as exact rules of a domain: its functions run on states that are kept where they run, parsed.

import type { Patch } from 'immer';
import { type JsonObject, sha256 } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import { areRulesOfPack } from '../../../core/packs.js';
import { applyOperations, asOperation, originOf } from '../../state/operations.js';
import type { CheckResult, EpisodeEnd, ToolOutcome, ToolRules } from '../domain.js';
import type { ToolCall } from '../message.js';
import { type Operation, refusalOf } from '../prediction.js';
import { stateChanges } from '../verify-episode.js';
import {
  areRulesTrusted,
  failureOf,
  LIMITS,
  type RulesPlace,
  readRules,
  SandboxFailure,
  type SandboxLimits,
  SandboxThread,
  TrustedRealm,
} from './sandbox.js';

export interface SandboxedRules extends ToolRules {
  readonly checks: ReadonlySet<string>;
  readonly preconditioned: ReadonlySet<string>;
}

type ToolAnswer = { readonly refused: string } | { readonly observation: string; readonly patches: readonly Patch[] };

/**
 * Loads the text of a rules file.
 * @param file what it is called in errors
 * @param options.readers tools that never change the state (kinds `read` and `generic`): they see it frozen, which is faster
 * @throws RULES_INVALID
 */
export async function sandboxedRules(
  text: string,
  file: string,
  { readers = [], limits = LIMITS }: { readonly readers?: readonly string[]; readonly limits?: SandboxLimits } = {},
): Promise<SandboxedRules> {
  const version = sha256(text);
  const program = { ...readRules(text, file), text, file, limits };
  // Rules of packs are known: no variable of theirs outlives a call.
  const isPack = areRulesOfPack(version);
  const isTrusted = isPack || areRulesTrusted();
  const place = new Place(() => (isTrusted ? new TrustedRealm(program, isPack) : new SandboxThread(program)));
  try {
    const outline = place.ask('outline', {}, {}) as Record<string, string[]>;
    return new RulesFile(file, version, place, outline, new Set(readers));
  } catch (error) {
    place.close();
    if (error instanceof SandboxFailure) throw reverieError('RULES_INVALID', { file, problem: error.message }, error);
    throw error;
  }
}

class RulesFile implements SandboxedRules {
  readonly refusesItself = true;
  readonly tools: ReadonlySet<string>;
  readonly checks: ReadonlySet<string>;
  readonly preconditioned: ReadonlySet<string>;
  private readonly hasInvariants: boolean;
  /** What was found of states that never change, by the later one: a step's are asked about again where its row is judged. */
  private readonly broken = new WeakMap<
    JsonObject,
    { readonly before: JsonObject; readonly reasons: readonly string[] }
  >();

  constructor(
    private readonly file: string,
    readonly version: string,
    private readonly place: Place,
    outline: Record<string, string[]>,
    private readonly readers: ReadonlySet<string>,
  ) {
    this.tools = new Set(outline.tools);
    this.checks = new Set(outline.checks);
    this.preconditioned = new Set(outline.preconditions);
    this.hasInvariants = outline.invariants.length > 0;
  }

  execute(state: JsonObject, { name, arguments: args }: ToolCall): ToolOutcome {
    const request = this.readers.has(name) ? 'read' : 'write';
    const answer = this.ask(`tool ${name}`, request, { name, args }, { state }) as ToolAnswer;
    if ('refused' in answer) return refusalOf([answer.refused]);
    const operations = answer.patches.map(asOperation);
    if (operations.length === 0) return { operations, observation: answer.observation, isError: false };
    this.place.kept(state, operations);
    const broken = this.invariants(state, applyOperations(state, operations));
    return broken.length > 0 ? refusalOf(broken) : { operations, observation: answer.observation, isError: false };
  }

  preconditions(state: JsonObject, { name, arguments: args }: ToolCall): readonly string[] {
    if (!this.preconditioned.has(name)) return [];
    return this.ask(`precondition of ${name}`, 'precondition', { name, args }, { state }) as string[];
  }

  invariants(before: JsonObject, after: JsonObject): readonly string[] {
    if (!this.hasInvariants) return [];
    const known = this.broken.get(after);
    if (known?.before === before) return known.reasons;
    const reasons = this.ask('invariants', 'invariants', {}, { before, after }) as string[];
    if (Object.isFrozen(before) && Object.isFrozen(after)) this.broken.set(after, { before, reasons });
    return reasons;
  }

  check(name: string, { initialState, finalState, messages }: EpisodeEnd): CheckResult {
    const found = this.ask(`check ${name}`, 'check', { name, messages }, { initialState, finalState });
    return { name, ...(found as { passed: boolean | null; reason: string }) };
  }

  close(): void {
    this.place.close();
  }

  private ask(where: string, request: string, given: object, states: Readonly<Record<string, JsonObject>>): unknown {
    try {
      return this.place.ask(request, given, states);
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
      throw reverieError('RULES_FAILED', { file: this.file, where, problem: error.message }, error);
    }
  }
}

/** Reasons after which nothing of a sandbox is taken for granted. */
const SPENT: readonly SandboxFailure['reason'][] = ['time', 'clock', 'memory', 'died'];

const MAX_HELD = 16;
const MAX_AWAITED = 8;

/**
 * Where rules run, and which states they have parsed there. A state that is new there is sent as its changes from one it has, as states
 * of an episode share most of their parts.
 */
class Place {
  private running: RulesPlace | undefined;
  private closed = false;
  /** Held states by key, least recently used first. */
  private readonly held = new Map<number, JsonObject>();
  private readonly keys = new WeakMap<JsonObject, number>();
  /** States that calls led to, which are there though they are not known here yet: their key, and what led to them. */
  private readonly awaited = new Map<
    number,
    { readonly before: JsonObject; readonly operations: readonly Operation[] }
  >();
  private next = 1;
  /** Under which the state is kept that the call at hand leads to. */
  private keep = 0;

  constructor(private readonly start: () => RulesPlace) {}

  /** States kept from earlier calls take memory too, and machines sleep: an answer must not depend on either. */
  ask(request: string, given: object, states: Readonly<Record<string, JsonObject>>): unknown {
    try {
      return this.answer(request, given, states);
    } catch (error) {
      if (!(error instanceof SandboxFailure) || (error.reason !== 'memory' && error.reason !== 'clock')) throw error;
    }
    return this.answer(request, given, states);
  }

  kept(before: JsonObject, operations: readonly Operation[]): void {
    this.awaited.set(this.keep, { before, operations });
  }

  close(): void {
    this.closed = true;
    this.stop();
  }

  private stop(): void {
    this.running?.end();
    this.running = undefined;
    this.held.clear();
    this.awaited.clear();
  }

  private answer(request: string, given: object, states: Readonly<Record<string, JsonObject>>): unknown {
    if (this.closed) throw new SandboxFailure('died', 'the domain was closed');
    try {
      this.running ??= this.start();
      const text = this.running.ask(JSON.stringify({ request, ...given, ...this.bring(states) }));
      const { answer, failed } = JSON.parse(text) as { answer?: unknown; failed?: string };
      if (failed !== undefined) throw failureOf(failed);
      return answer;
    } catch (error) {
      if (error instanceof SandboxFailure && SPENT.includes(error.reason)) this.stop();
      throw error;
    }
  }

  /** The keys under which these states are there, with what must be told so that they are. */
  private bring(states: Readonly<Record<string, JsonObject>>) {
    const drop = [...oldest(this.held, MAX_HELD), ...oldest(this.awaited, MAX_AWAITED)];
    const brought: Brought = { hold: [], derive: [], drop };
    const keys = Object.entries(states).map(([name, state]) => [name, this.keyOf(state, brought)] as const);
    this.keep = this.next++;
    return { ...brought, ...Object.fromEntries(keys), keep: this.keep };
  }

  private keyOf(state: JsonObject, { hold, derive }: Brought): number {
    const known = this.keys.get(state);
    const found = known !== undefined && this.held.has(known) ? known : this.keyOfAwaited(state);
    if (found !== undefined) return this.touch(found, state);
    const key = this.next++;
    // What may still change must be looked at again the next time, and is no ground to derive others from.
    const kept = Object.isFrozen(state) ? state : structuredClone(state);
    const latest = [...this.held].at(-1);
    if (latest === undefined) hold.push({ key, state: kept });
    else derive.push({ key, from: latest[0], changes: stateChanges(latest[1], kept) });
    return this.touch(key, kept);
  }

  private touch(key: number, state: JsonObject): number {
    this.held.delete(key);
    this.held.set(key, state);
    this.keys.set(state, key);
    return key;
  }

  /** The key of a state that a call led to, once it was made here too. */
  private keyOfAwaited(state: JsonObject): number | undefined {
    const origin = originOf(state);
    if (origin === undefined) return undefined;
    for (const [key, { before, operations }] of this.awaited) {
      if (operations !== origin.operations || before !== origin.before) continue;
      this.awaited.delete(key);
      return key;
    }
    return undefined;
  }
}

/** Takes the first keys out of a map that has more than `most`. */
function oldest(map: Map<number, unknown>, most: number): number[] {
  const dropped = [...map.keys()].slice(0, Math.max(0, map.size - most));
  for (const key of dropped) map.delete(key);
  return dropped;
}

interface Brought {
  readonly hold: { key: number; state: JsonObject }[];
  readonly derive: { key: number; from: number; changes: readonly object[] }[];
  readonly drop: readonly number[];
}
