// The vector sessions of a server: each a batch of rows that are stepped together. A session counts as its rows in the server's
// slots, and is closed when nothing is asked of it.

import { setImmediate as immediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Info, StepResult, VectorEnvironment } from '../../../core/environment.js';
import { reverieError } from '../../../core/errors.js';
import { contains, describeSpace, rowSize } from '../../../env/space-values.js';
import { faceOf } from '../../../kinds/registry.js';
import type { Servable } from '../../../run/servable.js';
import { type EnvironmentMaker, environmentMaker } from '../../../run/servable.js';
import { type Owner, type SlotLease, unguessable } from '../../core/session-contract.js';
import type { Sessions } from '../../core/sessions.js';
import { environmentOf } from '../../core/tasks.js';
import { BatchingModel } from '../../hosts/batching-model.js';

/** Rows of one question to a model, at most. */
const BATCH_ROWS = 1024;

interface VectorRequest {
  readonly env?: string;
  readonly rows: number;
  readonly mode: AutoresetMode;
  /** Whether the info of every row is answered. */
  readonly infos: boolean;
  readonly owner: Owner;
}

export class VectorTable {
  private readonly vectors = new Map<string, VectorSession>();
  private readonly makers = new Map<string, Promise<EnvironmentMaker>>();
  private readonly reaper: NodeJS.Timeout;

  constructor(private readonly sessions: Pick<Sessions, 'environments' | 'defaultEnv' | 'limits' | 'holdSlots'>) {
    this.reaper = setInterval(() => this.reap(), Math.min(sessions.limits.idleSeconds * 250, 10_000)).unref();
  }

  /** @throws ENV_NOT_SERVED, ENV_NOT_VECTOR, CAPACITY_REACHED, QUOTA_EXCEEDED, SERVER_DRAINING */
  async open({ env, rows, mode, infos, owner }: VectorRequest): Promise<VectorSession> {
    const served = environmentOf(this.sessions, env);
    if (faceOf(served).acts !== 'numbers') {
      throw reverieError('ENV_NOT_VECTOR', { env: served.name, family: served.family });
    }
    const lease = await this.sessions.holdSlots(rows, owner);
    const environments: VectorEnvironment[] = [];
    try {
      for (let row = 0; row < rows; row++) environments.push(await this.make(served));
    } catch (error) {
      for (const one of environments) await one.close();
      lease.release();
      throw error;
    }
    const session = new VectorSession(served.name, owner, new RowBatch(environments, mode), infos, lease);
    this.vectors.set(session.id, session);
    return session;
  }

  /** @throws SESSION_UNKNOWN */
  get(id: string, owner: Owner): VectorSession {
    const session = this.vectors.get(id);
    if (session?.owner === owner) return session;
    throw reverieError('SESSION_UNKNOWN', { id });
  }

  list(owner: Owner): readonly VectorSession[] {
    return [...this.vectors.values()].filter((one) => one.owner === owner);
  }

  async close(id: string, owner: Owner): Promise<void> {
    await this.remove(this.get(id, owner));
  }

  /** Closes all of them. */
  async end(): Promise<void> {
    clearInterval(this.reaper);
    await Promise.all([...this.vectors.values()].map((session) => this.remove(session)));
    for (const maker of this.makers.values()) await (await maker).close();
  }

  /** In this thread, even where sessions live in others: a message for each row would cost more than its step. */
  private async make(served: Servable): Promise<VectorEnvironment> {
    const { name, blueprint } = served;
    if (blueprint === undefined) return (await served.make()) as VectorEnvironment;
    let maker = this.makers.get(name);
    if (maker === undefined) {
      // All rows of a dream are asked as one batch.
      maker = environmentMaker(blueprint, {
        batched: (model) => new BatchingModel(model, { maxRows: BATCH_ROWS }),
        ask: async (request, signal) => served.answer?.(request, signal),
      });
      this.makers.set(name, maker);
      // The next one tries again.
      maker.catch(() => this.makers.delete(name));
    }
    return (await (await maker).make()) as VectorEnvironment;
  }

  private async remove(session: VectorSession): Promise<void> {
    if (this.vectors.delete(session.id)) await session.close();
  }

  private reap(): void {
    const before = Date.now() - this.sessions.limits.idleSeconds * 1000;
    for (const one of this.vectors.values()) if (!one.busy && one.lastUsedAt < before) void this.remove(one);
  }
}

/** Answers kept for requests that are sent again: a client has one request under way. */
const REMEMBERED = 2;

