// The vector sessions of a server. Each counts as its rows in the server's slots, and is closed when nothing is asked of it.

import { LRUCache } from 'lru-cache';
import { reverieError } from '../../core/errors.js';
import type { Info, VectorEnvironment } from '../../env/index.js';
import { faceOf } from '../../kinds/index.js';
import { type EnvironmentMaker, environmentMaker, type Servable } from '../../run/serving/index.js';
import type { Sessions, SlotLease } from '../core/session-contract.js';
import { unguessable } from '../core/session-ids.js';
import { BatchingModel } from '../hosts/batching-model.js';
import { type AutoresetMode, RowBatch, type RowsReset, type RowsStep } from './row-batch.js';

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
  private readonly makers = new Map<string, Promise<EnvironmentMaker>>();
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
      maker = environmentMaker(served.blueprint, {
        batched: (model) => new BatchingModel(model, { maxRows: BATCH_ROWS }),
        ask: async (request, signal) => served.answer?.(request, signal),
      });
      this.makers.set(served.name, maker);
      // The next one tries again.
      maker.catch(() => this.makers.delete(served.name));
    }
    return (await (await maker).make()) as VectorEnvironment;
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
    if (faceOf(served).acts === 'numbers') return served;
    throw reverieError('ENV_NOT_VECTOR', { env: served.name, family: served.family });
  }
}

// A vector session: one client's batch of rows. Requests are taken one at a time; one sent again gets its first answer.

/** What a reset or a step of all rows answers. After a reset there is no reward and nothing ended. */
export type Rows = RowsStep;

/** What may be told of a vector session. */
interface VectorState {
  readonly id: string;
  readonly env: string;
  readonly rows: number;
  readonly mode: AutoresetMode;
  /** Steps taken, of all rows together. */
  readonly transitions: number;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly lastUsedAt: number;
}

interface VectorSessionOptions {
  readonly id: string;
  readonly env: string;
  readonly owner: string;
  readonly batch: RowBatch;
  /** Whether the info of every row is told. */
  readonly infos: boolean;
  /** One slot a row. */
  readonly lease: SlotLease;
}

/** Answers kept for requests that are sent again: a client has one request under way. */
const REMEMBERED = 2;

export class VectorSession {
  readonly id: string;
  readonly owner: string;
  readonly batch: RowBatch;
  readonly infos: boolean;
  private readonly openedAt = Date.now();
  private lastUsedAt = this.openedAt;
  private pending = 0;
  private transitions = 0;
  private queue: Promise<unknown> = Promise.resolve();
  private readonly answers = new LRUCache<string, Promise<Rows>>({ max: REMEMBERED });

  constructor(private readonly options: VectorSessionOptions) {
    this.id = options.id;
    this.owner = options.owner;
    this.batch = options.batch;
    this.infos = options.infos;
  }

  get state(): VectorState {
    const { id, transitions, openedAt, lastUsedAt } = this;
    const { rows, mode } = this.batch;
    return { id, env: this.options.env, rows, mode, transitions, openedAt, lastUsedAt };
  }

  /** Milliseconds since something was asked of it; 0 while it works. */
  get idle(): number {
    return this.pending > 0 ? 0 : Date.now() - this.lastUsedAt;
  }

  reset(request: RowsReset, requestId?: string): Promise<Rows> {
    return this.once(requestId, async () => {
      const { obs, infos } = await this.batch.reset(request);
      return { ...nothingYet(this.batch), obs, infos };
    });
  }

  /** @param action [rows, actionDim] @throws as RowBatch.step; QUOTA_EXCEEDED */
  step(action: Float32Array, requestId?: string): Promise<Rows> {
    return this.once(requestId, async () => {
      this.options.lease.takeSteps(this.batch.rows);
      const answer = await this.batch.step(action);
      this.transitions += this.batch.rows;
      return answer;
    });
  }

  async close(): Promise<void> {
    await this.queue;
    await this.batch.close();
    this.options.lease.release();
  }

  private once(requestId: string | undefined, work: () => Promise<Rows>): Promise<Rows> {
    const known = requestId === undefined ? undefined : this.answers.get(requestId);
    if (known !== undefined) return known;
    const answer = this.alone(work);
    if (requestId !== undefined) {
      this.answers.set(requestId, answer);
      // What failed may be tried again.
      answer.catch(() => this.answers.delete(requestId));
    }
    return answer;
  }

  private alone(work: () => Promise<Rows>): Promise<Rows> {
    this.pending++;
    const answer = this.queue.then(work).finally(() => {
      this.pending--;
      this.lastUsedAt = Date.now();
    });
    this.queue = answer.catch(() => {});
    return answer;
  }
}

function nothingYet({ rows }: RowBatch): Rows {
  const [none, ended] = [new Float32Array(0), new Uint8Array(rows)];
  const infos: readonly Info[] = [];
  return {
    obs: none,
    reward: new Float32Array(rows),
    terminated: ended,
    truncated: ended,
    finalMask: ended,
    finalObs: none,
    finalInfo: [],
    infos,
  };
}
