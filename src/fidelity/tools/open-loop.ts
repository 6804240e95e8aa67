// A real episode's calls carried out in the dream, on its own state and its own answers: how far it keeps to what happened.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { takeTurn } from '../../core/threads.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import { callChecks } from '../../env/tools/check-action.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import { patientAnswer } from './answers.js';
import { leafDifferences } from './distances.js';
import { isSameObservation } from './question.js';

/** A call of a real episode, with what is known of it. */
export interface TrueStep {
  readonly observation: string;
  readonly isError: boolean;
  /** The state afterwards; absent where it is not known. */
  readonly state?: JsonObject;
}

/** A real episode, as far as it can be carried out again. */
export interface TrueSequence {
  /** Names it in reports. */
  readonly id: string;
  readonly task: ToolsTask;
  readonly messages: readonly Message[];
  /** One for each call, in order. */
  readonly steps: readonly TrueStep[];
}

export type OpenLoopStep = {
  /** null: not known, or the model has no state. */
  readonly state: boolean | null;
  /** null: the environment refuses the call by itself, and nobody was asked. */
  readonly observation: boolean | null;
  /** Whether it is told as an error where it is one; null as of the observation. */
  readonly error: boolean | null;
  readonly backend: string;
};

export type OpenLoopRow = {
  readonly kind: 'open-loop';
  readonly episode: number;
  readonly steps: readonly OpenLoopStep[];
  /** false: an answer was missing, so that the rest is not known. */
  readonly isWhole: boolean;
  readonly divergence: Divergence | null;
};

/** The first step after which the dreamt state was wrong; where no state is known at all, the first wrong observation. */
export type Divergence = {
  readonly step: number;
  readonly call: Json;
  readonly real: Json;
  readonly dreamt: Json;
  readonly backend: string;
  readonly confidence: number;
  readonly differences: readonly { readonly path: string; readonly real?: Json; readonly dreamt?: Json }[];
};

const KEPT_DIFFERENCES = 50;

/** What a dream made of a call. */
export interface DreamtStep {
  readonly call: ToolCall;
  readonly answer: Pick<Prediction, 'observation' | 'isError' | 'operations' | 'confidence' | 'refused'> & {
    readonly backend: string;
  };
  /** Of the state afterwards; null where it is not known, or there is none. */
  readonly hash: string | null;
  /** The state itself, where it can be looked at. */
  readonly state?: JsonObject;
}

export interface DreamtSequence {
  readonly steps: readonly DreamtStep[];
  /** false: an answer was missing, and everything after it is. */
  readonly isWhole: boolean;
}

/** Carries the calls of a real episode out in a dream. */
export type CarrySequence = (sequence: TrueSequence, signal?: AbortSignal) => Promise<DreamtSequence>;

/** On the dream's own state, kept here. */
export function carriedBy(
  responder: Responder,
  { domain, seed }: { readonly domain: ToolsDomain; readonly seed: number },
): CarrySequence {
  return async ({ task, messages }, signal) => {
    const dreamt = await carryOut({ domain, task, messages, answer: answersOf(responder, signal), seed });
    let isStateless = false;
    const steps = dreamt.steps.map(({ call, prediction, state }): DreamtStep => {
      isStateless ||= prediction.stateless === true;
      return { call, answer: prediction, ...(isStateless ? { hash: null } : { hash: stateHash(state), state }) };
    });
    return { steps, isWhole: dreamt.isWhole };
  };
}

export interface OpenLoopRequest {
  readonly sequence: TrueSequence;
  readonly episode: number;
  readonly carry: CarrySequence;
  readonly signal?: AbortSignal;
}

export async function openLoopRow({ sequence, episode, carry, signal }: OpenLoopRequest): Promise<OpenLoopRow> {
  const dreamt = await carry(sequence, signal);
  const known = dreamt.steps.slice(0, sequence.steps.length);
  const steps = known.map((step, i) => comparedStep(step, sequence.steps[i]));
  const first = firstWrong(steps);
  const divergence = first < 0 ? null : divergenceAt(known[first], sequence.steps[first], first);
  return { kind: 'open-loop', episode, steps, isWhole: dreamt.isWhole, divergence };
}

function comparedStep({ answer, hash }: DreamtStep, real: TrueStep): OpenLoopStep {
  const isAsked = answer.backend !== 'schema';
  return {
    state: real.state === undefined || hash === null ? null : hash === stateHash(real.state),
    observation: isAsked ? isSameObservation(answer.observation, real.observation) : null,
    error: isAsked ? answer.isError === real.isError : null,
    backend: answer.refused === undefined ? answer.backend : 'refused',
  };
}

function firstWrong(steps: readonly OpenLoopStep[]): number {
  const knowsState = steps.some(({ state }) => state !== null);
  return steps.findIndex(({ state, observation }) => (knowsState ? state : observation) === false);
}

function divergenceAt({ call, answer, state }: DreamtStep, real: TrueStep, step: number): Divergence {
  const isKnown = real.state !== undefined && state !== undefined;
  const wrong = isKnown ? leafDifferences(real.state, state).slice(0, KEPT_DIFFERENCES) : [];
  return {
    step,
    call: { name: call.name, arguments: call.arguments },
    real: { observation: real.observation, isError: real.isError },
    dreamt: {
      observation: answer.observation,
      isError: answer.isError,
      operations: answer.operations as unknown as Json,
    },
    backend: answer.backend,
    confidence: answer.confidence,
    differences: wrong.map(({ path, first, second }) => ({
      path,
      ...(first === undefined ? {} : { real: first }),
      ...(second === undefined ? {} : { dreamt: second }),
    })),
  };
}

// Calls of a conversation that took place somewhere, carried out somewhere else: those of a real episode in a dream, on the
// dream's own state; those of a dreamt one for real.

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
  signal?: AbortSignal,
): Promise<CarriedOut> {
  const real = rulesResponder(domain);
  const answer = async (query: CallQuery) => {
    await takeTurn();
    signal?.throwIfAborted();
    return domain.rules?.tools.has(query.call.name) ? (real.answer(query) as Prediction) : undefined;
  };
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
