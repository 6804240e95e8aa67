// JSON-RPC 2.0, as OpenEnv speaks it.

import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { MessageInvalid } from './wire.js';

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
