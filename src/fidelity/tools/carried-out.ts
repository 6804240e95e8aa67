// Calls of a conversation that took place somewhere, carried out somewhere else: those of a real episode in a dream, on the
// dream's own state; those of a dreamt one for real.

import type { JsonObject } from '../../core/json.js';
import {
  applyOperations,
  type CallQuery,
  callChecks,
  initialStateOf,
  type Message,
  type Prediction,
  type Responder,
  rulesResponder,
  type ToolCall,
  type ToolsDomain,
  type ToolsTask,
} from '../../env/index.js';
import { patientAnswer } from './patience.js';

export interface CarriedStep {
  readonly call: ToolCall;
  /** Calls of unknown tools, with arguments that break a schema, or after the end are refused by the environment itself. */
  readonly prediction: Prediction;
  /** Afterwards. */
  readonly state: JsonObject;
}

export interface CarriedOut {
  readonly initialState: JsonObject;
  readonly finalState: JsonObject;
  /** The conversation with the answers that calls were given here; what was said is as it was. */
  readonly messages: readonly Message[];
  readonly steps: readonly CarriedStep[];
  /** Whether a tool that ends conversations did so. */
  readonly terminated: boolean;
  /** false: a call got no answer, and everything after it is missing. */
  readonly isWhole: boolean;
}

export interface CarryOutRequest {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  /** As it took place, policy first. */
  readonly messages: readonly Message[];
  /** Undefined: no answer. */
  readonly answer: (query: CallQuery) => Promise<Prediction | undefined>;
  readonly seed: number;
}

export async function carryOut(request: CarryOutRequest): Promise<CarriedOut> {
  const stage = new Stage(request);
  for (const message of request.messages) {
    if (message.role === 'tool') continue;
    stage.messages.push(message);
    for (const call of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      if (!(await stage.take(call))) return stage.outcome(false);
    }
  }
  return stage.outcome(true);
}

/** Carried out for real, by the domain's rules; not whole where these do not know a tool. */
export function carryOutForReal(
  domain: ToolsDomain,
  task: ToolsTask,
  messages: readonly Message[],
): Promise<CarriedOut> {
  const real = rulesResponder(domain);
  const answer = async (query: CallQuery) =>
    domain.rules?.tools.has(query.call.name) ? (real.answer(query) as Prediction) : undefined;
  return carryOut({ domain, task, messages, answer, seed: 0 });
}

/** Answers of a model, one that is slow or garbled once being no answer. */
export function answersOf(responder: Responder, signal?: AbortSignal): CarryOutRequest['answer'] {
  return (query) => patientAnswer(responder, query, signal);
}

/** Where things stand. */
class Stage {
  readonly messages: Message[] = [];
  private readonly steps: CarriedStep[] = [];
  private readonly initialState: JsonObject;
  private state: JsonObject;
  private terminated = false;

  constructor(private readonly request: CarryOutRequest) {
    this.initialState = initialStateOf(request.domain, request.task);
    this.state = this.initialState;
  }

  /** Whether the call got an answer. */
  async take(call: ToolCall): Promise<boolean> {
    const prediction = await this.answer(call);
    if (prediction === undefined) return false;
    const { observation, isError, operations } = prediction;
    this.state = applyOperations(this.state, operations);
    this.steps.push({ call, prediction, state: this.state });
    const told: Message = { role: 'tool', toolCallId: call.id, name: call.name, content: observation };
    this.messages.push(isError ? { ...told, isError } : told);
    const ends = this.request.domain.tools.find(({ name }) => name === call.name)?.terminates === true;
    this.terminated ||= ends && !isError;
    return true;
  }

  outcome(isWhole: boolean): CarriedOut {
    const { initialState, state: finalState, messages, steps, terminated } = this;
    return { initialState, finalState, messages, steps, terminated, isWhole };
  }

  private async answer(call: ToolCall): Promise<Prediction | undefined> {
    const { domain, task, answer, seed } = this.request;
    const checks = callChecks(domain.tools);
    const problems = this.terminated ? ['the conversation has ended'] : checks.problems(call);
    if (problems.length > 0) return checks.refuse(problems);
    const { state, steps } = this;
    return answer({ domain, task, state, messages: [...this.messages], call, step: steps.length, seed });
  }
}
