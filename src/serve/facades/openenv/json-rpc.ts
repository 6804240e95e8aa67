// JSON-RPC 2.0 as OpenEnv speaks it: one object in, one out; every failure is an answer. https://www.jsonrpc.org/specification

import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';

export const RPC_CODES = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  server: -32000,
} as const;

export class RpcFault extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

export type RpcMethods = Readonly<Record<string, (params: Record<string, unknown>) => Promise<unknown>>>;

const requestSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
  id: z.union([z.string(), z.int()]).nullable().default(null),
});

/** Answers `request`; never throws. */
export async function answerRpc(request: unknown, methods: RpcMethods) {
  const read = requestSchema.safeParse(request);
  if (!read.success) {
    const problem = read.error.issues.map(({ path, message }) => `${path.join('.') || 'request'}: ${message}`);
    return rpcFailure(new RpcFault(RPC_CODES.request, `Invalid request: ${problem.join('; ')}`));
  }
  const { method, params, id } = read.data;
  try {
    if (!Object.hasOwn(methods, method)) throw new RpcFault(RPC_CODES.method, `Method not found: ${method}`);
    return { jsonrpc: '2.0', id, result: await methods[method](params) };
  } catch (error) {
    return rpcFailure(error, id);
  }
}

export function rpcFailure(error: unknown, id: string | number | null = null) {
  const { code, message, data } = asFault(error);
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

function asFault(error: unknown): RpcFault {
  if (error instanceof RpcFault) return error;
  if (error instanceof MessageInvalid) return new RpcFault(RPC_CODES.params, 'Invalid params', error.errors);
  const known = error instanceof ReverieError ? error : reverieError('SERVER_FAILED', {}, error);
  const { code, message, hint, values } = known;
  if (code === 'CAPACITY_REACHED') {
    return new RpcFault(RPC_CODES.server, message, {
      active_sessions: values['active'],
      max_sessions: values['slots'],
    });
  }
  const isUnknown = code === 'SESSION_UNKNOWN' || code === 'SESSION_GONE';
  return new RpcFault(isUnknown ? RPC_CODES.params : RPC_CODES.internal, `${message} ${hint}`);
}

// What of a message is wrong, field by field, in the form clients of the reference know: pydantic's `errors()`.

interface FieldError {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
}

/** A message that is not of its form: VALIDATION_ERROR over a WebSocket, 422 over HTTP. */
export class MessageInvalid extends Error {
  constructor(readonly errors: readonly FieldError[]) {
    super('Invalid message');
    this.name = 'MessageInvalid';
  }
}

/** @param at  where `message` stands in what was sent; @throws MessageInvalid */
export function checkedMessage<T>(schema: z.ZodType<T>, message: unknown, at: readonly string[] = []): T {
  const read = schema.safeParse(message);
  if (read.success) return read.data;
  throw new MessageInvalid(read.error.issues.flatMap((issue) => fieldErrors(issue, message, at)));
}

/** One field that is wrong for a reason no schema knows. */
export function fieldInvalid(loc: readonly string[], msg: string, input: unknown): MessageInvalid {
  return new MessageInvalid([{ type: 'value_error', loc, msg, input }]);
}

function fieldErrors(issue: z.core.$ZodIssue, message: unknown, at: readonly string[]): FieldError[] {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const input = path.reduce<unknown>((value, key) => (value as Record<string, unknown> | null)?.[key], message);
  const loc = [...at, ...path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const extra = (input as Record<string, unknown>)[key];
      return { type: 'extra_forbidden', loc: [...loc, key], msg: 'Extra inputs are not permitted', input: extra };
    });
  }
  if (input === undefined) return [{ type: 'missing', loc, msg: 'Field required', input: null }];
  return [{ type: 'value_error', loc, msg: issue.message, input }];
}
