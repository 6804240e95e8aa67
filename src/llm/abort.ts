// Listening for the end of a run: thousands of calls share one signal, which would search all of its listeners for each
// one that is taken off.

/** Tells that a call is called off. As an AbortSignal, and a tenth of its price: calls that are shared have one each. */
export class Cancellation {
  aborted = false;
  reason: unknown;
  private readonly callbacks = new Set<() => void>();

  cancel(): void {
    this.aborted = true;
    callAll(this.callbacks);
  }

  listen(callback: () => void): () => void {
    this.callbacks.add(callback);
    return () => this.callbacks.delete(callback);
  }
}

export type CallSignal = AbortSignal | Cancellation;

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `callback` once the signal, not aborted yet, is; until the function it answers is called. */
export function onAbort(signal: CallSignal, callback: () => void): () => void {
  if (signal instanceof Cancellation) return signal.listen(callback);
  let set = listeners.get(signal);
  if (set === undefined) {
    const callbacks = new Set<() => void>();
    signal.addEventListener('abort', () => callAll(callbacks), { once: true });
    listeners.set(signal, callbacks);
    set = callbacks;
  }
  set.add(callback);
  const callbacks = set;
  return () => callbacks.delete(callback);
}

function callAll(callbacks: Set<() => void>): void {
  for (const callback of [...callbacks]) callback();
  callbacks.clear();
}

/** What a call that was called off rejects with: always an AbortError, whatever reason was given. */
export function abortError(signal: CallSignal): Error {
  const { reason } = signal;
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  const error = new DOMException('The call was called off.', 'AbortError');
  return Object.assign(error, { cause: reason });
}

/** Resolves after so many seconds. Rejects with an AbortError. */
export function wait(seconds: number, signal?: CallSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal));
    const timer = setTimeout(finish, seconds * 1000);
    const forgetSignal = signal && onAbort(signal, finish);
    function finish(): void {
      clearTimeout(timer);
      forgetSignal?.();
      if (signal?.aborted) reject(abortError(signal));
      else resolve();
    }
  });
}
