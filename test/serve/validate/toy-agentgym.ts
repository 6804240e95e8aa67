// A small AgentGym server (dialect todo) that owes nothing to ours: three steps to count, a point at the end. With defects to be found.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Rng } from '../../../src/core/rng.js';

export type GymDefect = 'shared-count' | 'remembers' | 'reward-text' | 'draws' | 'no-items';

interface Session {
  item: number;
  count: number;
}

export interface ToyGym {
  readonly url: string;
  stop(): Promise<void>;
}

export async function toyAgentGym(defects: readonly GymDefect[]): Promise<ToyGym> {
  const gym = new Gym(new Set(defects));
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (data) => (text += data));
    request.on('end', () => {
      const answer = request.method === 'GET' ? 'ok' : gym.answer(request.url!, JSON.parse(text || '{}'));
      const status = answer === undefined ? 404 : 200;
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer ?? { detail: 'Not Found' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

class Gym {
  private readonly sessions = new Map<number, Session>();
  private readonly whims = Rng.fromSeed(1);
  private shared = 0;
  private next = 0;

  constructor(private readonly defects: ReadonlySet<GymDefect>) {}

  answer(path: string, { env_idx: number, id, action }: Record<string, unknown>): unknown {
    if (path === '/create') {
      this.sessions.set(this.next, { item: 0, count: 0 });
      return this.next++;
    }
    const session = this.sessions.get(number as number);
    if (session === undefined) return { error: 'no such session' };
    if (path === '/reset') return this.reset(session, id as number);
    if (path === '/step') return this.step(session, String(action));
    if (path === '/close') return this.sessions.delete(number as number);
    return undefined;
  }

  private reset(session: Session, item: number): unknown {
    if (this.defects.has('no-items') && item > 0) return { error: 'no such item' };
    const count = this.defects.has('remembers') ? session.count % 2 : 0;
    Object.assign(session, { item, count });
    this.shared = 0;
    return `Item ${item}${this.defects.has('draws') ? ` ${this.whims.int(1000)}` : ''}`;
  }

  private step(session: Session, action: string): unknown {
    const count = this.defects.has('shared-count') ? ++this.shared : ++session.count;
    const done = count >= 3;
    const reward = this.defects.has('reward-text') ? 'high' : done ? 1 : 0;
    return { observation: `${action}: ${count} of item ${session.item}`, reward, done };
  }
}
