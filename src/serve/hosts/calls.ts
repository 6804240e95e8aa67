// What environments in a thread ask of the thread that serves, e.g. a language model that all share: both ends of it. A call
// that is given up is ended over there, too, and a thread that dies gives up all of its calls.

import { type PackedError, packError, ReverieError, unpackError } from '../../core/errors.js';

/** From a thread. */
export type CallMessage =
  | { readonly kind: 'call'; readonly call: number; readonly model: string; readonly request: unknown }
  | { readonly kind: 'hang-up'; readonly call: number };

/** To a thread. */
export interface CallAnswer {
  readonly kind: 'told';
  readonly call: number;
  readonly value?: unknown;
  readonly error?: WholeError;
}

/** An error with its values as they are: a reply that could not be used says there what it cost. */
interface WholeError {
  readonly packed: PackedError;
  readonly values?: Record<string, unknown>;
}

function packWhole(error: unknown): WholeError {
  return { packed: packError(error), ...(error instanceof ReverieError && { values: error.values }) };
}

function unpackWhole({ packed, values }: WholeError): Error {
  const error = unpackError(packed);
  if (error instanceof ReverieError) Object.assign(error.values, values);
  return error;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The end in the thread. */
export class Calls {
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(private readonly send: (message: CallMessage) => void) {}

  /** @throws what the answer is; what `signal` is aborted with, at once */
  ask(model: string, request: unknown, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const call = ++this.last;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.waiting.delete(call);
        this.send({ kind: 'hang-up', call });
        reject(signal?.reason);
      };
      const leave = () => signal?.removeEventListener('abort', onAbort);
      this.waiting.set(call, {
        resolve: (value) => {
          leave();
          resolve(value);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.send({ kind: 'call', call, model, request });
    });
  }

  told({ call, value, error }: CallAnswer): void {
    const waiting = this.waiting.get(call);
    this.waiting.delete(call);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(unpackWhole(error));
  }
}

/** Answers what environments of a model ask. */
export type Answering = (request: unknown, signal: AbortSignal) => Promise<unknown>;

/** The end in the thread that serves, for one life of a thread. */
export class AnsweredCalls {
  private readonly under = new Map<number, AbortController>();

  constructor(
    private readonly answeringOf: (model: string) => Answering,
    private readonly send: (answer: CallAnswer) => void,
  ) {}

  async take(message: CallMessage): Promise<void> {
    const { call } = message;
    if (message.kind === 'hang-up') {
      this.under.get(call)?.abort();
      return;
    }
    const { model, request } = message;
    const stop = new AbortController();
    this.under.set(call, stop);
    try {
      this.send({ kind: 'told', call, value: await this.answeringOf(model)(request, stop.signal) });
    } catch (error) {
      this.send({ kind: 'told', call, error: packWhole(error) });
    } finally {
      this.under.delete(call);
    }
  }

  /** Nobody waits any more. */
  hangUp(): void {
    for (const stop of this.under.values()) stop.abort();
  }
}
