// A client of a server that speaks OpenEnv, ours or another's.

import { fetch } from 'undici';
import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { connectOpenEnv, type OpenEnvFrame, type OpenEnvSocket } from '../../env/index.js';
import { type Answer, CheckFailed, type Player, type Reply, type Server } from './validate-contract.js';

/** Milliseconds; as OpenEnv's own client waits. */
const PATIENCE = 60_000;

/** @param url  of the server or, for one of several environments, beneath `/envs/NAME` */
export function serverAt(url: string, token?: string): Server {
  const base = (url.includes('://') ? url : `http://${url}`).replace(/^ws/, 'http').replace(/\/+$/, '');
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    url: base,
    lacks: {},
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
  try {
    return new SocketPlayer(await connectOpenEnv(url, headers, PATIENCE / 1000));
  } catch {
    throw new CheckFailed(`${url} takes no connection`);
  }
}

class SocketPlayer implements Player {
  constructor(private readonly socket: OpenEnvSocket) {}

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

  close(): Promise<void> {
    return this.socket.close();
  }

  private async turn(frame: object): Promise<Reply> {
    const { type, data } = await this.ask(frame);
    if (type === 'error') return { observation: {}, reward: null, done: false, error: JSON.stringify(data) };
    if (type !== 'observation' || !isObject(data) || !isObject(data['observation'])) {
      throw new CheckFailed(`${JSON.stringify(frame)} is answered ${JSON.stringify({ type, data })}`);
    }
    return { observation: data['observation'], reward: data['reward'], done: data['done'] === true };
  }

  private async ask(frame: object): Promise<OpenEnvFrame> {
    const answer = await this.socket.ask(frame, PATIENCE / 1000);
    if (answer === 'late') throw new CheckFailed(`no answer to ${JSON.stringify(frame)} in ${PATIENCE / 1000} s`);
    if (answer !== undefined) return answer;
    throw new CheckFailed(`connection closed upon ${JSON.stringify(frame)}`);
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
