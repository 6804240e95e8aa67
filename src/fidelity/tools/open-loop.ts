// A real episode's calls carried out in the dream, on its own state and its own answers: how far it keeps to what happened.

import type { Json, JsonObject } from '../../core/json.js';
import {
  type Message,
  type Prediction,
  type Responder,
  stateHash,
  type ToolCall,
  type ToolsDomain,
  type ToolsTask,
} from '../../env/index.js';
import { answersOf, carryOut } from './carried-out.js';
import { isSameObservation } from './read-backs.js';
import { leafDifferences } from './state-distance.js';

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
