// What passes between a pool and its threads: one message a task, one reply a task, and reports on the way.

import type { PackedError } from './errors.js';
import type { StopFlag } from './threads.js';

interface TaskMessage {
  readonly kind: 'task';
  /** Unique within the pool. */
  readonly id: number;
  readonly module: string;
  readonly name: string;
  readonly input: unknown;
  readonly stop: StopFlag;
}

/** Asks for nothing: a message that makes the pool start a thread. */
interface WakeMessage {
  readonly kind: 'wake';
}

export type PoolMessage = TaskMessage | WakeMessage;

/** `reports`: how many were sent before it, as these come on a way of their own. */
export type PoolReply =
  | { readonly kind: 'done'; readonly value: unknown; readonly reports: number }
  | { readonly kind: 'failed'; readonly error: PackedError; readonly reports: number };

export interface PoolReport {
  readonly id: number;
  readonly note: unknown;
}

/** What a task is given beside its input. */
interface TaskContext {
  /** Raised once the answer is no longer awaited: the task ends at its next safe point. */
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

// Work done a few pieces ahead of its reader, and read in order: what keeps every thread busy and memory bounded.

interface InOrderOptions {
  /** Pieces under way at once, at least 1. */
  readonly ahead: number;
  readonly signal?: AbortSignal;
}

/**
 * The answers of `work` on each piece, in the order of the pieces. A reader that waits makes the workers wait; leaving the loop
 * early gives the rest up: the signal that `work` gets aborts, and the loop ends once all under way have ended.
 * @throws what `work` throws, or the signal's reason
 */
export async function* inOrder<Piece, Answer>(
  pieces: Iterable<Piece>,
  work: (piece: Piece, signal: AbortSignal) => Promise<Answer>,
  { ahead, signal }: InOrderOptions,
): AsyncGenerator<Answer> {
  const control = new AbortController();
  const giveUp = () => control.abort(signal?.reason);
  signal?.addEventListener('abort', giveUp);
  const underWay: Promise<Answer>[] = [];
  const begin = (piece: Piece) => {
    const answer = work(piece, control.signal);
    // Others may fail before it: its own failure is seen when its turn comes.
    answer.catch(() => {});
    underWay.push(answer);
  };
  try {
    for (const piece of pieces) {
      signal?.throwIfAborted();
      begin(piece);
      if (underWay.length >= ahead) yield await underWay.shift()!;
    }
    while (underWay.length > 0) {
      signal?.throwIfAborted();
      yield await underWay.shift()!;
    }
  } finally {
    giveUp();
    signal?.removeEventListener('abort', giveUp);
    await Promise.allSettled(underWay);
  }
}

// Puts the bytes of a snapshot into shared memory, so that sending it with every chunk copies no weights.
// The receiver takes private copies, once per version: native code and text decoders refuse shared memory.

const TAG = '$sharedBytes';

interface SharedBytes {
  readonly [TAG]: string;
  readonly bytes: SharedArrayBuffer;
}

const VIEWS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const;

/**
 * `value` with each typed array and ArrayBuffer in its plain objects and arrays replaced by shared bytes.
 * Memory that is shared already, and whatever else can be cloned, stays as it is.
 */
export function shareBytes<T>(value: T): T {
  return mapTree(value, (leaf) => {
    if (leaf instanceof ArrayBuffer) return shared('ArrayBuffer', new Uint8Array(leaf));
    if (!ArrayBuffer.isView(leaf) || leaf.buffer instanceof SharedArrayBuffer) return leaf;
    const view = Object.keys(VIEWS).find((name) => leaf instanceof VIEWS[name as keyof typeof VIEWS]);
    return view ? shared(view, new Uint8Array(leaf.buffer, leaf.byteOffset, leaf.byteLength)) : leaf;
  }) as T;
}

/** What `shareBytes` was given, in private memory. */
export function unshareBytes<T>(value: T): T {
  return mapTree(value, (leaf) => leaf, restore) as T;
}

function shared(kind: string, source: Uint8Array): SharedBytes {
  const bytes = new SharedArrayBuffer(source.byteLength);
  new Uint8Array(bytes).set(source);
  return { [TAG]: kind, bytes };
}

function restore(node: object): unknown {
  if (!(TAG in node)) return undefined;
  const { [TAG]: kind, bytes } = node as SharedBytes;
  const { buffer } = Uint8Array.from(new Uint8Array(bytes));
  return kind === 'ArrayBuffer' ? buffer : new VIEWS[kind as keyof typeof VIEWS](buffer);
}

function mapTree(
  value: unknown,
  onLeaf: (leaf: unknown) => unknown,
  onNode: (node: object) => unknown = () => undefined,
): unknown {
  if (Array.isArray(value)) return value.map((item) => mapTree(item, onLeaf, onNode));
  if (!isPlain(value)) return onLeaf(value);
  const replaced = onNode(value);
  if (replaced !== undefined) return replaced;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTree(item, onLeaf, onNode)]));
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
