// The vector sessions of a server. Each counts as its rows in the server's slots, and is closed when nothing is asked of it.

import { reverieError } from '../../core/errors.js';
import type { VectorEnvironment } from '../../env/index.js';
import { type Servable, type VectorMaker, vectorMaker } from '../../run/index.js';
import type { Sessions } from '../core/session-contract.js';
import { unguessable } from '../core/unguessable.js';
import { BatchingModel } from '../hosts/batching-model.js';
import { type AutoresetMode, RowBatch } from './row-batch.js';
import { VectorSession } from './vector-session.js';

/** Rows of one question to a model, at most. */
const BATCH_ROWS = 1024;

export type VectorHolder = Pick<Sessions, 'environments' | 'defaultEnv' | 'idleSeconds' | 'holdSlots'>;

export interface VectorRequest {
  readonly env?: string;
  readonly rows: number;
  readonly mode: AutoresetMode;
  /** Whether the info of every row is told. */
  readonly infos: boolean;
  readonly owner: string;
}

export class VectorTable {
  private readonly sessions = new Map<string, VectorSession>();
  private readonly makers = new Map<string, Promise<VectorMaker>>();
  private readonly reaper: NodeJS.Timeout;

  constructor(private readonly holder: VectorHolder) {
    const milliseconds = Math.min(holder.idleSeconds * 250, 10_000);
    this.reaper = setInterval(() => void this.reap(), milliseconds).unref();
  }

  /** @throws ENV_NOT_SERVED, ENV_NOT_VECTOR, CAPACITY_REACHED, QUOTA_EXCEEDED, SERVER_DRAINING */
  async open({ env, rows, mode, infos, owner }: VectorRequest): Promise<VectorSession> {
    const served = this.servedAs(env);
    const lease = await this.holder.holdSlots(rows, owner);
    const environments: VectorEnvironment[] = [];
    try {
      for (let row = 0; row < rows; row++) environments.push(await this.make(served));
    } catch (error) {
      for (const one of environments) await one.close();
      lease.release();
      throw error;
    }
    const batch = new RowBatch(environments, mode);
    const session = new VectorSession({ id: unguessable(), env: served.name, owner, batch, infos, lease });
    this.sessions.set(session.id, session);
    return session;
  }

  /** @throws SESSION_UNKNOWN */
  get(id: string, owner: string): VectorSession {
    const session = this.sessions.get(id);
    if (session?.owner === owner) return session;
    throw reverieError('SESSION_UNKNOWN', { id });
  }

  list(owner: string): readonly VectorSession[] {
    return [...this.sessions.values()].filter((one) => one.owner === owner);
  }

  async close(id: string, owner: string): Promise<void> {
    await this.remove(this.get(id, owner));
  }

  /** Closes all of them. */
  async end(): Promise<void> {
    clearInterval(this.reaper);
    await Promise.all([...this.sessions.values()].map((session) => this.remove(session)));
    for (const maker of this.makers.values()) await (await maker).close();
  }

  /** In this thread, even where sessions live in others: a message for each row would cost more than its step. */
  private async make(served: Servable): Promise<VectorEnvironment> {
    if (served.blueprint === undefined) return (await served.make()) as VectorEnvironment;
    let maker = this.makers.get(served.name);
    if (maker === undefined) {
      // All rows of a dream are asked as one batch.
      maker = vectorMaker(served.blueprint, (model) => new BatchingModel(model, { maxRows: BATCH_ROWS }));
      this.makers.set(served.name, maker);
      // The next one tries again.
      maker.catch(() => this.makers.delete(served.name));
    }
    return (await maker).make();
  }

  private async remove(session: VectorSession): Promise<void> {
    if (this.sessions.delete(session.id)) await session.close();
  }

  private async reap(): Promise<void> {
    const idle = [...this.sessions.values()].filter((one) => one.idle > this.holder.idleSeconds * 1000);
    await Promise.all(idle.map((session) => this.remove(session)));
  }

  private servedAs(name: string | undefined): Servable {
    const { environments, defaultEnv } = this.holder;
    const served = name === undefined ? defaultEnv : environments.get(name);
    if (served === undefined) {
      throw reverieError('ENV_NOT_SERVED', { env: name, known: [...environments.keys()].join(', ') });
    }
    if (served.family === 'vector') return served;
    throw reverieError('ENV_NOT_VECTOR', { env: served.name, family: served.family });
  }
}
