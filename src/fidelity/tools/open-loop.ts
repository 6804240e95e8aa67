// Calls of a conversation that took place somewhere, carried out somewhere else: those of a real episode in a simulation, on its
// own state and its own answers; those of a simulated one for real.

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
import { isSameObservation, type LeafDifference, leafDifferences } from './question.js';

interface CarriedStep {
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

/**
 * @param past messages as they were, policy first
 * @param answer of one call; undefined: none came
 */
async function carryOut(
  domain: ToolsDomain,
  task: ToolsTask,
  past: readonly Message[],
  answer: (query: CallQuery) => Promise<Prediction | undefined>,
  seed: number,
): Promise<CarriedOut> {
  const checks = callChecks(domain.tools);
  const initialState = initialStateOf(domain, task);
  const messages: Message[] = [];
  const steps: CarriedStep[] = [];
  let state = initialState;
  let terminated = false;
  const outcome = (isWhole: boolean) => ({ initialState, finalState: state, messages, steps, terminated, isWhole });
  for (const message of past) {
    if (message.role === 'tool') continue;
    messages.push(message);
    for (const call of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      const problems: readonly string[] = terminated ? ['the conversation has ended'] : checks.problems(call);
      const query = { domain, task, state, messages: [...messages], call, step: steps.length, seed };
      const prediction: Prediction | undefined = problems.length > 0 ? checks.refuse(problems) : await answer(query);
      if (prediction === undefined) return outcome(false);
      const { observation, isError, operations } = prediction;
      state = applyOperations(state, operations);
      steps.push({ call, prediction, state });
      const reply: Message = { role: 'tool', toolCallId: call.id, name: call.name, content: observation };
      messages.push(isError ? { ...reply, isError } : reply);
      const ends = domain.tools.find(({ name }) => name === call.name)?.terminates === true;
      terminated ||= ends && !isError;
    }
  }
  return outcome(true);
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
  return carryOut(domain, task, messages, answer, 0);
}

// A real episode in a simulation: how far it keeps to what happened.

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

/** What a simulation made of a call. */
export interface SimulatedStep {
  readonly call: ToolCall;
  readonly answer: Prediction;
  /** Afterwards; absent where the model keeps none. */
  readonly state?: JsonObject;
}

/** Carries the calls of a real episode out in a simulation. `isWhole` false: an answer was missing, and everything after it is. */
export type CarrySequence = (
  sequence: TrueSequence,
  signal?: AbortSignal,
) => Promise<{ readonly steps: readonly SimulatedStep[]; readonly isWhole: boolean }>;

/** On the simulation's own state, kept here. */
export function carriedBy(responder: Responder, domain: ToolsDomain, seed: number): CarrySequence {
  return async ({ task, messages }, signal) => {
    const answer = (query: CallQuery) => patientAnswer(responder, query, signal);
    const carried = await carryOut(domain, task, messages, answer, seed);
    let isStateless = false;
    const steps = carried.steps.map(({ call, prediction, state }): SimulatedStep => {
      isStateless ||= prediction.stateless === true;
      return { call, answer: prediction, ...(isStateless ? {} : { state }) };
    });
    return { steps, isWhole: carried.isWhole };
  };
}

export type OpenLoopStep = {
  /** null: not known, or the model has no state. */
  readonly state: boolean | null;
  /** null: the environment refuses the call by itself, and no backend was asked. */
  readonly observation: boolean | null;
  /** Whether it is reported as an error where it is one; null as of the observation. */
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

/** The first step after which the simulated state was wrong; where no state is known at all, the first wrong observation. */
type Divergence = {
  readonly step: number;
  readonly call: { readonly name: string; readonly arguments: JsonObject };
  readonly real: Json;
  readonly simulated: Json;
  readonly backend: string;
  readonly confidence: number;
  readonly differences: readonly LeafDifference[];
};

const KEPT_DIFFERENCES = 50;

export async function openLoopRow(
  carry: CarrySequence,
  sequence: TrueSequence,
  episode: number,
  signal?: AbortSignal,
): Promise<OpenLoopRow> {
  const carried = await carry(sequence, signal);
  const known = carried.steps.slice(0, sequence.steps.length);
  const steps = known.map(({ answer, state }, i): OpenLoopStep => {
    const real = sequence.steps[i];
    const isAsked = answer.backend !== 'schema';
    return {
      state: real.state === undefined || state === undefined ? null : stateHash(state) === stateHash(real.state),
      observation: isAsked ? isSameObservation(answer.observation, real.observation) : null,
      error: isAsked ? answer.isError === real.isError : null,
      backend: answer.refused === undefined ? answer.backend : 'refused',
    };
  });
  const knowsState = steps.some(({ state }) => state !== null);
  const first = steps.findIndex(({ state, observation }) => (knowsState ? state : observation) === false);
  const divergence = first < 0 ? null : divergenceAt(known[first], sequence.steps[first], first);
  return { kind: 'open-loop', episode, steps, isWhole: carried.isWhole, divergence };
}

function divergenceAt({ call, answer, state }: SimulatedStep, real: TrueStep, step: number): Divergence {
  const { observation, isError, operations, backend, confidence } = answer;
  const isKnown = real.state !== undefined && state !== undefined;
  const wrong = isKnown ? leafDifferences(real.state, state).slice(0, KEPT_DIFFERENCES) : [];
  return {
    step,
    call: { name: call.name, arguments: call.arguments },
    real: { observation: real.observation, isError: real.isError },
    simulated: { observation, isError, operations: operations as unknown as Json },
    backend,
    confidence,
    differences: wrong,
  };
}
