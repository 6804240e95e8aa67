// What world models without a memory have in common: all they remember of a row is its last observation. A kind of its own
// says what follows an observation and an action (`predict`); what is done with memories is here, once.

import {
  type Carry,
  type FrozenCarry,
  type Imagined,
  type ImagineOptions,
  numberRows,
  type Rngs,
  type RowCodec,
} from '../core/dynamics.js';
import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import { joinedFloats } from '../core/statistics.js';
import type { Spaces, StoredDynamics, WorldModelSnapshot } from './dynamics.js';
import { checkObservations, checkStepInput, checkStreams, type RowShape, rowShape } from './model-folder.js';

/** The last observation of each row: [rows, obsDim]. */
export interface ObservationCarry extends Carry {
  readonly obs: Float32Array;
}

/** What follows each row; arrays are fresh. */
export interface VectorPrediction {
  /** [rows, obsDim] */
  readonly nextObs: Float32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly disagreement?: Float32Array;
}

/** Rows that are asked together; sizes and values are checked. */
export interface StepQuestion {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rows: number;
  readonly rngs: Rngs;
  readonly options: ImagineOptions;
}

export abstract class MemorylessDynamics implements StoredDynamics<ObservationCarry> {
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  protected readonly shape: RowShape;
  // Private to the engine at run time too: a subclass of a user's has fields of its own.
  readonly #rows: RowCodec<Float32Array>;

  constructor(
    readonly backend: string,
    readonly modelVersion: string,
    { observationSpace, actionSpace }: Spaces,
  ) {
    this.observationSpace = observationSpace;
    this.actionSpace = actionSpace;
    this.shape = rowShape({ observationSpace, actionSpace });
    this.#rows = numberRows(this.shape.obsDim);
  }

  begin(starts: Float32Array): ObservationCarry {
    const rows = starts.length / this.shape.obsDim;
    checkObservations(this.backend, this, starts, rows, this.shape);
    return { rows, obs: starts.slice() };
  }

  follow({ rows }: ObservationCarry, action: Float32Array, seen: Float32Array): ObservationCarry {
    checkStepInput(this.backend, this, seen, action, rows, this.shape);
    return { rows, obs: seen.slice() };
  }

  async imagine(
    { rows, obs }: ObservationCarry,
    action: Float32Array,
    rngs: Rngs,
    options: ImagineOptions = {},
  ): Promise<Imagined<ObservationCarry, Float32Array>> {
    checkStepInput(this.backend, this, obs, action, rows, this.shape);
    checkStreams(this.backend, rngs, rows);
    const question = { obs, action, rows, rngs, options };
    const isApart = !(rngs instanceof Rng) && rows > 1 && !(await this.haveExactRows());
    const answer = await (isApart ? this.rowByRow(question) : this.predict(question));
    // Written out: to spread it would take as long as some of the work of a single row.
    const { nextObs, reward, terminated, disagreement } = answer;
    return { carry: { rows, obs: nextObs }, observation: nextObs, reward, terminated, disagreement };
  }

  pick({ obs }: ObservationCarry, rows: Uint32Array): ObservationCarry {
    return { rows: rows.length, obs: this.#rows.pick(obs, rows) };
  }

  join(carries: readonly ObservationCarry[]): ObservationCarry {
    const rows = carries.reduce((sum, carry) => sum + carry.rows, 0);
    return { rows, obs: this.#rows.join(carries.map(({ obs }) => obs)) };
  }

  freeze({ obs }: ObservationCarry): FrozenCarry {
    return { version: this.modelVersion, state: this.#rows.pack(obs) };
  }

  revive({ version, state }: FrozenCarry): ObservationCarry {
    if (version !== this.modelVersion) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: `a model ${version}`, into: `a model ${this.modelVersion}` });
    }
    return this.begin(this.#rows.unpack(state));
  }

  abstract snapshot(): WorldModelSnapshot;
  abstract save(folder: string): Promise<void>;
  abstract close(): Promise<void>;

  /** Throws NON_FINITE_VALUE, SETTING_INVALID; streams may have moved then. */
  protected abstract predict(question: StepQuestion): Promise<VectorPrediction>;

  /** Whether a row gets the same bytes in any batch: see src/nn/row-operators.ts. Else rows with streams of their own are asked alone. */
  protected abstract haveExactRows(): Promise<boolean>;

  private async rowByRow({ obs, action, rows, rngs, options }: StepQuestion): Promise<VectorPrediction> {
    const { obsDim, actionDim } = this.shape;
    const answers: VectorPrediction[] = [];
    for (let r = 0; r < rows; r++) {
      const row = {
        obs: obs.slice(r * obsDim, (r + 1) * obsDim),
        action: action.slice(r * actionDim, (r + 1) * actionDim),
      };
      answers.push(await this.predict({ ...row, rows: 1, rngs: (rngs as readonly Rng[])[r], options }));
    }
    return {
      nextObs: joinedFloats(answers.map(({ nextObs }) => nextObs)),
      reward: joinedFloats(answers.map(({ reward }) => reward)),
      terminated: Uint8Array.from(answers, ({ terminated }) => terminated[0]),
      disagreement: answers[0].disagreement && joinedFloats(answers.map((one) => one.disagreement!)),
    };
  }
}
