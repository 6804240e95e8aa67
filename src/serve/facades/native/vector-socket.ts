// A vector session over a WebSocket: text messages are JSON, binary ones MessagePack; with ?format=rows a binary message
// is nothing but the actions of a step, and is answered by a frame of rows. Each is answered in the order it came.

import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { reverieError } from '../../../errors.js';
import { parseJson } from '../../http/json-guard.js';
import type { Rows, VectorSession } from '../../vector/vector-session.js';
import { ROWS_TYPE } from './rows-frame.js';
import {
  encodedRows,
  JSON_TYPE,
  MESSAGE_TYPE,
  packed,
  type RowsFormat,
  stepOfBytes,
  stepOfJson,
  stepOfMessage,
  unpacked,
} from './vector-formats.js';
import { resetRows } from './vector-wire.js';
import { wireError } from './wire.js';

/** Messages that may wait for their answers; a client with more in flight is not reading them. */
const MAX_WAITING = 64;
/** RFC 6455, 7.4.1: a message that goes against a policy. */
const POLICY = 1008;

/** @param sessionNow  throws once it is closed */
export function serveRows(socket: WebSocket, request: FastifyRequest, sessionNow: () => VectorSession): void {
  const isRaw = (request.query as { format?: string }).format === 'rows';
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;
  socket.on('message', (data: RawData, isBinary: boolean) => {
    if (waiting >= MAX_WAITING) return socket.close(POLICY, 'too many messages wait for their answers');
    waiting++;
    const format = !isBinary ? JSON_TYPE : isRaw ? ROWS_TYPE : MESSAGE_TYPE;
    queue = queue
      .then(() => answered(data as Buffer, format, sessionNow))
      .then((answer) => {
        waiting--;
        socket.send(answer);
      });
  });
}

async function answered(data: Buffer, format: RowsFormat, sessionNow: () => VectorSession): Promise<Buffer | string> {
  try {
    const session = sessionNow();
    const answer = encodedRows(await rowsFor(data, format, session), format, session);
    return Buffer.isBuffer(answer) ? answer : JSON.stringify(answer);
  } catch (error) {
    // There is no room for an error in a frame of rows: there it comes as text.
    return format === MESSAGE_TYPE ? packed(wireError(error)) : JSON.stringify(wireError(error));
  }
}

function rowsFor(data: Buffer, format: RowsFormat, session: VectorSession): Promise<Rows> {
  if (format === ROWS_TYPE) return session.step(stepOfBytes(data, session));
  const { type, ...body } = messageOf(format === JSON_TYPE ? parseJson(String(data)) : unpacked(data));
  if (type === 'reset') return resetRows(body, session);
  if (type !== 'step') throw invalid('type: expected "reset" or "step"');
  const { action, requestId } = format === JSON_TYPE ? stepOfJson(body, session) : stepOfMessage(body, session);
  return session.step(action, requestId);
}

function messageOf(message: unknown): Record<string, unknown> {
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) {
    return message as Record<string, unknown>;
  }
  throw invalid('a message is an object');
}

function invalid(problem: string) {
  return reverieError('REQUEST_INVALID', { problem });
}
