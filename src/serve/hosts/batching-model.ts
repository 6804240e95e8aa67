// One model for many simulated environments: steps of single rows that come in while the model is at work, or in the same turn of the event
// loop, are asked as one batch, and each gets its row. What each is answered is to the byte what it would be alone, as rows
// keep streams of their own. No row waits for company: an idle model is asked at the end of the turn. Waiting up
// to 1 or 2 ms for more rows was measured too (4 to 256 sessions, MBPO's ensemble) and was never faster, and at 4 sessions
// four to five times slower: while the model is at work the next rows gather anyhow.

import type { Carry, FrozenCarry, Imagined, ImagineOptions, Rngs } from '../../core/dynamics.js';
import type { VectorSpace } from '../../core/environment.js';
import { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/space-values.js';
import type { VectorDynamics } from '../../worldmodel/dynamics.js';
import type { SeenRange } from '../../worldmodel/seen-range.js';

type Answer = Imagined<Carry, Float32Array>;

interface Waiting {
  readonly carry: Carry;
  readonly action: Float32Array;
  readonly rng: Rng;
  readonly options: ImagineOptions;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class BatchingModel implements VectorDynamics {
  readonly backend: string;
  readonly modelVersion: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly seen?: SeenRange;
  private readonly actionDim: number;
  /** Rows that may be asked together: those of equal options. */
  private readonly queues = new Map<string, Waiting[]>();
  private isBusy = false;

  /** @param model  closed by `close` @param maxRows  of one batch */
  constructor(
    private readonly model: VectorDynamics,
    private readonly maxRows: number,
  ) {
    this.backend = model.backend;
    this.modelVersion = model.modelVersion;
    this.observationSpace = model.observationSpace;
    this.actionSpace = model.actionSpace;
    this.seen = model.seen;
    this.actionDim = rowSize(model.actionSpace);
  }

  imagine(carry: Carry, action: Float32Array, rngs: Rngs, options: ImagineOptions = {}): Answer | Promise<Answer> {
    const rng = rngs instanceof Rng ? rngs : rngs[0];
    // What has not the size of one row is the model's to answer, or to refuse.
    if (carry.rows !== 1 || action.length !== this.actionDim) return this.model.imagine(carry, action, rngs, options);
    return new Promise((resolve, reject) => {
      const key = JSON.stringify([options.propagation, options.disagreement, options.deterministic]);
      const queue = this.queues.get(key) ?? [];
      this.queues.set(key, queue);
      queue.push({ carry, action, rng, options, resolve, reject });
      this.wake();
    });
  }

  begin(starts: Float32Array, rngs: Rngs): Carry | Promise<Carry> {
    return this.model.begin(starts, rngs);
  }

  follow(carry: Carry, action: Float32Array, seen: Float32Array): Carry | Promise<Carry> {
    return this.model.follow(carry, action, seen);
  }

  pick(carry: Carry, rows: Uint32Array): Carry {
    return this.model.pick(carry, rows);
  }

  join(carries: readonly Carry[]): Carry {
    return this.model.join(carries);
  }

  freeze(carry: Carry): FrozenCarry {
    return this.model.freeze(carry);
  }

  revive(frozen: FrozenCarry): Carry {
    return this.model.revive(frozen);
  }

  close(): Promise<void> {
    return this.model.close();
  }

  private wake(): void {
    if (this.isBusy) return;
    this.isBusy = true;
    setImmediate(() => void this.work());
  }

  /** Asks until no row waits, the oldest first. */
  private async work(): Promise<void> {
    for (let next = this.take(); next !== undefined; next = this.take()) await this.ask(next);
    this.isBusy = false;
  }

  private take(): Waiting[] | undefined {
    const [first] = this.queues;
    if (first === undefined) return undefined;
    const [key, queue] = first;
    this.queues.delete(key);
    const batch = queue.splice(0, this.maxRows);
    if (queue.length > 0) this.queues.set(key, queue);
    return batch;
  }

  private async ask(batch: readonly Waiting[]): Promise<void> {
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

  private async askRows(batch: readonly Waiting[], rngs: readonly Rng[]): Promise<Answer> {
    const action = new Float32Array(batch.length * this.actionDim);
    batch.forEach((one, row) => {
      action.set(one.action, row * this.actionDim);
    });
    const carry = this.model.join(batch.map((one) => one.carry));
    return this.model.imagine(carry, action, rngs, batch[0].options);
  }

  private async askApart(batch: readonly Waiting[]): Promise<void> {
    for (const { carry, action, rng, options, resolve, reject } of batch) {
      try {
        resolve(await this.model.imagine(carry, action, [rng], options));
      } catch (error) {
        reject(error);
      }
    }
  }

  private rowOf({ carry, observation, answeredBy, ...columns }: Answer, row: number): Answer {
    const obsDim = observation.length / carry.rows;
    const of = (column: Float32Array | undefined) => column?.slice(row, row + 1);
    return {
      carry: this.model.pick(carry, Uint32Array.of(row)),
      observation: observation.slice(row * obsDim, (row + 1) * obsDim),
      reward: columns.reward.slice(row, row + 1),
      terminated: columns.terminated.slice(row, row + 1),
      disagreement: of(columns.disagreement),
      confidence: of(columns.confidence),
      answeredBy: answeredBy?.slice(row, row + 1),
    };
  }
}
