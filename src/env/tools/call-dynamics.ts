// Structured dynamics whose world answers calls. Who answers one call differs from kind to kind (exact rules, records, a language
// model, a router of all of these); what is done with turns, memories and forks is here, once.

import { concurrently } from '../../core/concurrently.js';
import { type FrozenCarry, type ImagineOptions, type Rngs, type RowCodec, valueRows } from '../../core/dynamics.js';
import type { Awaitable } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { ToolsSpace } from '../../core/spaces.js';
import { applyOperations } from '../state/operations.js';
import { type CallChecks, callChecks } from './call-checks.js';
import { messageOf } from './check-action.js';
import type { ToolSpec, ToolsDomain } from './domain.js';
import type { AssistantMessage, Message, ToolCall } from './message.js';
import type { Operation, Prediction } from './prediction.js';
import { freezeSituation, policyMessage, reviveSituation, type Situation } from './situation.js';
import type { ImaginedTurns, SeenTurn, Situations, StructuredDynamics, StructuredStart } from './structured.js';
import { initialStateOf } from './task-states.js';
import type { CallQuery, Responder, ToolsAction } from './tools-family.js';

/** What is to be answered; `said` is missing where a turn under way goes on. */
interface Asked {
  readonly said?: AssistantMessage;
  readonly calls: readonly ToolCall[];
}

/** A turn while its calls are answered. */
interface Turn {
  readonly situation: Situation;
  readonly predictions: readonly Prediction[];
  /** What the calls so far changed. */
  readonly operations: readonly Operation[];
}

/** A kind of its own says how one call is answered. */
export abstract class CallDynamics implements StructuredDynamics {
  readonly context = 0;
  readonly actionSpace: ToolsSpace;
  private readonly checks: CallChecks;
  private readonly rows: RowCodec<readonly Situation[]>;
  private readonly ending: ReadonlySet<string>;

  /** @throws SCHEMA_INVALID if the parameters of a tool are no JSON Schema */
  constructor(
    readonly domain: ToolsDomain,
    readonly backend: string,
  ) {
    this.checks = callChecks(domain.tools);
    this.actionSpace = toolsSpace(domain.tools);
    this.ending = new Set(domain.tools.filter(({ terminates }) => terminates).map(({ name }) => name));
    this.rows = valueRows(
      (situation) => freezeSituation(domain, situation),
      (frozen) => reviveSituation(domain, frozen),
    );
  }

  abstract readonly version: string;
  abstract trusts(backend: string): boolean;
  abstract answer(query: CallQuery, signal?: AbortSignal): Awaitable<Prediction>;

  /** Of what answers, and of what it is asked about. */
  get modelVersion(): string {
    return `${this.domain.version}/${this.version}`;
  }

  get observationSpace(): ToolsSpace {
    return this.actionSpace;
  }

  begin(starts: readonly StructuredStart[], rngs?: Rngs): Situations {
    this.requireRows('random streams', rngs, starts.length);
    const situations = starts.map(({ task, state, messages, calls = 0, seed, row }, at): Situation => {
      const initial = initialStateOf(this.domain, task);
      return {
        task,
        seed: seed ?? seedOf(rngs, at),
        ...(row === undefined ? {} : { row }),
        ...(state === undefined || state === initial ? {} : { origin: state }),
        state: state ?? initial,
        operations: [],
        messages: messages ?? [policyMessage(this.domain)],
        calls,
        ended: false,
      };
    });
    return { rows: starts.length, situations };
  }

  follow({ rows, situations }: Situations, action: readonly ToolsAction[], seen: readonly SeenTurn[]): Situations {
    this.requireRows('actions', action, rows);
    this.requireRows('observations', seen, rows);
    return { rows, situations: situations.map((situation, row) => this.after(situation, action[row], seen[row])) };
  }

