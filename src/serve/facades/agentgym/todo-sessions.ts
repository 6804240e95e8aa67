// The whole numbers that AgentGym's clients know environments by.

import { LRUCache } from 'lru-cache';
import { reverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import type { Owner, Sessions } from '../../core/session-contract.js';

export interface TodoSession {
  readonly id: string;
  readonly owner: Owner;
  readonly served: Servable;
}

/** Numbers that are still known: the least recently used are of sessions long closed. */
const KNOWN = 100_000;

export class TodoSessions {
  private readonly known = new LRUCache<number, TodoSession>({ max: KNOWN });
  private next = 0;

  constructor(private readonly sessions: Sessions) {}

  /** @throws as Sessions.open */
  open(served: Servable, owner: Owner): number {
    const { id } = this.sessions.open({ env: served.name, owner });
    const number = this.next++;
    this.known.set(number, { id, owner, served });
    return number;
  }

  /** @throws SESSION_UNKNOWN */
  get(number: number, served: Servable, owner: Owner): TodoSession {
    const session = this.known.get(number);
    if (session?.owner === owner && session.served === served) return session;
    throw reverieError('SESSION_UNKNOWN', { id: number });
  }

  /** @throws SESSION_UNKNOWN, SESSION_GONE */
  async close(number: number, served: Servable, owner: Owner): Promise<void> {
    await this.sessions.close(this.get(number, served, owner).id, owner);
    this.known.delete(number);
  }
}
