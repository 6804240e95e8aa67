// Frames of a WebSocket `/ws`: what may come in, and how errors go out. https://github.com/huggingface/OpenEnv, types.py

import { z } from 'zod';
import { ReverieError, reverieError } from '../../../errors.js';
import type { SessionCounts } from '../../core/session-contract.js';
import { parseJson } from '../../http/json-guard.js';
import { checkedMessage, MessageInvalid } from './field-errors.js';

const data = z.record(z.string(), z.unknown());

const FRAMES = {
  reset: z.strictObject({ type: z.literal('reset'), data: data.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data }),
  state: z.strictObject({ type: z.literal('state') }),
  mcp: z.strictObject({ type: z.literal('mcp'), data }),
  close: z.strictObject({ type: z.literal('close') }),
} as const;

export type Frame = z.output<(typeof FRAMES)[keyof typeof FRAMES]>;

type ErrorCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_ERROR'
  | 'CAPACITY_REACHED'
  | 'SESSION_ERROR';

/** A frame that cannot be read at all. */
class FrameRefused extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** @throws FrameRefused, MessageInvalid */
export function readFrame(text: string): Frame {
  const message = parsed(text);
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new MessageInvalid([{ type: 'dict_type', loc: [], msg: 'Input should be an object', input: message }]);
  }
  const { type = '' } = message as { type?: unknown };
  if (typeof type === 'string' && Object.hasOwn(FRAMES, type)) {
    return checkedMessage<Frame>(FRAMES[type as keyof typeof FRAMES], message);
  }
  throw new FrameRefused('UNKNOWN_TYPE', `Unknown message type: ${typeof type === 'string' ? type : 'not a string'}`);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const { values, message } = error as ReverieError;
    throw new FrameRefused('INVALID_JSON', `Invalid JSON: ${values?.['problem'] ?? message}`);
  }
}

/** Errors that end the session, and with it the connection. */
const ENDED = new Set(['SESSION_GONE', 'SESSION_UNKNOWN', 'SERVER_DRAINING']);

export interface ErrorFrame {
  readonly text: string;
  /** The session is no more. */
  readonly ends: boolean;
}

/** @param counts  of the server, told where it is full */
export function errorFrame(error: unknown, counts: SessionCounts): ErrorFrame {
  const data = errorData(error, counts);
  const ends = data.code === 'SESSION_ERROR';
  return { text: JSON.stringify({ type: 'error', data }), ends };
}

function errorData(error: unknown, { active, slots }: SessionCounts): { code: ErrorCode; message: string } {
  if (error instanceof FrameRefused) return { message: error.message, code: error.code };
  if (error instanceof MessageInvalid) {
    return { message: error.message, code: 'VALIDATION_ERROR', ...{ errors: error.errors } };
  }
  const known = error instanceof ReverieError ? error : reverieError('SERVER_FAILED', {}, error);
  const { message, hint, code: reason } = known;
  if (reason === 'CAPACITY_REACHED') {
    return { message, code: 'CAPACITY_REACHED', ...{ active_sessions: active, max_sessions: slots } };
  }
  const code = ENDED.has(reason) ? 'SESSION_ERROR' : 'EXECUTION_ERROR';
  return { message: `${message} ${hint}`, code, ...{ reason } };
}
