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
