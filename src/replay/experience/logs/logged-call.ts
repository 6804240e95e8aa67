// Calls as logs hold them: arguments as an object or as the text a model wrote, ids that may be missing or used twice.

import { jsonrepair } from 'jsonrepair';
import type { JsonObject } from '../../../core/canonical-json.js';
import type { ToolCall } from '../../../env/tools/message.js';
import { isTooDeep, MAX_ARGUMENT_DEPTH } from '../step-check.js';

/** What a record cannot be read for: one sentence without a full stop. */
export class RecordProblem extends Error {}

export interface RawCall {
  readonly id?: string;
  readonly name: unknown;
  readonly arguments?: unknown;
}

/** Gives calls ids of their own, and finds the call that an answer belongs to. */
export class CallBook {
  private readonly used = new Set<string>();
  private open: { rawId: string | undefined; call: ToolCall }[] = [];

  /** The call with a unique id; it waits for an answer. Throws RecordProblem. */
  begin({ id, name, arguments: given = {} }: RawCall): ToolCall {
    if (typeof name !== 'string' || name === '') throw new RecordProblem('a call names no tool');
    const call = { id: this.freeId(id), name, ...readArguments(name, given) };
    this.open.push({ rawId: id, call });
    return call;
  }

  /** The oldest call without an answer that has this id; without an id, that has this name, if one is given. */
  answer(rawId: string | undefined, name: string | undefined): ToolCall {
    const at = this.open.findIndex(({ rawId: known, call }) =>
      rawId === undefined ? name === undefined || call.name === name : known === rawId,
    );
    if (at < 0)
      throw new RecordProblem(`a tool's answer (${rawId ?? name ?? 'without an id'}) belongs to no open call`);
    const [{ call }] = this.open.splice(at, 1);
    return call;
  }

  /** Called before anything but an answer: all calls must have theirs. */
  close(): void {
    const [first] = this.open;
    if (first !== undefined) throw new RecordProblem(`call ${first.call.id} of "${first.call.name}" has no answer`);
  }

  private freeId(wanted: string | undefined): string {
    let id = wanted;
    for (let number = this.used.size + 1; !id || this.used.has(id); number++) id = `call-${number}`;
    this.used.add(id);
    return id;
  }
}

function readArguments(name: string, given: unknown): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  if (typeof given !== 'string') return { arguments: checked(name, given) };
  const text = given.trim() === '' ? '{}' : given;
  const parsed = parse(text);
  if (parsed !== undefined) return { arguments: checked(name, parsed) };
  try {
    return { arguments: checked(name, JSON.parse(jsonrepair(text))), rawArguments: given };
  } catch {
    throw new RecordProblem(`the arguments of "${name}" are no JSON object, even repaired`);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checked(name: string, value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RecordProblem(`the arguments of "${name}" are no object`);
  if (isTooDeep(value))
    throw new RecordProblem(`the arguments of "${name}" are nested deeper than ${MAX_ARGUMENT_DEPTH}`);
  return value as JsonObject;
}
