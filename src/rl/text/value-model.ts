// A value environment model (VEM, Song et al. 2025, 2502.18906): what choosing a command in a situation came to in the end, learned from
// records, without a model of what is seen next. It is a scoring network whose scores are the values.

import { sha256 } from '../../core/canonical-json.js';
import type { Rng } from '../../core/rng.js';
import { mul, reduceSum, square, squeeze, sub, takeAlongAxis } from '../../nn/ops.js';
import { InferenceSession } from '../../nn/runtime.js';
import { buildTrainer, type Trainer, type TrainerSpec } from '../../nn/trainer.js';
import { adamSchedule, withMoments } from '../network-learner.js';
import { batchModel, batchTrainer } from './choice-graph.js';
import { batchTensors } from './scored-learner.js';
import { MAX_COMMANDS, type ScoringNetwork } from './scoring-network.js';
import type { TextSituation, TextUpdateOptions } from './text-policy.js';

/** One choice, and what it came to. */
export interface ValueLesson {
  readonly situation: TextSituation;
  readonly choice: number;
  /** Discounted rewards from the choice on. */
  readonly target: number;
}

export interface TextValueModel {
  readonly parameters: number;
  /** Changes with the weights. */
  readonly version: string;
  /** Of each situation, the value of each of its commands. @throws DOMAIN_UNFIT */
  values(situations: readonly TextSituation[]): Promise<Float32Array[]>;
  /** One pass over the lessons; the mean squared error, each batch's before its own step. @throws NON_FINITE_VALUE */
  update(lessons: readonly ValueLesson[], options: TextUpdateOptions): Promise<{ readonly error: number }>;
  close(): Promise<void>;
}

/** Gradients are shrunk to this length. */
const MAX_GRAD_NORM = 1;

/** @param rng draws the initial weights */
export async function makeScoredValues<Encoded>(network: ScoringNetwork<Encoded>, rng: Rng): Promise<TextValueModel> {
  const model = batchModel(network, (params, batch) => ({ scores: network.scores(params, batch).scores }));
  const session = await InferenceSession.fromBytes(model, {}, `${network.name} values`);
  const trainer = await buildTrainer(valueTrainer(network));
  return new ScoredValues(network, session, trainer, withMoments(network.layout.init(rng)));
}

function valueTrainer(network: ScoringNetwork<unknown>): TrainerSpec {
  const { rows } = network;
  const lessons = {
    choice: { dtype: 'int32', shape: [rows, 1] },
    target: { dtype: 'float32', shape: [rows] },
    weight: { dtype: 'float32', shape: [rows] },
  } as const;
  return batchTrainer(network, lessons, MAX_GRAD_NORM, (params, step) => {
    const { scores } = network.scores(params, step);
    const chosen = squeeze(takeAlongAxis(scores, step.choice, 1), [1]);
    // Rows of padding have no command, and weigh nothing.
    const error = reduceSum(mul(square(sub(chosen, step.target)), step.weight));
    return { loss: error, metrics: { error } };
  });
}

class ScoredValues<Encoded> implements TextValueModel {
  private steps = 0;
  /** A situation is read once, however often it is asked about. */
  private readonly encoded = new WeakMap<TextSituation, Encoded>();

  constructor(
    private readonly network: ScoringNetwork<Encoded>,
    private readonly session: InferenceSession,
    private readonly trainer: Trainer,
    private weights: ReturnType<typeof withMoments>,
  ) {}

  get parameters(): number {
    return this.weights.theta.length;
  }

  get version(): string {
    const { buffer, byteOffset, byteLength } = this.weights.theta;
    return `${this.network.name}-values-${sha256(new Uint8Array(buffer, byteOffset, byteLength)).slice(0, 16)}`;
  }

  async values(situations: readonly TextSituation[]): Promise<Float32Array[]> {
    const { network, session } = this;
    const read = situations.map((situation) => this.read(situation));
    const found: Float32Array[] = [];
    for (const rows of network.packed(read)) {
      const batch = network.batchOf(rows.map((i) => read[i]));
      const { scores } = await session.run(batchTensors(network, this.weights.theta, batch));
      const data = scores.data as Float32Array;
      rows.forEach((row, i) => {
        const from = i * MAX_COMMANDS;
        found[row] = data.slice(from, from + situations[row].admissible.length);
      });
    }
    return found;
  }

  async update(lessons: readonly ValueLesson[], { lr, order }: TextUpdateOptions): Promise<{ readonly error: number }> {
    const { network } = this;
    const taken = Array.from(order ?? lessons.map((_, i) => i), (i) => lessons[i]);
    const read = taken.map(({ situation }) => this.read(situation));
    let sum = 0;
    for (const rows of network.packed(read)) {
      const batch = network.batchOf(rows.map((i) => read[i]));
      const perStep = { ...batch, ...this.feeds(rows.map((i) => taken[i])), ...adamSchedule(this.steps, 1, lr) };
      const { state, metrics } = await this.trainer.run({ state: { ...this.weights }, perStep, steps: 1 });
      this.weights = { theta: state.theta, m: state.m, v: state.v };
      this.steps += 1;
      sum += metrics.error[0] * rows.length;
    }
    return { error: sum / Math.max(taken.length, 1) };
  }

  async close(): Promise<void> {
    await this.trainer.release();
    await this.session.release();
  }

  private feeds(lessons: readonly ValueLesson[]) {
    const { rows } = this.network;
    const [choice, target, weight] = [new Int32Array(rows), new Float32Array(rows), new Float32Array(rows)];
    lessons.forEach((lesson, i) => {
      choice[i] = lesson.choice;
      target[i] = lesson.target;
      weight[i] = 1 / lessons.length;
    });
    return { choice, target, weight };
  }

  private read(situation: TextSituation): Encoded {
    let encoded = this.encoded.get(situation);
    if (encoded === undefined) {
      encoded = this.network.encode(situation);
      this.encoded.set(situation, encoded);
    }
    return encoded;
  }
}
