// WebSocket `/ws`: one connection, one session. One reply for each message, in order; an error leaves the connection usable.

import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import type { SessionCounts } from '../../core/session-contract.js';
import type { FacadeContext } from '../../http/facade.js';
import { type FrameHandlers, serveFrames } from '../../http/frames.js';
import { parseJson } from '../../http/request-guards.js';
import { answerRpc, checkedMessage, MessageInvalid } from './json-rpc.js';

import { boundMethods } from './mcp-methods.js';
import { Player, type ReplyLimits } from './player.js';

/** Seconds between pings: a session lives as long as its client answers them. */
const PING_SECONDS = 30;
const NORMAL = 1000;

export function serveOpenEnv(
  socket: WebSocket,
  request: FastifyRequest,
  served: Servable,
  context: FacadeContext & { readonly replies: ReplyLimits },
): void {
  const { sessions, ownerOf, replies, limits } = context;
  const owner = ownerOf(request);
  const connection = new Connection(() => {
    const { id } = sessions.open({ env: served.name, owner });
    keepAlive(socket, () => sessions.touch(id, owner));
    return new Player({ sessions, served, id, owner, replies });
  });
  const answerTo = async (text: string, signal: AbortSignal): Promise<Answer> => {
    try {
      return await connection.answer(text, signal);
    } catch (error) {
      const { text: reply, ends } = errorFrame(error, sessions.counts);
      return { reply, ends };
    }
  };
  const handlers: FrameHandlers = {
    answer: async (text, signal) => {
      const { reply, ends } = await answerTo(text, signal);
      if (ends) setImmediate(() => socket.close(NORMAL));
      return reply;
    },
    failure: (error) => errorFrame(error, sessions.counts).text,
    left: async () => {
      const id = connection.player?.sessionId;
      // It may have been closed for idleness, or with the server.
      if (id !== undefined) await sessions.close(id, owner).catch(() => {});
    },
  };
  serveFrames(socket, request, handlers, limits);
}

interface Answer {
  readonly reply: string | undefined;
  readonly ends: boolean;
}

class Connection {
  player: Player | undefined;

  constructor(private readonly open: () => Player) {}

  /** @throws as its messages do */
  async answer(text: string, signal: AbortSignal): Promise<Answer> {
    const frame = readFrame(text);
    if (frame.type === 'close') return { reply: undefined, ends: true };
    this.player ??= this.open();
    return { reply: JSON.stringify(await replyTo(frame, this.player, signal)), ends: false };
  }
}

async function replyTo(frame: Exclude<Frame, { type: 'close' }>, player: Player, signal: AbortSignal) {
  if (frame.type === 'state') return { type: 'state', data: player.state() };
  if (frame.type === 'mcp') return { type: 'mcp', data: await answerRpc(frame.data, boundMethods(player, signal)) };
  const data =
    frame.type === 'reset'
      ? await player.reset(frame.data, ['data'], signal)
      : await player.step(frame.data, ['data'], { signal });
  return { type: 'observation', data };
}

/** A client that answers pings, or sends some, is there, however long its model thinks. */
function keepAlive(socket: WebSocket, touch: () => void): void {
  const beat = () => {
    try {
      touch();
    } catch {
      // The session is gone; the client is told so when it asks.
    }
  };
  const timer = setInterval(() => socket.ping(), PING_SECONDS * 1000).unref();
  socket.on('pong', beat);
  socket.on('ping', beat);
  socket.on('close', () => clearInterval(timer));
}

// Frames of a WebSocket `/ws`: what may come in, and how errors go out. https://github.com/huggingface/OpenEnv, types.py

const data = z.record(z.string(), z.unknown());

const FRAMES = {
  reset: z.strictObject({ type: z.literal('reset'), data: data.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data }),
  state: z.strictObject({ type: z.literal('state') }),
  mcp: z.strictObject({ type: z.literal('mcp'), data }),
  close: z.strictObject({ type: z.literal('close') }),
} as const;

type Frame = z.output<(typeof FRAMES)[keyof typeof FRAMES]>;

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
function readFrame(text: string): Frame {
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

interface ErrorFrame {
  readonly text: string;
  /** The session is no more. */
  readonly ends: boolean;
}

/** @param counts  of the server, told where it is full */
function errorFrame(error: unknown, counts: SessionCounts): ErrorFrame {
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
