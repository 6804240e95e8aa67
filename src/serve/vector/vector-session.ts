// A vector session: one client's batch of rows. Requests are taken one at a time; one sent again gets its first answer.

import { LRUCache } from 'lru-cache';
import type { Info } from '../../env/index.js';
import type { SlotLease } from '../core/session-contract.js';
import type { AutoresetMode, RowBatch, RowsReset, RowsStep } from './row-batch.js';

/** What a reset or a step of all rows answers. After a reset there is no reward and nothing ended. */
export type Rows = RowsStep;

/** What may be told of a vector session. */
export interface VectorState {
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

export interface VectorSessionOptions {
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
