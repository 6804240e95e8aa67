// A scoring network as policy of text: a softmax over its scores acts and learns, in graphs of the same nodes over the same shapes, so
// that log-probabilities in training equal those of the rollout to the byte.

import { reverieError } from '../../core/errors.js';
import { sha256 } from '../../core/hash.js';
import type { Rng } from '../../core/rng.js';
import { buildTrainer, InferenceSession, type Tensor, type Trainer } from '../../nn/index.js';
import { adamSchedule, withMoments } from '../network-learner.js';
import { choiceModel, choiceTrainer, lessonFeeds } from './choice-graph.js';
import type { Feeds, ScoringNetwork } from './scoring-network.js';
import {
  chooseBy,
  type TextDecision,
  type TextLearner,
  type TextLearnerState,
  type TextLesson,
  type TextObjective,
  type TextPolicy,
  type TextSituation,
  type TextUpdateMetrics,
  type TextUpdateOptions,
} from './text-policy.js';

/** Gradients are shrunk to this length. */
const MAX_GRAD_NORM = 1;

interface Weights {
  readonly theta: Float32Array;
  readonly m: Float32Array;
  readonly v: Float32Array;
}

/** @param rng draws the initial weights */
export async function makeScoredLearner<Encoded>(
  network: ScoringNetwork<Encoded>,
  objective: TextObjective,
  rng: Rng,
): Promise<TextLearner> {
  const theta = network.layout.init(rng);
  const session = await InferenceSession.fromBytes(choiceModel(network), {}, `${network.name} network`);
  const trainer = await buildTrainer(choiceTrainer(network, objective, MAX_GRAD_NORM));
  return new ScoredLearner({ network, objective, session, trainer }, theta);
}

interface Parts<Encoded> {
  readonly network: ScoringNetwork<Encoded>;
  readonly objective: TextObjective;
  readonly session: InferenceSession;
  readonly trainer: Trainer;
}

class ScoredLearner<Encoded> implements TextLearner {
  readonly network: string;
  readonly policy: TextPolicy;
  private weights: Weights;
  private reference: Float32Array;
  private steps = 0;
  private named: { readonly theta: Float32Array; readonly version: string } | undefined;
  /** A situation is read once, however often it is learned from. */
  private readonly encoded = new WeakMap<TextSituation, Encoded>();

  constructor(
    private readonly parts: Parts<Encoded>,
    theta: Float32Array,
  ) {
    this.network = parts.network.name;
    this.weights = withMoments(theta);
    this.reference = theta;
    const version = () => this.version();
    this.policy = {
      get version() {
        return version();
      },
      decide: (situations, draws) => this.decide(situations, draws),
    };
  }

  get parameters(): number {
    return this.weights.theta.length;
  }

  get gradientSteps(): number {
    return this.steps;
  }

  async update(lessons: readonly TextLesson[], { lr, order }: TextUpdateOptions): Promise<TextUpdateMetrics> {
    const before = { weights: this.weights, steps: this.steps };
    try {
      return await this.pass(lessons, order ?? lessons.map((_, i) => i), lr);
    } catch (error) {
      Object.assign(this, before);
      throw error;
    }
  }

  anchor(): void {
    this.reference = this.weights.theta;
  }

