// AgentGym's servers name things differently: a small one that speaks each dialect as the reference's clients do.

import { describe, expect, it } from 'vitest';
import { toyServer } from '../remote/flaky-proxy.js';
import { act, begin, environmentOf, on } from './episodes.js';

type Body = Record<string, unknown>;

interface Dialect {
  readonly dialect: string;
  readonly created: (number: number) => unknown;
  readonly key: string;
  readonly item: string;
  readonly first: (text: string) => unknown;
  readonly stepped: (text: string, done: boolean) => unknown;
}

const DIALECTS: readonly Dialect[] = [
  {
    dialect: 'todo',
    created: (number) => number,
    key: 'env_idx',
    item: 'id',
    first: (text) => text,
    stepped: (observation, done) => ({ observation, reward: done ? 1 : 0, done }),
  },
  {
    dialect: 'textcraft',
    created: (id) => ({ id, observation: 'Goal: craft', done: false, reward: 0 }),
    key: 'id',
    item: 'data_idx',
    first: (observation) => ({ id: 0, observation, done: false, reward: 0 }),
    stepped: (observation, done) => ({ observation, reward: done ? 1 : 0, done }),
  },
  {
    dialect: 'game',
    created: (id) => ({ id }),
    key: 'id',
    item: 'game',
    first: (observation) => ({ id: 0, observation, available_actions: [], task_type: '' }),
    stepped: (observation, done) => ({ observation, reward: done ? 1 : 0, available_actions: [], done }),
  },
  {
    dialect: 'webshop',
    created: (number) => number,
    key: 'env_idx',
    item: 'session_id',
    first: (text) => [text, null],
    stepped: (state, done) => ({ state, reward: done ? 1 : 0, done, info: null }),
  },
];

/** Counts to three in each session; forgets its sessions when it is told to. */
function counting({ created, key, item, first, stepped }: Dialect) {
  const sessions = new Map<number, { item: number; count: number }>();
  let next = 0;
  const answer = (path: string, body: Body): unknown => {
    if (path === '/create') {
      sessions.set(next, { item: -1, count: 0 });
      return created(next++);
    }
    const session = sessions.get(body[key] as number);
    if (session === undefined) return { error: `no session ${String(body[key])}` };
    if (path === '/reset') {
      Object.assign(session, { item: body[item], count: 0 });
      return first(`item ${String(body[item])}`);
    }
    if (path === '/close') return sessions.delete(body[key] as number);
    session.count++;
    return body['action'] === 'odd'
      ? { observation: 'odd', reward: 'much', done: false }
      : stepped(`${String(body['action'])} ${session.count} of item ${session.item}`, session.count === 3);
  };
  const server = toyServer((request, response) => {
    let text = '';
    request.on('data', (data) => (text += data));
    request.on('end', () => {
      const value = answer(request.url!, JSON.parse(text || '{}') as Body);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    });
  });
  return { server, forget: () => sessions.clear() };
}

describe.each(DIALECTS)('AgentGym: $dialect', (dialect) => {
  const say = (text: string) => ({ name: 'act', arguments: { text } });

  it('is begun by item, answers text, and is lived again in a new session where it was forgotten', async () => {
    const { server, forget } = counting(dialect);
    const { url, close } = await server;
    try {
      await on({ agentgym: url, dialect: dialect.dialect, taskLimit: 2 }, async (domain) => {
        const env = environmentOf(domain);
        expect(await begin(env, 1, 'item-1')).toBe('item 1');
        expect((await act(env, say('a'))).text).toBe('a 1 of item 1');
        forget();
        expect((await act(env, say('b'))).text).toBe('b 2 of item 1');
        expect(await act(env, say('c'))).toEqual({ text: 'c 3 of item 1', reward: 1, ended: true, verdict: 1 });
        await begin(env, 1, 'item-0');
        await expect(act(env, say('odd'))).rejects.toMatchObject({
          code: 'SERVER_ANSWER_INVALID',
          values: { protocol: 'AgentGym', url, value: expect.stringContaining('much') },
        });
      });
    } finally {
      await close();
    }
  });
});
