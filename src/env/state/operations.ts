// Changes of a typed state: JSON Patch (RFC 6902), applied so that what is untouched is shared between old and new.

import { enablePatches, type Patch, produce, produceWithPatches } from 'immer';
import { applyPatch, type Operation as Rfc6902Operation } from 'rfc6902';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Operation } from '../tools/prediction.js';
import { pointerKeys } from './state.js';

enablePatches();

/**
 * The state after `operations`, all or none; frozen. Parts that no operation touches are the same objects as before.
 * @throws OPERATION_INVALID naming the first that does not apply
 */
export function applyOperations(state: JsonObject, operations: readonly Operation[]): JsonObject {
  if (operations.length === 0) return state;
  const known = outcomes.get(operations);
  if (known !== undefined && known.before === state) return known.after;
  refuseUnsafePaths(operations);
  const after = appliedPlainly(state, operations) ?? appliedByBook(state, operations);
  if (Object.isFrozen(state) && after !== state) {
    outcomes.set(operations, { before: state, after });
    origins.set(after, { before: state, operations });
  }
  return after;
}

/** All of RFC 6902, with its reasons for what does not apply. */
function appliedByBook(state: JsonObject, operations: readonly Operation[]): JsonObject {
  return produce(state, (draft) => {
    for (const operation of operations) {
      const problem = failureOf(draft, operation);
      if (problem !== undefined) throw invalid(operation, problem);
    }
  });
}

/** Malformed pointers and unknown operations throw in the library. */
function failureOf(draft: unknown, operation: Operation): string | undefined {
  try {
    return applyPatch(draft, [structuredClone(operation) as Rfc6902Operation])[0]?.message;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What a state was made from, where it was made here. */
interface StateOrigin {
  readonly before: JsonObject;
  readonly operations: readonly Operation[];
}

/** The same operations are tried on a state before they are taken: the second time it is known where they lead. */
const outcomes = new WeakMap<readonly Operation[], { readonly before: JsonObject; readonly after: JsonObject }>();
const origins = new WeakMap<JsonObject, StateOrigin>();

export function originOf(state: JsonObject): StateOrigin | undefined {
  return origins.get(state);
}

/** Runs `change` on a draft of the state; answers what it changed, as operations, and what it returned. */
export function recordOperations<R>(
  state: JsonObject,
  // biome-ignore lint/suspicious/noExplicitAny: a draft of unchecked JSON is written to freely
  change: (draft: any) => R,
): { state: JsonObject; operations: Operation[]; result: R } {
  let result: R | undefined;
  const [after, patches] = produceWithPatches(state, (draft) => {
    result = change(draft);
  });
  return { state: after, operations: patches.map(asOperation), result: result as R };
}

/** A patch of immer as an operation. */
export function asOperation({ op, path, value }: Patch): Operation {
  const pointer = path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return op === 'remove' ? { op, path: pointer } : { op, path: pointer, value: value ?? null };
}

function refuseUnsafePaths(operations: readonly Operation[]): void {
  for (const operation of operations) {
    if (typeof operation.path !== 'string' || ('from' in operation && typeof operation.from !== 'string'))
      throw invalid(operation, 'paths are text');
    const parts = `${operation.path}/${'from' in operation ? operation.from : ''}`.split('/');
    const unsafe = parts.find((part) => part === '__proto__' || part === 'constructor' || part === 'prototype');
    if (unsafe !== undefined) throw invalid(operation, `"${unsafe}" is no key of a state`);
    if (operation.path === '') throw invalid(operation, 'the whole state cannot be replaced at once');
  }
}

function invalid(operation: Operation, problem: string) {
  return reverieError('OPERATION_INVALID', { op: operation.op, path: operation.path, problem });
}

/** An object or a list, by its keys. */
type Node = Record<string, Json>;

/** The place behind the last element of a list (RFC 6901, section 4). */
const END = '-';

/** The state after all of them, frozen, or undefined where one of them is not plain. */
function appliedPlainly(state: JsonObject, operations: readonly Operation[]): JsonObject | undefined {
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
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
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
