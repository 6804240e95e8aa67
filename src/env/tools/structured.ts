// The contract of structured worlds (src/core/dynamics.ts): typed state, changed by operations, rendered as a conversation. What a
// row remembers is where its episode stands, an action is a turn of the agent's, and what follows are the answers to its calls.

import type { Carry, Dynamics, Imagined, ImagineOptions, Rngs, Rows } from '../../core/dynamics.js';
import type { JsonObject } from '../../core/json.js';
import type { ToolsSpace } from '../../core/spaces.js';
import type { ToolsDomain, ToolsTask } from './domain.js';
import type { Message } from './message.js';
import type { Operation, Prediction } from './prediction.js';
import type { Situation } from './situation.js';
import type { Responder, ToolsAction, ToolsObservation } from './tools-family.js';

/** What a row begins from: a task, or anywhere on the way. */
export interface StructuredStart {
  readonly task: ToolsTask;
  /** The task's initial one unless given. */
  readonly state?: JsonObject;
  /**
   * The conversation so far, policy first; the policy alone unless given. It may end within a turn: calls that the agent's
   * last message makes, and nobody has answered, can be asked for.
   */
  readonly messages?: readonly Message[];
  /** Calls answered so far; 0 unless given. */
  readonly calls?: number;
  /** Of what its models draw; drawn from the row's stream unless given. */
  readonly seed?: number;
  readonly row?: number;
}

/** What followed a turn: the messages after it. */
export interface SeenTurn extends ToolsObservation {
  /** What the answers changed, where it is known. */
  readonly operations?: readonly Operation[];
  /** Whether the world ended the episode with it, where no tool says so. */
  readonly terminated?: boolean;
}

/** Rows of structured worlds: values, one a row. */
export interface StructuredRows extends Rows {
  readonly starts: readonly StructuredStart[];
  readonly observations: readonly SeenTurn[];
  readonly actions: readonly ToolsAction[];
}

/**
 * Where each row stands. Unlike other models' memories it may be looked at: state and conversation are what a structured world
 * consists of, whoever dreams it, and environments, judges and servers read them.
 */
export interface Situations extends Carry {
  readonly situations: readonly Situation[];
}

export interface ImaginedTurns extends Imagined<Situations, readonly SeenTurn[]> {
  readonly confidence: Float32Array;
  readonly truncated: Uint8Array;
  /** Backends joined by `+`, in the order of the calls; `nobody` for a turn without calls. */
  readonly answeredBy: readonly string[];
  /** Of each row, one for each call of its turn. */
  readonly predictions: readonly (readonly Prediction[])[];
}

/**
 * Dynamics of a structured world. Words that the agent says without a call are taken into the conversation and answered by
 * nobody: what a user said is seen, and shown by `follow`. Rewards and ends are those of trusted backends, and of tools that
 * end the conversation.
 */
export interface StructuredDynamics extends Dynamics<Situations, StructuredRows>, Responder {
  readonly domain: ToolsDomain;
  readonly observationSpace: ToolsSpace;
  readonly actionSpace: ToolsSpace;
  trusts(backend: string): boolean;
  /** @throws MODEL_INPUT_INVALID for streams of another number of rows */
  begin(starts: readonly StructuredStart[], rngs?: Rngs): Situations;
  /** An empty turn is one of somebody else: only what was seen is taken in. Changes that are not known are not made. */
  follow(carry: Situations, action: readonly ToolsAction[], seen: readonly SeenTurn[]): Situations;
  /**
   * Rows are answered side by side. Streams, where they are given, give each row a new seed, so that forks that do the same go
   * different ways; without them a row goes on with its own seed, as an episode does.
   */
  imagine(
    carry: Situations,
    action: readonly ToolsAction[],
    rngs?: Rngs,
    options?: ImagineOptions,
  ): Promise<ImaginedTurns>;
  close(): Promise<void>;
}
