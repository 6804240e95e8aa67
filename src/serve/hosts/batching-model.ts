// One model for many dreams: steps of single rows that come in while the model is at work, or in the same turn of the event
// loop, are asked as one batch, and each gets its row. What a dream is answered is to the byte what it would be alone
// (StoredWorldModel.stepRows). Nobody is made to wait for company: an idle model is asked at the end of the turn. Waiting up
// to 1 or 2 ms for more rows was measured too (4 to 256 sessions, MBPO's ensemble) and was never faster, and at 4 sessions
// four to five times slower: while the model is at work the next rows gather anyhow.

import { Rng } from '../../core/rng.js';
import { rowSize, type VectorSpace } from '../../env/index.js';
import type { StepOptions, StoredWorldModel, VectorPrediction, VectorWorldModel } from '../../worldmodel/index.js';

interface Waiting {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rng: Rng;
  readonly options: StepOptions;
  readonly resolve: (answer: VectorPrediction) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchingOptions {
  /** Rows of one batch at most. */
  readonly maxRows: number;
  /** Told the rows of every batch. */
  readonly onBatch?: (rows: number) => void;
}

export class BatchingModel implements VectorWorldModel {
  readonly family = 'vector' as const;
  readonly backend: string;
  readonly modelVersion: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  private readonly obsDim: number;
  private readonly actionDim: number;
  /** Rows that may be asked together: those of equal options. */
  private readonly queues = new Map<string, Waiting[]>();
  private isBusy = false;

  /** @param model  closed by `close` */
  constructor(
    private readonly model: StoredWorldModel,
    private readonly options: BatchingOptions,
  ) {
    this.backend = model.backend;
    this.modelVersion = model.modelVersion;
    this.observationSpace = model.observationSpace;
    this.actionSpace = model.actionSpace;
    this.obsDim = rowSize(model.observationSpace);
    this.actionDim = rowSize(model.actionSpace);
  }

  step(
    obs: Float32Array,
    action: Float32Array,
    rows: number,
    rng: Rng,
    options: StepOptions = {},
  ): Promise<VectorPrediction> {
    // What has not the size of one row is the model's to answer, or to refuse.
    const isOne = rows === 1 && obs.length === this.obsDim && action.length === this.actionDim;
    if (!isOne) return this.model.step(obs, action, rows, rng, options);
    return new Promise((resolve, reject) => {
      const key = JSON.stringify([options.propagation, options.disagreement, options.deterministic]);
      const queue = this.queues.get(key) ?? [];
      this.queues.set(key, queue);
      queue.push({ obs, action, rng, options, resolve, reject });
      this.wake();
    });
  }

  close(): Promise<void> {
    return this.model.close();
  }

  private wake(): void {
    if (this.isBusy) return;
    this.isBusy = true;
    setImmediate(() => void this.work());
  }

  /** Asks until nobody waits, whoever waits longest first. */
  private async work(): Promise<void> {
    for (let next = this.take(); next !== undefined; next = this.take()) await this.ask(next);
    this.isBusy = false;
  }

  private take(): Waiting[] | undefined {
    const [first] = this.queues;
    if (first === undefined) return undefined;
    const [key, queue] = first;
    this.queues.delete(key);
    const batch = queue.splice(0, this.options.maxRows);
    if (queue.length > 0) this.queues.set(key, queue);
    return batch;
  }

  private async ask(batch: readonly Waiting[]): Promise<void> {
    this.options.onBatch?.(batch.length);
    // Copies of the streams: where a row spoils the batch, the others are asked again as if nothing had been.
    const rngs = batch.map(({ rng }) => Rng.fromState(rng.state()));
    const before = rngs.map((rng) => rng.state().position);
    try {
      const answer = await this.askRows(batch, rngs);
      batch.forEach(({ rng, resolve }, row) => {
        rng.skip(rngs[row].state().position - before[row]);
        resolve(this.rowOf(answer, row));
      });
    } catch (error) {
      if (batch.length === 1) batch[0].reject(error);
      else await this.askApart(batch);
    }
  }

  private askRows(batch: readonly Waiting[], rngs: readonly Rng[]): Promise<VectorPrediction> {
    const obs = new Float32Array(batch.length * this.obsDim);
    const action = new Float32Array(batch.length * this.actionDim);
    batch.forEach((one, row) => {
      obs.set(one.obs, row * this.obsDim);
      action.set(one.action, row * this.actionDim);
    });
    return this.model.stepRows(obs, action, rngs, batch[0].options);
  }

  private async askApart(batch: readonly Waiting[]): Promise<void> {
    for (const { obs, action, rng, options, resolve, reject } of batch) {
      await this.model.step(obs, action, 1, rng, options).then(resolve, reject);
    }
  }

  private rowOf({ nextObs, reward, terminated, disagreement }: VectorPrediction, row: number): VectorPrediction {
    return {
      nextObs: nextObs.slice(row * this.obsDim, (row + 1) * this.obsDim),
      reward: reward.slice(row, row + 1),
      terminated: terminated.slice(row, row + 1),
      disagreement: disagreement?.slice(row, row + 1),
    };
  }
}