/** One client's batch of rows. Requests are taken one at a time; one sent again gets its first answer. */
export class VectorSession {
  readonly id = unguessable();
  /** Milliseconds since the epoch. */
  readonly openedAt = Date.now();
  lastUsedAt = this.openedAt;
  /** Steps taken, of all rows together. */
  transitions = 0;
  private pending = 0;
  private queue: Promise<unknown> = Promise.resolve();
  private readonly answers = new LRUCache<string, Promise<Rows>>({ max: REMEMBERED });

  constructor(
    readonly env: string,
    readonly owner: Owner,
    readonly batch: RowBatch,
    /** Whether the info of every row is answered. */
    readonly infos: boolean,
    /** One slot a row. */
    private readonly lease: SlotLease,
  ) {}

  get busy(): boolean {
    return this.pending > 0;
  }

  /** After a reset there is no reward and nothing ended. */
  reset(request: RowsReset, requestId?: string): Promise<Rows> {
    return this.once(requestId, async () => {
      const [none, ended] = [new Float32Array(0), new Uint8Array(this.batch.rows)];
      const reward = new Float32Array(this.batch.rows);
      const nothing = { reward, terminated: ended, truncated: ended, finalMask: ended, finalObs: none, finalInfo: [] };
      return { ...nothing, ...(await this.batch.reset(request)) };
    });
  }

  /** @param action [rows, actionDim] @throws as RowBatch.step; QUOTA_EXCEEDED */
  step(action: Float32Array, requestId?: string): Promise<Rows> {
    return this.once(requestId, async () => {
      this.lease.takeSteps(this.batch.rows);
      const answer = await this.batch.step(action);
      this.transitions += this.batch.rows;
      return answer;
    });
  }

  async close(): Promise<void> {
    await this.queue;
    await this.batch.close();
    this.lease.release();
  }

  private once(requestId: string | undefined, work: () => Promise<Rows>): Promise<Rows> {
    const known = requestId === undefined ? undefined : this.answers.get(requestId);
    if (known !== undefined) return known;
    this.pending++;
    const answer = this.queue.then(work).finally(() => {
      this.pending--;
      this.lastUsedAt = Date.now();
    });
    this.queue = answer.catch(() => {});
    if (requestId !== undefined) {
      this.answers.set(requestId, answer);
      // What failed may be tried again.
      answer.catch(() => this.answers.delete(requestId));
    }
    return answer;
  }
}

/**
 * What follows the end of a row's episode. `next_step`: the next step is its reset, whatever the action. `same_step`: it
 * begins anew at once, and the step has its last observation apart. `disabled`: it must be reset.
 */
type AutoresetMode = 'next_step' | 'same_step' | 'disabled';

interface RowsReset {
  /** Seed of each row; a row without one goes on in its stream. */
  readonly seeds?: readonly (number | null)[];
  /** 1 where a row is reset; all of them unless given. */
  readonly mask?: Uint8Array;
}

/** Rows side by side; arrays are fresh. */
export interface Rows {
  /** [rows, obsDim]: what to act on now. */
  readonly obs: Float32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** Mode `same_step`: 1 where an episode ended and another began. */
  readonly finalMask: Uint8Array;
  /** [rows with finalMask, obsDim]: what they ended with. */
  readonly finalObs: Float32Array;
  readonly finalInfo: readonly Info[];
  /** Of each row; of a reset where the row was reset. */
  readonly infos: readonly Info[];
}

/** Milliseconds for which physics may keep a thread from all else. */
const LONGEST_WORK = 4;

const FRESH = 0;
const RUNNING = 1;
const ENDED = 2;
const NO_INFO: Info = Object.freeze({});

class RowBatch {
  readonly rows: number;
  readonly obsDim: number;
  readonly actionDim: number;
  private readonly obs: Float32Array;
  private readonly status: Uint8Array;
  private readonly everSeeded: Uint8Array;

  /** @param environments  of the same spaces; closed by `close` */
  constructor(
    private readonly environments: readonly VectorEnvironment[],
    readonly mode: AutoresetMode,
  ) {
    const [{ observationSpace, actionSpace }] = environments;
    this.rows = environments.length;
    this.obsDim = rowSize(observationSpace);
    this.actionDim = rowSize(actionSpace);
    this.obs = new Float32Array(this.rows * this.obsDim);
    this.status = new Uint8Array(this.rows);
    this.everSeeded = new Uint8Array(this.rows);
  }

  /**
   * Starts episodes. A row that never had a seed gets its number as one, so that no two rows are the same.
   * Answers all rows' observations; rows that were not reset as they were.
   */
  async reset({ seeds, mask }: RowsReset = {}): Promise<{ obs: Float32Array; infos: readonly Info[] }> {
    const infos: Info[] = new Array(this.rows).fill(NO_INFO);
    const rows = Array.from({ length: this.rows }, (_, row) => row).filter(
      (row) => mask === undefined || mask[row] === 1,
    );
    await this.beginAll(rows, infos, seeds);
    return { obs: this.obs.slice(), infos };
  }

