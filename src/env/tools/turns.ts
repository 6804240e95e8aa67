// Turns of an agent in a typed world: calls are checked, answered one after the other, and applied to the state.

import type { ToolsSpace } from '../../core/environment.js';
import { applyOperations } from '../state/operations.js';
import { type CallChecks, callChecks } from './call-checks.js';
import { messageOf } from './check-action.js';
import type { ToolSpec, ToolsDomain } from './domain.js';
import type { Message, ToolCall } from './message.js';
import type { Prediction } from './prediction.js';
import type { Situation } from './situation.js';
import type { Responder, ToolsAction } from './tools-family.js';

export interface PlayedTurn {
  readonly situation: Situation;
  /** One for each call, in order. */
  readonly predictions: readonly Prediction[];
}

export class Turns {
  readonly actionSpace: ToolsSpace;
  private readonly checks: CallChecks;
  private readonly ending: ReadonlySet<string>;

  /** @throws SCHEMA_INVALID if the parameters of a tool are no JSON Schema */
  constructor(
    private readonly domain: ToolsDomain,
    private readonly responder: Responder,
  ) {
    this.checks = callChecks(domain.tools);
    this.actionSpace = toolsSpace(domain.tools);
    this.ending = new Set(domain.tools.filter(({ terminates }) => terminates).map(({ name }) => name));
  }

  /** What is not declared is not trusted. */
  trusts({ backend }: Prediction): boolean {
    return this.responder.trusts?.(backend) === true;
  }

  /**
   * The situation after the agent's message and the answers to its calls. Only a trusted backend or a tool that ends the
   * conversation ends it.
   * @throws ACTION_OUT_OF_SPACE; what the responder throws
   */
  async play(before: Situation, action: ToolsAction, signal?: AbortSignal): Promise<PlayedTurn> {
    const said = messageOf(action, before.messages, this.actionSpace);
    let situation: Situation = { ...before, messages: [...before.messages, said] };
    const predictions: Prediction[] = [];
    for (const call of said.toolCalls ?? []) {
      const prediction = await this.answer(situation, call, signal);
      predictions.push(prediction);
      situation = this.after(situation, call, prediction);
    }
    return { situation, predictions };
  }

  private after(before: Situation, { id, name }: ToolCall, prediction: Prediction): Situation {
    const { observation, isError, operations, terminated } = prediction;
    const answer: Message = { role: 'tool', toolCallId: id, name, content: observation };
    return {
      ...before,
      state: applyOperations(before.state, operations),
      operations: operations.length === 0 ? before.operations : [...before.operations, ...operations],
      messages: [...before.messages, isError ? { ...answer, isError } : answer],
      calls: before.calls + 1,
      ended: before.ended || (terminated && this.trusts(prediction)) || (!isError && this.ending.has(name)),
    };
  }

  /** Calls after one that ended the episode are refused, so that each has its answer. */
  private answer(situation: Situation, call: ToolCall, signal?: AbortSignal) {
    const { task, state, messages, calls, seed, row, ended } = situation;
    const problems = ended ? ['the conversation has ended'] : this.checks.problems(call);
    if (problems.length > 0) return this.checks.refuse(problems);
    const query = { domain: this.domain, task, state, messages, call, step: calls, seed };
    return this.responder.answer(row === undefined ? query : { ...query, row }, signal);
  }
}

/** What the agent can do in a domain, as functions in JSON Schema. */
function toolsSpace(tools: readonly ToolSpec[]): ToolsSpace {
  const functions = tools.map(({ name, description, parameters }) => {
    return { type: 'function', function: { name, description, parameters } };
  });
  return { type: 'tools', tools: functions };
}
