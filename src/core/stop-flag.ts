// Tells tasks on worker threads to stop. They are asked and end by themselves: a thread that is terminated while it is inside
// native code can take the process with it, as calls of Node-API fail there and C++ throws what nobody catches.

/** Lies in shared memory: one word, other than 0 once a task is to stop. */
export type StopFlag = Int32Array;

export function makeStopFlag(): StopFlag {
  return new Int32Array(new SharedArrayBuffer(4));
}

export function raise(flag: StopFlag): void {
  Atomics.store(flag, 0, 1);
}

export function isRaised(flag: StopFlag): boolean {
  return Atomics.load(flag, 0) !== 0;
}

/** Milliseconds between two looks at a flag. */
const LOOK = 100;

/** The flag as a signal, for tasks that come back to the event loop now and then; `done` ends the looking. */
export function signalOf(flag: StopFlag): { readonly signal: AbortSignal; readonly done: () => void } {
  const abort = new AbortController();
  const look = () => isRaised(flag) && abort.abort();
  look();
  const timer = setInterval(look, LOOK);
  return { signal: abort.signal, done: () => clearInterval(timer) };
}
