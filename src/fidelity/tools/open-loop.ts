// A real episode's calls carried out in the dream, on its own state and its own answers: how far it keeps to what happened.

import { type Message, type Responder, stateHash, type ToolsDomain, type ToolsTask } from '../../env/index.js';
import type { Json, JsonObject } from '../../json.js';
import { answersOf, type CarriedStep, carryOut } from './carried-out.js';
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

/** The first step after which the dreamt state was wrong. */
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

export interface OpenLoopRequest {
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly sequence: TrueSequence;
  readonly episode: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

export async function openLoopRow(request: OpenLoopRequest): Promise<OpenLoopRow> {
  const { domain, responder, sequence, episode, seed, signal } = request;
  const { task, messages } = sequence;
  const dreamt = await carryOut({ domain, task, messages, answer: answersOf(responder, signal), seed });
  const known = dreamt.steps.slice(0, sequence.steps.length);
  const isStateless = known.map((_, i) => known.slice(0, i + 1).some(({ prediction }) => prediction.stateless));
  const steps = known.map((step, i) => comparedStep(step, sequence.steps[i], isStateless[i]));
  const first = steps.findIndex(({ state }) => state === false);
  const divergence = first < 0 ? null : divergenceAt(known[first], sequence.steps[first], first);
  return { kind: 'open-loop', episode, steps, isWhole: dreamt.isWhole, divergence };
}

function comparedStep({ prediction, state }: CarriedStep, real: TrueStep, isStateless: boolean): OpenLoopStep {
  const isKnown = real.state !== undefined && !isStateless;
  return {
    state: isKnown ? stateHash(state) === stateHash(real.state!) : null,
    observation: prediction.backend === 'schema' ? null : isSameObservation(prediction.observation, real.observation),
    backend: prediction.refused === undefined ? prediction.backend : 'refused',
  };
}

function divergenceAt({ call, prediction, state }: CarriedStep, real: TrueStep, step: number): Divergence {
  const wrong = leafDifferences(real.state!, state).slice(0, KEPT_DIFFERENCES);
  return {
    step,
    call: { name: call.name, arguments: call.arguments },
    real: { observation: real.observation, isError: real.isError },
    dreamt: {
      observation: prediction.observation,
      isError: prediction.isError,
      operations: prediction.operations as unknown as Json,
    },
    backend: prediction.backend,
    confidence: prediction.confidence,
    differences: wrong.map(({ path, first, second }) => ({
      path,
      ...(first === undefined ? {} : { real: first }),
      ...(second === undefined ? {} : { dreamt: second }),
    })),
  };
}
