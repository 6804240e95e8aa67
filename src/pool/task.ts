// What can be sent to a worker thread: a function that a module exports under a name, so that a thread finds it again.

import type { StopFlag } from '../core/stop-flag.js';

/** What a task is given beside its input. */
export interface TaskContext {
  /** Raised once nobody waits for the answer any more: the task ends at its next safe point. */
  readonly stop: StopFlag;
  /** Tells the caller something on the way; structured-clonable. */
  readonly report: (note: unknown) => void;
}

export interface PoolTask<Input, Output> {
  /** URL of the compiled module, and the name of its export that is this task. */
  readonly module: string;
  readonly name: string;
  readonly run: (input: Input, context: TaskContext) => Promise<Output>;
}

/**
 * A task for pools. Its module exports it as `name`.
 * @param from `import.meta.url` of that module
 */
export function poolTask<Input, Output>(
  from: string,
  name: string,
  run: PoolTask<Input, Output>['run'],
): PoolTask<Input, Output> {
  return { module: compiledForm(from), name, run };
}

/** Worker threads load JavaScript, while tests run the TypeScript: a source `src/….ts` maps to its build in `dist/….js`. */
function compiledForm(url: string): string {
  if (!url.endsWith('.ts')) return url;
  const at = url.lastIndexOf('/src/');
  return `${url.slice(0, at)}/dist/${url.slice(at + '/src/'.length, -'.ts'.length)}.js`;
}

const MOVED = Symbol('moved');

interface Moved<T> {
  readonly [MOVED]: T;
}

/** An answer whose arrays leave the thread without a copy: the task must not use them again. */
export function moved<T>(value: T): T {
  return { [MOVED]: value } as unknown as T;
}

/** The answer itself, and the buffers that go with it; where it was not given to `moved`, there are none. */
export function unwrapped(answer: unknown): { readonly value: unknown; readonly buffers: ArrayBuffer[] } {
  if (typeof answer !== 'object' || answer === null || !(MOVED in answer)) return { value: answer, buffers: [] };
  const value = (answer as Moved<unknown>)[MOVED];
  const buffers = new Set<ArrayBuffer>();
  collect(value, buffers);
  return { value, buffers: [...buffers] };
}

function collect(value: unknown, into: Set<ArrayBuffer>): void {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) into.add(value.buffer);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, into);
  } else if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    for (const item of Object.values(value)) collect(item, into);
  }
}
