// Many environments of one kind stepped as one, each row with its own random stream and its own end: what a learner with a
// batched policy asks for. Words and modes are Gymnasium's (gymnasium.vector.AutoresetMode). Needs nothing of a server, so it
// can run in any thread.

import { setImmediate as immediate } from 'node:timers/promises';
import { reverieError } from '../../core/errors.js';
import {
  contains,
  describeSpace,
  type Info,
  rowSize,
  type StepResult,
  type VectorEnvironment,
} from '../../env/index.js';

/**
 * What follows the end of a row's episode. `next_step`: the next step is its reset, whatever the action. `same_step`: it
 * begins anew at once, and the step has its last observation apart. `disabled`: it must be reset.
 */
export type AutoresetMode = 'next_step' | 'same_step' | 'disabled';

export interface RowsReset {
  /** Seed of each row; a row without one goes on in its stream. */
  readonly seeds?: readonly (number | null)[];
  /** 1 where a row is reset; all of them unless given. */
  readonly mask?: Uint8Array;
}

/** Rows side by side; arrays are fresh. */
export interface RowsStep {
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

export class RowBatch {
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
    const rows = range(this.rows).filter((row) => mask === undefined || mask[row] === 1);
    const started = await all(rows.map((row) => this.begin(row, seeds?.[row] ?? undefined)));
    started.forEach(({ observation, info }, i) => {
      this.show(rows[i], observation);
      this.status[rows[i]] = RUNNING;
      infos[rows[i]] = info;
    });
    return { obs: this.obs.slice(), infos };
  }

  /**
   * One step of every row.
   * @param action  [rows, actionDim]
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, naming the row: nothing was stepped then. Where an environment itself fails
   *   all rows must be reset.
   */
  async step(action: Float32Array): Promise<RowsStep> {
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

  private async taken(results: readonly StepResult<Float32Array>[]): Promise<RowsStep> {
    const { rows } = this;
    const [reward, terminated, truncated] = [new Float32Array(rows), new Uint8Array(rows), new Uint8Array(rows)];
    const infos: Info[] = new Array(rows);
    const ended: number[] = [];
    for (let row = 0; row < rows; row++) {
      const result = results[row];
      this.show(row, result.observation);
      reward[row] = result.reward;
      terminated[row] = Number(result.terminated);
      truncated[row] = Number(result.truncated);
      infos[row] = result.info;
      const isOver = result.terminated || result.truncated;
      this.status[row] = isOver ? ENDED : RUNNING;
      if (isOver) ended.push(row);
    }
    const final = await this.beginAtOnce(this.mode === 'same_step' ? ended : [], infos);
    return { obs: this.obs.slice(), reward, terminated, truncated, infos, ...final };
  }

  /** Puts what these rows ended with aside and starts them anew. */
  private async beginAtOnce(ended: readonly number[], infos: Info[]) {
    const finalMask = new Uint8Array(this.rows);
    const finalObs = new Float32Array(ended.length * this.obsDim);
    const finalInfo = ended.map((row) => infos[row]);
    ended.forEach((row, i) => {
      finalMask[row] = 1;
      finalObs.set(this.obs.subarray(row * this.obsDim, (row + 1) * this.obsDim), i * this.obsDim);
    });
    const started = await all(ended.map((row) => this.begin(row)));
    started.forEach(({ observation, info }, i) => {
      this.show(ended[i], observation);
      this.status[ended[i]] = RUNNING;
      infos[ended[i]] = info;
    });
    return { finalMask, finalObs, finalInfo };
  }

  private begin(row: number, seed?: number) {
    const own = seed ?? (this.everSeeded[row] === 0 ? row : undefined);
    this.everSeeded[row] = 1;
    return this.environments[row].reset(own === undefined ? {} : { seed: own });
  }

  /** A reset in the place of a step: reward 0, and nothing ended. */
  private begun(row: number): StepResult<Float32Array> | Promise<StepResult<Float32Array>> {
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

  private show(row: number, observation: Float32Array): void {
    this.obs.set(observation, row * this.obsDim);
  }
}

const NO_INFO: Info = Object.freeze({});

function asStep({ observation, info }: { observation: Float32Array; info: Info }): StepResult<Float32Array> {
  return { observation, reward: 0, terminated: false, truncated: false, info };
}

/** Physics in this thread answers at once: then there is nothing to wait for. */
function all<T>(results: readonly (T | Promise<T>)[]): readonly T[] | Promise<T[]> {
  return results.some((result) => result instanceof Promise) ? Promise.all(results) : (results as readonly T[]);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