  state(): TextLearnerState {
    const { theta, m, v } = this.weights;
    const { steps: gradientSteps, reference, network } = this;
    const arrays = { theta, m, v, reference };
    return {
      meta: { network, settings: this.parts.network.settings, gradientSteps },
      arrays: Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, array.slice()])),
    };
  }

  restore({ meta, arrays }: TextLearnerState): void {
    const misfit = (problem: string) => reverieError('CHECKPOINT_CORRUPT', { path: 'policy of text', problem });
    if (meta.network !== this.network) throw misfit(`it holds a ${meta.network} network, not ${this.network}`);
    const wanted = this.parameters;
    for (const name of ['theta', 'm', 'v', 'reference']) {
      const size = arrays[name]?.length;
      if (size !== wanted)
        throw misfit(`array "${name}" has ${size ?? 'no'} elements where this network has ${wanted}`);
    }
    const { theta, m, v, reference } = arrays;
    this.weights = { theta: theta.slice(), m: m.slice(), v: v.slice() };
    this.reference = reference.slice();
    this.steps = meta.gradientSteps;
  }

  async close(): Promise<void> {
    await this.parts.trainer.release();
    await this.parts.session.release();
  }

  private version(): string {
    const { theta } = this.weights;
    if (this.named?.theta !== theta) {
      const bytes = new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength);
      this.named = { theta, version: `${this.network}-${sha256(bytes).slice(0, 16)}` };
    }
    return this.named.version;
  }

  private async decide(situations: readonly TextSituation[], draws?: readonly number[]): Promise<TextDecision[]> {
    const read = situations.map((situation) => this.read(situation));
    const decisions: TextDecision[] = [];
    const { network } = this.parts;
    for (const rows of network.packed(read)) {
      const batch = network.batchOf(rows.map((i) => read[i]));
      const { logProbs, values, width } = await this.score(this.weights.theta, batch);
      rows.forEach((row, i) => {
        const count = situations[row].admissible.length;
        const choice = chooseBy(logProbs, i * width, count, draws?.[row]);
        decisions[row] = {
          choice,
          logProb: logProbs[i * width + choice],
          entropy: entropyOf(logProbs, i * width, count),
          ...(values && { value: values[i] }),
        };
      });
    }
    return decisions;
  }

  private async pass(lessons: readonly TextLesson[], order: ArrayLike<number>, lr: number): Promise<TextUpdateMetrics> {
    const taken = Array.from(order, (i) => lessons[i]);
    const read = taken.map(({ situation }) => this.read(situation));
    const sums: Record<string, number> = { loss: 0, entropy: 0, kl: 0, clipFraction: 0 };
    const { network } = this.parts;
    const batches = network.packed(read);
    for (const rows of batches) {
      const batch = network.batchOf(rows.map((i) => read[i]));
      const chosen = rows.map((i) => taken[i]);
      const feeds = { ...batch, ...lessonFeeds(chosen, await this.referenceOf(chosen, batch)) };
      const metrics = await this.step(feeds, lr);
      for (const [name, value] of Object.entries(metrics)) sums[name] = (sums[name] ?? 0) + value * rows.length;
    }
    const means = Object.entries(sums).map(([name, sum]) => [name, sum / Math.max(taken.length, 1)]);
    return { ...Object.fromEntries(means), gradientSteps: batches.length } as TextUpdateMetrics;
  }

  private async step(feeds: Feeds, lr: number): Promise<Record<string, number>> {
    const perStep = { ...feeds, ...adamSchedule(this.steps, 1, lr) };
    const { state, metrics } = await this.parts.trainer.run({ state: { ...this.weights }, perStep, steps: 1 });
    this.weights = { theta: state.theta, m: state.m, v: state.v };
    this.steps += 1;
    return Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, values[0]]));
  }

  /** Log-probabilities of the choices under the reference; not worked out where they count for nothing. */
  private async referenceOf(lessons: readonly TextLesson[], batch: Feeds): Promise<Float32Array> {
    const reference = new Float32Array(this.parts.network.rows);
    if (this.parts.objective.klCoefficient === 0) return reference;
    const { logProbs, width } = await this.score(this.reference, batch);
    lessons.forEach(({ choice }, i) => {
      reference[i] = logProbs[i * width + choice];
    });
    return reference;
  }

  private async score(
    theta: Float32Array,
    batch: Feeds,
  ): Promise<{ logProbs: Float32Array; values: Float32Array | undefined; width: number }> {
    const { session, network } = this.parts;
    const { logProbs, values } = await session.run(batchTensors(network, theta, batch));
    const [, width] = logProbs.dims;
    return { logProbs: logProbs.data as Float32Array, values: values?.data as Float32Array | undefined, width };
  }

  private read(situation: TextSituation): Encoded {
    let encoded = this.encoded.get(situation);
    if (encoded === undefined) {
      encoded = this.parts.network.encode(situation);
      this.encoded.set(situation, encoded);
    }
    return encoded;
  }
}

/** What a session of `batchModel` is fed. */
export function batchTensors(
  { inputs }: Pick<ScoringNetwork<unknown>, 'inputs'>,
  theta: Float32Array,
  batch: Feeds,
): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = { theta: { dtype: 'float32', dims: [theta.length], data: theta } };
  for (const [name, { dtype, shape }] of Object.entries(inputs))
    feeds[name] = { dtype, dims: shape, data: batch[name] } as Tensor;
  return feeds;
}

function entropyOf(logProbs: Float32Array, from: number, count: number): number {
  let entropy = 0;
  for (let i = from; i < from + count; i++) entropy -= Math.exp(logProbs[i]) * logProbs[i];
  return entropy;
}
