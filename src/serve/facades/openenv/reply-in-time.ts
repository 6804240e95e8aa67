// A reply in time or none: a client of the reference gives up after 60 s and then takes a late reply for that of its next
// message, for ever. An operator's own deadline may be longer, as other protocols can wait.

import { reverieError } from '../../../errors.js';

export interface ReplyLimits {
  /** From the message to its reply, waiting for a slot included. */
  readonly seconds: number;
  /** More, for an environment that does not stop when it is told to. */
  readonly graceSeconds: number;
}

export const REPLY_LIMITS: ReplyLimits = { seconds: 55, graceSeconds: 2 };

/**
 * What `work` answers. It is told to stop when time is up, and is not waited for where it does not: what it answers
 * then is dropped, and the session takes its next request when it has ended.
 * @throws STEP_DEADLINE, what `gone` is aborted with, what `work` throws
 */
export function inTime<R>(
  work: (signal: AbortSignal) => Promise<R>,
  { seconds, graceSeconds }: ReplyLimits,
  gone?: AbortSignal,
): Promise<R> {
  const stop = new AbortController();
  // Made only when it is needed: an error takes down where it was made, which costs more than most steps.
  const late = () => reverieError('STEP_DEADLINE', { seconds });
  const leave = () => stop.abort(gone?.reason);
  gone?.addEventListener('abort', leave, { once: true });
  const stopping = setTimeout(() => stop.abort(late()), seconds * 1000);
  return new Promise<R>((resolve, reject) => {
    const givingUp = setTimeout(() => reject(late()), (seconds + graceSeconds) * 1000);
    work(stop.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(stopping);
        clearTimeout(givingUp);
        gone?.removeEventListener('abort', leave);
      });
  });
}