  async imagine(
    { rows, situations }: Situations,
    action: readonly ToolsAction[],
    rngs?: Rngs,
    { signal }: ImagineOptions = {},
  ): Promise<ImaginedTurns> {
    this.requireRows('actions', action, rows);
    this.requireRows('random streams', rngs, rows);
    const begun = situations.map((situation, row) => {
      const asked = this.asked(action[row], situation.messages);
      const messages = asked.said === undefined ? situation.messages : [...situation.messages, asked.said];
      const seed = rngs === undefined ? situation.seed : seedOf(rngs, row);
      return { asked, situation: { ...situation, messages, seed } };
    });
    const turns =
      rows === 1
        ? [await this.turn(begun[0].situation, begun[0].asked, signal)]
        : await concurrently(begun, rows, ({ situation, asked }) => this.turn(situation, asked, signal));
    return this.imagined(
      turns,
      begun.map(({ situation }) => situation.messages.length),
    );
  }

  pick({ situations }: Situations, rows: Uint32Array): Situations {
    return { rows: rows.length, situations: this.rows.pick(situations, rows) };
  }

  join(carries: readonly Situations[]): Situations {
    const situations = this.rows.join(carries.map((carry) => carry.situations));
    return { rows: situations.length, situations };
  }

  freeze({ situations }: Situations): FrozenCarry {
    return { version: this.modelVersion, state: this.rows.pack(situations) };
  }

  /** @throws SNAPSHOT_MISMATCH for a carry of another version, or one that is damaged */
  revive({ version, state }: FrozenCarry): Situations {
    const into = `a model ${this.modelVersion}`;
    if (version !== this.modelVersion) throw reverieError('SNAPSHOT_MISMATCH', { from: `a model ${version}`, into });
    try {
      const situations = this.rows.unpack(state);
      return { rows: situations.length, situations };
    } catch (cause) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: `a damaged memory of ${version}`, into }, cause);
    }
  }

  /** Models, records and environments that were lent are closed by whoever made them. */
  async close(): Promise<void> {}

  private async turn(situation: Situation, { calls }: Asked, signal?: AbortSignal): Promise<Turn> {
    let turn: Turn = { situation, predictions: [], operations: [] };
    for (const call of calls) turn = await this.answered(turn, call, signal);
    return turn;
  }

  private async answered({ situation, ...turn }: Turn, call: ToolCall, signal?: AbortSignal): Promise<Turn> {
    const prediction = await this.predict(situation, call, signal);
    const { observation, isError, operations } = prediction;
    const told: Message = { role: 'tool', toolCallId: call.id, name: call.name, content: observation };
    return {
      predictions: [...turn.predictions, prediction],
      operations: joined(turn.operations, operations),
      situation: {
        ...situation,
        state: applyOperations(situation.state, operations),
        operations: joined(situation.operations, operations),
        messages: [...situation.messages, isError ? { ...told, isError } : told],
        calls: situation.calls + 1,
        ended:
          situation.ended ||
          (prediction.terminated && this.trusts(prediction.backend)) ||
          (!isError && this.ending.has(call.name)),
      },
    };
  }

  /** Calls after one that ended the episode are refused, so that each has its answer. */
  private predict(situation: Situation, call: ToolCall, signal?: AbortSignal): Awaitable<Prediction> {
    const { task, state, messages, calls, seed, row, ended } = situation;
    const problems = ended ? ['the conversation has ended'] : this.checks.problems(call);
    if (problems.length > 0) return this.checks.refuse(problems);
    const query = { domain: this.domain, task, state, messages, call, step: calls, seed };
    return this.answer(row === undefined ? query : { ...query, row }, signal);
  }

  /** @param from where in each row's conversation the answers begin */
  private imagined(turns: readonly Turn[], from: readonly number[]): ImaginedTurns {
    const predictions = turns.map((turn) => turn.predictions);
    const observation = turns.map(({ situation, operations, predictions: answers }, row): SeenTurn => {
      const messages = situation.messages.slice(from[row]);
      return { messages, operations, terminated: answers.some((one) => this.isEnd(one)) };
    });
    return {
      carry: { rows: turns.length, situations: turns.map(({ situation }) => situation) },
      observation,
      reward: Float32Array.from(predictions, (answers) => rewardOf(answers.filter((one) => this.isTrusted(one)))),
      terminated: Uint8Array.from(turns, ({ situation }) => (situation.ended ? 1 : 0)),
      truncated: Uint8Array.from(predictions, (answers) => (answers.some((one) => one.truncated) ? 1 : 0)),
      confidence: Float32Array.from(predictions, (answers) => Math.min(1, ...answers.map((one) => one.confidence))),
      answeredBy: predictions.map(whoAnswered),
      predictions,
    };
  }

  private after(
    before: Situation,
    action: ToolsAction,
    { messages, operations = [], terminated }: SeenTurn,
  ): Situation {
    const isSilent = !action.content?.trim() && !action.toolCalls?.length;
    const said = isSilent ? [] : [messageOf(action, [], this.actionSpace)];
    const answers = messages.filter((message) => message.role === 'tool');
    return {
      ...before,
      state: applyOperations(before.state, operations),
      operations: joined(before.operations, operations),
      messages: [...before.messages, ...said, ...messages],
      calls: before.calls + answers.length,
      ended:
        before.ended ||
        terminated === true ||
        answers.some(({ name, isError = false }) => !isError && this.ending.has(name)),
    };
  }

  /** The action as a message of its own, unless it takes up calls that wait for their answers. */
  private asked(action: ToolsAction, messages: readonly Message[]): Asked {
    const open = openCalls(messages);
    if (open.length > 0) {
      const { toolCalls: calls = [] } = messageOf(action, [], this.actionSpace);
      if (calls.length > 0 && calls.every(({ id }) => open.includes(id))) return { calls };
    }
    const said = messageOf(action, messages, this.actionSpace);
    return { said, calls: said.toolCalls ?? [] };
  }

  private isTrusted({ backend }: Prediction): boolean {
    return this.trusts(backend);
  }

  private isEnd(prediction: Prediction): boolean {
    return prediction.terminated && this.isTrusted(prediction);
  }

  private requireRows(what: string, given: Rngs | readonly unknown[] | undefined, rows: number): void {
    if (given === undefined || given instanceof Rng || given.length === rows) return;
    const problem = `${given.length} ${what} where ${rows} rows need as many.`;
    throw reverieError('MODEL_INPUT_INVALID', { backend: this.backend, problem });
  }
}

