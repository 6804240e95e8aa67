// Work that must answer in time or count for nothing: OpenEnv's client takes a late answer for that of the next step.

import { reverieError } from '../../errors.js';

export interface DeadlineOptions {
  /** Of whoever asked: aborted when it has left. */
  readonly signal?: AbortSignal;
  /** Undoes work that ended after all. */
  readonly takeBack?: () => Promise<void>;
}

/**
 * Runs `work` for at most `seconds`; it is told by its signal when to stop. Settles only once the work has: then the
 * state is what it was before.
 * @throws STEP_DEADLINE, what `signal` is aborted with, what `work` throws
 */
export async function withDeadline<R>(
  seconds: number,
  work: (signal: AbortSignal) => Promise<R>,
  { signal, takeBack }: DeadlineOptions = {},
): Promise<R> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(reverieError('STEP_DEADLINE', { seconds })), seconds * 1000);
  const onAbort = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const result = await work(stop.signal);
    if (!stop.signal.aborted) return result;
    await takeBack?.();
    throw stop.signal.reason;
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
