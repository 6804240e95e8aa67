// What passes between the thread that serves and the threads that environments live in. What is said in one turn of the event
// loop travels as one list.

import type { Environment, EnvSnapshot } from '../../core/environment.js';
import { type PackedError, packError, ReverieError, unpackError } from '../../core/errors.js';
import type { Blueprint } from '../../run/servable.js';
import type { AnswerOf, Command } from '../core/world.js';

export type Question =
  | { readonly kind: 'make'; readonly model: string }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'close' }
  | Command;

export interface Description extends Pick<Environment, 'id' | 'family' | 'observationSpace' | 'actionSpace'> {
  readonly maxEpisodeSteps?: number;
}

export interface Answers extends AnswerOf {
  readonly make: Description;
  readonly snapshot: EnvSnapshot;
  readonly close: undefined;
}

/** To a thread. */
export type HostMessage =
  | { readonly kind: 'load'; readonly model: string; readonly blueprint: Blueprint }
  | { readonly kind: 'ask'; readonly id: number; readonly env: number; readonly question: Question }
  /** The answer to this request is no longer awaited. */
  | { readonly kind: 'cancel'; readonly id: number; readonly reason: PackedError }
  /** The answer to a call. */
  | ({ readonly kind: 'replied'; readonly call: number } & Outcome)
  /** It is to end. */
  | { readonly kind: 'leave' };

/** From a thread. */
export type ThreadMessage =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'answered'; readonly id: number } & Outcome)
  /** An environment asks the thread that serves, e.g. a language model. */
  | { readonly kind: 'call'; readonly call: number; readonly model: string; readonly request: unknown }
  | { readonly kind: 'hang-up'; readonly call: number };

/** What a thread is told when it starts. */
export interface ThreadData {
  /** URL of a module with `environmentMaker`; that of the package unless given. */
  readonly maker?: string;
  /** Rows of a model's step at most; 1: no batches. */
  readonly batchRows: number;
}

interface Outcome {
  readonly value?: unknown;
  readonly error?: PackedError;
  /** Of the error, as they are: a reply that could not be used says there what it cost. */
  readonly values?: Record<string, unknown>;
}

/** @param isWhole  with an error's values as they are, not as text */
export async function outcomeOf(work: () => Promise<unknown>, isWhole = false): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error: packError(error), ...(isWhole && error instanceof ReverieError && { values: error.values }) };
  }
}

/** @throws the error that `outcome` holds */
export function valueIn({ value, error: packed, values }: Outcome): unknown {
  if (packed === undefined) return value;
  const error = unpackError(packed);
  if (error instanceof ReverieError) Object.assign(error.values, values);
  throw error;
}

/** Sends what comes within one turn of the event loop together. */
export function sender<M>(post: (messages: readonly M[]) => void): (message: M) => void {
  let waiting: M[] = [];
  return (message) => {
    if (waiting.length === 0) {
      setImmediate(() => {
        const messages = waiting;
        waiting = [];
        post(messages);
      });
    }
    waiting.push(message);
  };
}