/** Whoever answers calls, as dynamics of the domain. */
export function structuredDynamics(domain: ToolsDomain, responder: Responder): StructuredDynamics {
  return responder instanceof CallDynamics && responder.domain === domain ? responder : new Answered(domain, responder);
}

/** Calls answered by somebody else: written by hand, or made for another edition of the domain. */
class Answered extends CallDynamics {
  readonly version: string;

  constructor(
    domain: ToolsDomain,
    private readonly responder: Responder,
  ) {
    super(domain, 'answered');
    this.version = responder.version;
  }

  trusts(backend: string): boolean {
    return this.responder.trusts?.(backend) === true;
  }

  answer(query: CallQuery, signal?: AbortSignal): Awaitable<Prediction> {
    return this.responder.answer(query, signal);
  }

  ended(episode: Parameters<NonNullable<Responder['ended']>>[0]): void {
    this.responder.ended?.(episode);
  }
}

/** What the agent can do in a domain, as functions in JSON Schema. */
function toolsSpace(tools: readonly ToolSpec[]): ToolsSpace {
  const functions = tools.map(({ name, description, parameters }) => {
    return { type: 'function', function: { name, description, parameters } };
  });
  return { type: 'tools', tools: functions };
}

function seedOf(rngs: Rngs | undefined, row: number): number {
  if (rngs === undefined) return 0;
  return (rngs instanceof Rng ? rngs : rngs[row]).uint32();
}

/** Ids of the calls of the agent's last message that nobody has answered. */
function openCalls(messages: readonly Message[]): readonly string[] {
  let at = messages.length - 1;
  const answered: string[] = [];
  for (; at >= 0; at--) {
    const message = messages[at];
    if (message.role !== 'tool') break;
    answered.push(message.toolCallId);
  }
  const last = messages[at];
  if (last?.role !== 'assistant') return [];
  return (last.toolCalls ?? []).map(({ id }) => id).filter((id) => !answered.includes(id));
}

function rewardOf(answers: readonly Prediction[]): number {
  return answers.reduce((sum, { reward }) => sum + (reward ?? 0), 0);
}

function whoAnswered(answers: readonly Prediction[]): string {
  return [...new Set(answers.map(({ backend }) => backend))].join('+') || 'nobody';
}

function joined(before: readonly Operation[], after: readonly Operation[]): readonly Operation[] {
  if (after.length === 0) return before;
  return before.length === 0 ? after : [...before, ...after];
}
