// Requests that carry an id are done once, however often they are sent: a repeated one gets the first one's answer, and
// waits for it while the first is under way. What failed changed nothing, so it may be tried again.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Deadline } from './queues.js';

/** Answers kept for requests that are sent again: the latest. */
export const REMEMBERED = 16;

interface Call {
  readonly print: string;
  readonly answer: Promise<unknown>;
  /** Absent once it is remembered. */
  readonly deadline?: Deadline;
  /** How many wait for it: it is called off when the last of them has left. */
  waiting: number;
  isAnswered: boolean;
}

export interface RepeatableRequest {
  /** The request's own id; without one it is done anew whenever it is sent. */
  readonly id?: string;
  /** What is asked: a repeated request asks the same. */
  readonly kind: string;
  readonly content: unknown;
}

export class RequestMemory {
  private readonly calls = new Map<string, Call>();

  /**
   * The answer to a request: `begin`s it unless it was sent before. Whoever asks may leave by `signal`, which is not aborted
   * yet; the work is called off only when nobody waits for it any more.
   * @throws REQUEST_CONFLICT where another request had this id; what `signal` is aborted with; what `begin` throws
   */
  ask<R>(
    { id, kind, content }: RepeatableRequest,
    deadline: Deadline,
    signal: AbortSignal | undefined,
    begin: () => Promise<R>,
  ): Promise<R> {
    if (id === undefined)
      return attend({ print: '', answer: begin(), deadline, waiting: 0, isAnswered: false }, signal);
    const print = printOf(kind, content);
    const known = this.calls.get(id);
    if (known !== undefined) {
      if (known.print !== print) throw reverieError('REQUEST_CONFLICT', { id });
      return attend(known, signal);
    }
    return attend(this.add(id, { print, answer: begin(), deadline, waiting: 0, isAnswered: false }), signal);
  }

  /** An answer that was given before, e.g. by a server that has ended. */
  remember(id: string, print: string, answer: unknown): void {
    this.calls.set(id, { print, answer: Promise.resolve(answer), waiting: 0, isAnswered: true });
  }

  private add(id: string, call: Call): Call {
    this.calls.set(id, call);
    call.answer.then(
      () => {
        call.isAnswered = true;
        this.forgetOld();
      },
      () => this.calls.delete(id),
    );
    return call;
  }

  private forgetOld(): void {
    const answered = [...this.calls].filter(([, { isAnswered }]) => isAnswered);
    for (const [id] of answered.slice(0, Math.max(0, answered.length - REMEMBERED))) this.calls.delete(id);
  }
}

/** Tells requests apart: a digest of what they ask. */
export function printOf(kind: string, content: unknown): string {
  const isRow = content instanceof Float32Array;
  const bytes = isRow ? new Uint8Array(content.buffer, content.byteOffset, content.byteLength) : canonicalJson(content);
  return createHash('sha256')
    .update(kind)
    .update(bytes ?? '')
    .digest('base64');
}

function attend<R>(call: Call, signal: AbortSignal | undefined): Promise<R> {
  call.waiting++;
  if (signal === undefined) return call.answer as Promise<R>;
  return new Promise<R>((resolve, reject) => {
    const leave = () => {
      call.waiting--;
      if (call.waiting === 0) call.deadline?.callOff(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    const stayed = () => signal.removeEventListener('abort', leave);
    (call.answer as Promise<R>).then(
      (answer) => {
        stayed();
        resolve(answer);
      },
      (error) => {
        stayed();
        reject(error);
      },
    );
  });
}
