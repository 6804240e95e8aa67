// The operations that rules write, on frozen states and without drafts: keys set, and removed, where a pointer leads. Whatever
// else an operation may be, or be wrong in, is left to the library that knows all of RFC 6902.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { Operation } from '../tools/prediction.js';
import { pointerKeys } from './pointer.js';

/** An object or a list, by its keys. */
type Node = Record<string, Json>;

/** The place behind the last element of a list (RFC 6901, section 4). */
const END = '-';

/** The state after all of them, frozen, or undefined where one of them is not plain. */
export function appliedPlainly(state: JsonObject, operations: readonly Operation[]): JsonObject | undefined {
  if (!isNode(state) || !Object.isFrozen(state)) return undefined;
  const change = new Change(state);
  return operations.every((operation) => change.takes(operation)) ? change.end() : undefined;
}

/** Copies what lies on the way to what changes, once, and shares all else. */
class Change {
  private readonly copies = new Set<object>();

  constructor(private root: Node) {}

  /** Makes the change, unless it is not plain. */
  takes(operation: Operation): boolean {
    const { op, path } = operation;
    const way = pointerKeys(path);
    const key = way?.pop();
    if (way === undefined || key === undefined) return false;
    const at = nodeAt(this.root, way);
    if (at === undefined) return false;
    if (op === 'remove') return hasOwn(at, key) && this.remove(way, key);
    if (op !== 'add' && op !== 'replace') return false;
    const isInserted = op === 'add' && Array.isArray(at);
    if (isInserted ? !isPlace(at, key) : op === 'replace' && !hasOwn(at, key)) return false;
    const { value } = operation;
    // What is the same already leaves the state the same object.
    if (!isInserted && hasOwn(at, key) && Object.is(at[key], value)) return true;
    const kept = frozenCopy(value);
    if (kept === undefined) return false;
    const target = this.writable(way);
    if (isInserted) (target as unknown as Json[]).splice(key === END ? at.length : Number(key), 0, kept);
    else target[key] = kept;
    return true;
  }

  end(): JsonObject {
    for (const copy of this.copies) Object.freeze(copy);
    return this.root;
  }

  private remove(way: readonly string[], key: string): boolean {
    const target = this.writable(way);
    if (Array.isArray(target)) target.splice(Number(key), 1);
    else delete target[key];
    return true;
  }

  private writable(way: readonly string[]): Node {
    this.root = this.copyOf(this.root);
    let at = this.root;
    for (const key of way) {
      const next = this.copyOf(at[key] as Node);
      at[key] = next;
      at = next;
    }
    return at;
  }

  private copyOf(node: Node): Node {
    if (this.copies.has(node)) return node;
    const copy = (Array.isArray(node) ? node.slice() : { ...node }) as Node;
    this.copies.add(copy);
    return copy;
  }
}

function nodeAt(root: Node, way: readonly string[]): Node | undefined {
  let at: Json = root;
  for (const key of way) {
    if (!hasOwn(at as Node, key)) return undefined;
    at = (at as Node)[key];
    if (!isNode(at)) return undefined;
  }
  return at as Node;
}

function isNode(value: Json): value is Node {
  return Array.isArray(value) || isPlainObject(value);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Of lists, elements alone. */
function hasOwn(node: Node, key: string): boolean {
  return Object.hasOwn(node, key) && (!Array.isArray(node) || isIndex(key));
}

/** Where an element may be put in. */
function isPlace(list: readonly unknown[], key: string): boolean {
  return key === END || (isIndex(key) && Number(key) <= list.length);
}

function isIndex(key: string): boolean {
  return /^(0|[1-9]\d{0,8})$/.test(key);
}

/** A copy of plain JSON, frozen; undefined where it is something else. */
function frozenCopy(value: Json): Json | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return value;
  if (!isNode(value)) return undefined;
  const copy = (Array.isArray(value) ? value.slice() : { ...value }) as Node;
  for (const key of Object.keys(copy)) {
    const part = frozenCopy(copy[key]);
    if (part === undefined) return undefined;
    copy[key] = part;
  }
  return Object.freeze(copy) as Json;
}
