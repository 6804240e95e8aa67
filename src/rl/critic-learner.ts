// What learners with critics share: replayed rows, checked and stacked for gradient steps, and the errors that give rows their
// priority.

import type { Rng } from '../core/rng.js';
import { float32, type Tensor } from '../nn/graph.js';
import { InferenceSession } from '../nn/runtime.js';
import type { TransitionBatch } from '../replay/transition.js';
import { assertBatch, assertFinite, assertLength } from './finite.js';
import { NetworkLearner } from './network-learner.js';

export abstract class CriticLearner<Config> extends NetworkLearner<Config> {
  readonly learnsFrom = 'replay';
  private errorSession: Promise<InferenceSession> | undefined;

  protected abstract get replayed(): { readonly batchSize: number; readonly gamma: number };

  /** A graph from state, rows, `discount` and `nextNoise` to `tdError`, [rows]. */
  protected abstract errorModel(): Uint8Array;

  override async close(): Promise<void> {
    await super.close();
    await (await this.errorSession)?.release();
  }

  /**
   * What `steps` steps take of `batch`, stacked; weights are 1 if absent.
   * Throws DATA_MISMATCH or NON_FINITE_VALUE.
   */
  protected columnsOf(batch: TransitionBatch, steps: number, weights?: Float32Array) {
    const rows = steps * this.replayed.batchSize;
    assertBatch(batch, rows, this.net.obsDim, this.net.actions.dim);
    const weight = weights ?? new Float32Array(rows).fill(1);
    assertLength('weights', weight, rows);
    assertFinite('weights', weight, rows);
    const { obs, action, reward, nextObs } = batch;
    return { obs, action, reward, nextObs, weight, discount: this.discounts(batch) };
  }

  /**
   * |Q - y| of every row, mean over the critics. The next actions' noise comes from `rng`, and then what `more` draws.
   * @param state names of the learner's arrays that the model takes
   * Throws DATA_MISMATCH or NON_FINITE_VALUE.
   */
  protected async errorsOf(
    batch: TransitionBatch,
    rng: Rng,
    state: readonly string[],
    more: () => Record<string, Tensor> = () => ({}),
  ): Promise<Float32Array> {
    const { rows, obs, action, reward, nextObs } = batch;
    const { obsDim, actions } = this.net;
    assertBatch(batch, rows, obsDim, actions.dim);
    this.errorSession ??= InferenceSession.fromBytes(this.errorModel());
    const session = await this.errorSession;
    const nextNoise = this.normal(rows, rng);
    const { tdError } = await session.run({
      ...Object.fromEntries(state.map((name) => [name, float32(this.current[name])])),
      obs: float32(obs, [rows, obsDim]),
      action: float32(action, [rows, actions.dim]),
      reward: float32(reward, [rows]),
      discount: float32(this.discounts(batch), [rows]),
      nextObs: float32(nextObs, [rows, obsDim]),
      nextNoise: float32(nextNoise, [rows, actions.dim]),
      ...more(),
    });
    return tdError.data as Float32Array;
  }

  /** Standard normal noise for an action a row. */
  protected normal(rows: number, rng: Rng): Float32Array {
    return rng.fillNormal(new Float32Array(rows * this.net.actions.dim));
  }

  private discounts({ rows, terminated }: TransitionBatch): Float32Array {
    const { gamma } = this.replayed;
    return Float32Array.from({ length: rows }, (_, i) => (terminated[i] ? 0 : gamma));
  }
}
