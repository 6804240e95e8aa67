// A client of a server that speaks OpenEnv, ours or another's.

import { fetch, WebSocket } from 'undici';
import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { type Answer, CheckFailed, type Player, type Reply, type Server } from './validate-contract.js';

/** Milliseconds; as OpenEnv's own client waits. */
const PATIENCE = 60_000;
/** Milliseconds that a server has to close a connection it was asked to close. */
const FAREWELL = 2000;

/** @param url  of the server or, for one of several environments, beneath `/envs/NAME` */
export function serverAt(url: string, token?: string): Server {
  const base = (url.includes('://') ? url : `http://${url}`).replace(/^ws/, 'http').replace(/\/+$/, '');
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    url: base,
    headers,
    ask: (path, body) => ask(path.startsWith('/') ? `${base}${path}` : path, headers, body),
    connect: () => connected(`${base.replace(/^http/, 'ws')}/ws`, headers),
  };
}

/** @throws SERVER_UNREACHABLE */
async function ask(url: string, headers: Record<string, string>, body: unknown): Promise<Answer> {
  const json = { ...headers, 'content-type': 'application/json' };
  const sent = body === undefined ? { headers } : { method: 'POST', headers: json, body: JSON.stringify(body) };
  try {
    const reply = await fetch(url, { ...sent, signal: AbortSignal.timeout(PATIENCE) });
    return { status: reply.status, body: await reply.json().catch(() => undefined) };
  } catch (error) {
    const { cause, message } = error as Error;
    throw reverieError('SERVER_UNREACHABLE', { url, problem: (cause as Error | undefined)?.message ?? message }, error);
  }
}

async function connected(url: string, headers: Record<string, string>): Promise<Player> {
  const socket = new WebSocket(url, { headers });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve(), { once: true });
    socket.addEventListener('error', () => reject(new CheckFailed(`${url} takes no connection`)), { once: true });
  });
  return new SocketPlayer(socket);
}

interface Frame {
  readonly type?: unknown;
  readonly data?: unknown;
}

class SocketPlayer implements Player {
  /** Frames that came before anybody waited for one: a full server says so unasked. */
  private readonly inbox: Frame[] = [];
  private waiting: ((frame: Frame | undefined) => void) | undefined;
  private readonly closed: Promise<void>;
  private isClosed = false;

  constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => this.arrived(readFrame(String(data))));
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', () => {
        this.isClosed = true;
        this.waiting?.(undefined);
        resolve();
      });
    });
  }

  reset(data: JsonObject): Promise<Reply> {
    return this.turn({ type: 'reset', data });
  }

  step(data: JsonObject): Promise<Reply> {
    return this.turn({ type: 'step', data });
  }

  async state(): Promise<JsonObject> {
    const { type, data } = await this.ask({ type: 'state' });
    if (type === 'state' && isObject(data)) return data;
    throw new CheckFailed(`state is answered ${JSON.stringify({ type, data })}`);
  }

  async close(): Promise<void> {
    if (!this.isClosed) this.socket.send(JSON.stringify({ type: 'close' }));
    const timer = setTimeout(() => this.socket.close(), FAREWELL);
    await this.closed;
    clearTimeout(timer);
  }

  private async turn(frame: object): Promise<Reply> {
    const { type, data } = await this.ask(frame);
    if (type === 'error') return { observation: {}, reward: null, done: false, error: JSON.stringify(data) };
    if (type !== 'observation' || !isObject(data) || !isObject(data['observation'])) {
      throw new CheckFailed(`${JSON.stringify(frame)} is answered ${JSON.stringify({ type, data })}`);
    }
    return { observation: data['observation'], reward: data['reward'], done: data['done'] === true };
  }

  private async ask(frame: object): Promise<Frame> {
    if (!this.isClosed) this.socket.send(JSON.stringify(frame));
    const answer = this.inbox.shift() ?? (await this.next(`no answer to ${JSON.stringify(frame)}`));
    if (answer !== undefined) return answer;
    throw new CheckFailed(`connection closed upon ${JSON.stringify(frame)}`);
  }

  private next(problem: string): Promise<Frame | undefined> {
    if (this.isClosed) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new CheckFailed(`${problem} in ${PATIENCE / 1000} s`)), PATIENCE);
      this.waiting = (frame) => {
        clearTimeout(timer);
        this.waiting = undefined;
        resolve(frame);
      };
    });
  }

  private arrived(frame: Frame): void {
    if (this.waiting === undefined) this.inbox.push(frame);
    else this.waiting(frame);
  }
}

/** What is no JSON by JSON's rules (Python writes NaN) is a fault of the server. */
function readFrame(text: string): Frame {
  try {
    return JSON.parse(text) as Frame;
  } catch {
    return { type: `no JSON: ${text.slice(0, 200)}` };
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