  /**
   * One step of every row.
   * @param action  [rows, actionDim]
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, naming the row: nothing was stepped then. Where an environment itself fails
   *   all rows must be reset.
   */
  async step(action: Float32Array): Promise<Rows> {
    const begins = this.rowsThatBegin();
    this.requireActions(action, begins);
    try {
      const results: (StepResult<Float32Array> | Promise<StepResult<Float32Array>>)[] = [];
      let pause = performance.now() + LONGEST_WORK;
      for (const [row, environment] of this.environments.entries()) {
        results.push(begins[row] ? this.begun(row) : environment.step(this.actionOf(action, row)));
        if (performance.now() < pause) continue;
        await immediate();
        pause = performance.now() + LONGEST_WORK;
      }
      return await this.taken(await all(results));
    } catch (error) {
      this.status.fill(FRESH);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.environments.map((environment) => environment.close()));
  }

  private async taken(results: readonly StepResult<Float32Array>[]): Promise<Rows> {
    const { rows, obsDim } = this;
    const [reward, terminated, truncated] = [new Float32Array(rows), new Uint8Array(rows), new Uint8Array(rows)];
    const infos: Info[] = new Array(rows);
    const ended: number[] = [];
    for (let row = 0; row < rows; row++) {
      const result = results[row];
      this.obs.set(result.observation, row * obsDim);
      reward[row] = result.reward;
      terminated[row] = Number(result.terminated);
      truncated[row] = Number(result.truncated);
      infos[row] = result.info;
      const isOver = result.terminated || result.truncated;
      this.status[row] = isOver ? ENDED : RUNNING;
      if (isOver && this.mode === 'same_step') ended.push(row);
    }
    const finalMask = new Uint8Array(rows);
    const finalObs = new Float32Array(ended.length * obsDim);
    const finalInfo = ended.map((row) => infos[row]);
    ended.forEach((row, i) => {
      finalMask[row] = 1;
      finalObs.set(this.obs.subarray(row * obsDim, (row + 1) * obsDim), i * obsDim);
    });
    await this.beginAll(ended, infos);
    return { obs: this.obs.slice(), reward, terminated, truncated, infos, finalMask, finalObs, finalInfo };
  }

  private async beginAll(rows: readonly number[], infos: Info[], seeds?: readonly (number | null)[]): Promise<void> {
    const started = await all(rows.map((row) => this.begin(row, seeds?.[row] ?? undefined)));
    started.forEach(({ observation, info }, i) => {
      this.obs.set(observation, rows[i] * this.obsDim);
      this.status[rows[i]] = RUNNING;
      infos[rows[i]] = info;
    });
  }

  private begin(row: number, seed?: number) {
    const own = seed ?? (this.everSeeded[row] === 0 ? row : undefined);
    this.everSeeded[row] = 1;
    return this.environments[row].reset(own === undefined ? {} : { seed: own });
  }

  /** A reset in the place of a step: reward 0, and nothing ended. */
  private begun(row: number): StepResult<Float32Array> | Promise<StepResult<Float32Array>> {
    const asStep = ({ observation, info }: { observation: Float32Array; info: Info }) => {
      return { observation, reward: 0, terminated: false, truncated: false, info };
    };
    const started = this.begin(row);
    return started instanceof Promise ? started.then(asStep) : asStep(started);
  }

  private rowsThatBegin(): boolean[] {
    return Array.from(this.status, (status, row) => {
      if (status === RUNNING) return false;
      if (status === ENDED && this.mode === 'next_step') return true;
      throw reverieError('ENV_NOT_RESET', { id: `${this.environments[row].id}, row ${row}` });
    });
  }

  private requireActions(action: Float32Array, begins: readonly boolean[]): void {
    const { actionSpace } = this.environments[0];
    const wrong = begins.findIndex((isReset, row) => !isReset && !contains(actionSpace, this.actionOf(action, row)));
    if (wrong === -1) return;
    const shown = `[${Array.from(this.actionOf(action, wrong)).join(', ')}] of row ${wrong}`;
    const hint = 'Clip actions to the bounds before they are sent. Nothing was stepped.';
    throw reverieError('ACTION_OUT_OF_SPACE', { action: shown, space: describeSpace(actionSpace), hint });
  }

  private actionOf(action: Float32Array, row: number): Float32Array {
    return action.subarray(row * this.actionDim, (row + 1) * this.actionDim);
  }
}

/** Physics in this thread answers at once: then there is nothing to wait for. */
function all<T>(results: readonly (T | Promise<T>)[]): readonly T[] | Promise<T[]> {
  return results.some((result) => result instanceof Promise) ? Promise.all(results) : (results as readonly T[]);
}
