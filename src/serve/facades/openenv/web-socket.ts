// WebSocket `/ws`: one connection, one session. One reply for each message, in order; an error leaves the connection usable.

import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { Servable } from '../../../run/index.js';
import type { FacadeContext } from '../../http/facade.js';
import { type FrameHandlers, serveFrames } from '../../http/frames.js';
import { answerRpc } from './json-rpc.js';
import { boundMethods } from './mcp-methods.js';
import { Player } from './player.js';
import type { ReplyLimits } from './reply-in-time.js';
import { errorFrame, type Frame, readFrame } from './socket-messages.js';

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
