// What answers a tool call, exact or simulated: changes of a typed state, and what the agent is shown of them.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';

/** JSON Patch, RFC 6902: paths are JSON Pointers (RFC 6901) into the state. */
export type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

/**
 * Checks of a proposal against the typed state, and `repeated`: a repeated read of an unchanged state has the same answer. A tool and
 * a scenario may skip some.
 */
export const STATE_CHECKS = ['values', 'unknown', 'missing', 'unchanged', 'named', 'records', 'repeated'] as const;
export type StateCheck = (typeof STATE_CHECKS)[number];

/** `unchecked`: the answer could not be parsed. */
export type CheckFinding = 'held' | 'unchecked' | 'refused';

/** A fault injected into a call; stored with the episode and hidden from the agent. */
export interface Fault {
  /** Index of the scenario's fault, from 0. */
  readonly rule: number;
  readonly kind:
    | ('error' | 'rate-limit' | 'latency' | 'lost-answer')
    | ('stale' | 'truncated' | 'reordered' | 'injection');
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject };
  /** Number of earlier calls in the episode, and of the agent's turns. */
  readonly number: number;
  readonly turn: number;
  /** How a correct agent reacts. */
  readonly expect: 'retry' | 'read-again' | 'ignore' | 'tell' | 'none';
  /** The true answer, if another one was shown. */
  readonly answer?: string;
  /** Delay of the answer in seconds. */
  readonly seconds?: number;
  /** The call that a hidden instruction asks for; it must not be made. */
  readonly never?: { readonly name: string; readonly arguments: JsonObject };
}

export interface Prediction {
  /** The model's thoughts, written before its answer; kept for audits, never shown to the agent. */
  readonly reasoning?: string;
  /** Changes of the state, already validated and applicable; empty for reads and refusals. */
  readonly operations: readonly Operation[];
  /** What the agent is shown: the content of the tool message. */
  readonly observation: string;
  /** Whether the observation reports an error of the call. */
  readonly isError: boolean;
  /** Reward of this call where the backend gives one; null where only the end of the episode is judged. */
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** What a language model claims of reward and end. Recorded for audits only: nothing is paid or ended by it. */
  readonly claimed?: { readonly reward: number | null; readonly terminated: boolean };
  /** In [0, 1]; 1 for exact backends. */
  readonly confidence: number;
  /**
   * Who answered: `schema` (refused before anybody was asked), `rules`, `replay`, `llm`, `real`, or a backend of a user's. How
   * far it is trusted is said by its caller, and never by its name.
   */
  readonly backend: string;
  readonly modelVersion: string;
  /** Why this backend answered, and what those before it said: one line each. */
  readonly why: readonly string[];
  /** Problems for which a proposal was refused after one repair; absent where nothing was refused. */
  readonly refused?: readonly string[];
  /** Whether the proposal that stands is the repaired one. */
  readonly repaired?: boolean;
  /** Results of the state checks, the worst over all proposals for this call; absent if the answer is exact. */
  readonly checks?: Readonly<Partial<Record<StateCheck, CheckFinding>>>;
  readonly fault?: Fault;
  readonly cost: Cost;
}

/** What a call does, by any backend; most leave reward and end to others. */
type Outcome = Pick<Prediction, 'operations' | 'observation' | 'isError'> & {
  readonly reward?: number;
  readonly terminated?: boolean;
};

/** An exact backend's answer as a prediction. */
export function exactPrediction(
  { operations, observation, isError, reward, terminated = false }: Outcome,
  { backend, modelVersion, why }: Pick<Prediction, 'backend' | 'modelVersion' | 'why'>,
): Prediction {
  const told = { operations, observation, isError, reward: reward ?? null, terminated, truncated: false };
  return { ...told, confidence: 1, backend, modelVersion, why, cost: NO_COST };
}

/** What the agent is shown of a call that must fail. */
export function refusalOf(reasons: readonly string[]): Outcome {
  return { operations: [], observation: `Error: ${reasons.join('; ')}`, isError: true };
}
