// Changes of a typed state: JSON Patch (RFC 6902), applied so that what is untouched is shared between old and new.

import { enablePatches, type Patch, produce, produceWithPatches } from 'immer';
import { applyPatch, createPatch, type Operation as Rfc6902Operation } from 'rfc6902';
import type { JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Operation } from '../tools/prediction.js';
import { appliedPlainly } from './plain-operations.js';

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
export interface StateOrigin {
  readonly before: JsonObject;
  readonly operations: readonly Operation[];
}

/** The same operations are tried on a state before they are taken: the second time it is known where they lead. */
const outcomes = new WeakMap<readonly Operation[], { readonly before: JsonObject; readonly after: JsonObject }>();
const origins = new WeakMap<JsonObject, StateOrigin>();

export function originOf(state: JsonObject): StateOrigin | undefined {
  return origins.get(state);
}

/** Operations that lead from one state to the other; parts that are the same object are not looked into. */
export function diffStates(before: JsonObject, after: JsonObject): Operation[] {
  const operations: Operation[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[key] === after[key]) continue;
    const [a, b] = [key in before ? { [key]: before[key] } : {}, key in after ? { [key]: after[key] } : {}];
    operations.push(...(createPatch(a, b) as Operation[]));
  }
  return operations;
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
