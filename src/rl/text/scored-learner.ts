// A scoring network as policy of text: a softmax over its scores acts and learns, in graphs of the same nodes over the same shapes, so
// that log-probabilities in training equal those of the rollout to the byte.

import { sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats, joinedIntegers } from '../../core/statistics.js';
import type { Tensor } from '../../nn/graph.js';
import { InferenceSession } from '../../nn/runtime.js';
import { buildTrainer, type OpenSession, type Trainer } from '../../nn/trainer.js';
import { adamSchedule, withMoments } from '../network-learner.js';
import { choiceModel, choiceTrainer, lessonFeeds } from './choice-graph.js';
import type { Feeds, ScoringNetwork } from './scoring-network.js';
import {
  chooseBy,
  type TextChoice,
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

/** Gradient steps of one run elsewhere: what acts in this thread keeps the next run waiting. */
const STEPS_ELSEWHERE = 8;

/**
 * @param rng  draws the initial weights
 * @param open runs its gradient steps; in the calling thread unless given
 */
export async function makeScoredLearner<Encoded>(
  network: ScoringNetwork<Encoded>,
  objective: TextObjective,
  rng: Rng,
  open?: OpenSession,
): Promise<TextLearner> {
  const theta = network.layout.init(rng);
  const session = await InferenceSession.fromBytes(choiceModel(network), {}, `${network.name} network`);
  const trainer = await buildTrainer(choiceTrainer(network, objective, MAX_GRAD_NORM), open);
  const stepsAtOnce = open === undefined ? 1 : STEPS_ELSEWHERE;
  return new ScoredLearner({ network, objective, session, trainer, stepsAtOnce }, theta);
}

interface Parts<Encoded> {
  readonly network: ScoringNetwork<Encoded>;
  readonly objective: TextObjective;
  readonly session: InferenceSession;
  readonly trainer: Trainer;
  /** Gradient steps of one run; the same bytes, however many. */
  readonly stepsAtOnce: number;
}

class ScoredLearner<Encoded> implements TextLearner {
  readonly network: string;
  readonly policy: TextPolicy;
  private trained: Weights;
  private reference: Float32Array;
  private steps = 0;
  private readonly versions = new WeakMap<Float32Array, string>();
  /** A situation is read once, however often it is learned from. */
  private readonly encoded = new WeakMap<TextSituation, Encoded>();

  constructor(
    private readonly parts: Parts<Encoded>,
    theta: Float32Array,
  ) {
    this.network = parts.network.name;
    this.trained = withMoments(theta);
    this.reference = theta;
    this.policy = this.actingWith(() => this.trained.theta);
  }

  get weights(): Float32Array {
    return this.trained.theta;
  }

  get parameters(): number {
    return this.trained.theta.length;
  }

  get gradientSteps(): number {
    return this.steps;
  }

  policyOf(weights: Float32Array): TextPolicy {
    return this.actingWith(() => weights);
  }

  async logProbs(choices: readonly TextChoice[]): Promise<number[]> {
    const read = choices.map(({ situation }) => this.read(situation));
    const found: number[] = [];
    for (const rows of this.parts.network.packed(read)) {
      const batch = this.parts.network.batchOf(rows.map((i) => read[i]));
      const { logProbs, width } = await this.score(this.trained.theta, batch);
      rows.forEach((row, i) => {
        found[row] = logProbs[i * width + choices[row].choice];
      });
    }
    return found;
  }

  async update(lessons: readonly TextLesson[], { lr, order }: TextUpdateOptions): Promise<TextUpdateMetrics> {
    const before = { trained: this.trained, steps: this.steps };
    try {
      return await this.pass(lessons, order ?? lessons.map((_, i) => i), lr);
    } catch (error) {
      Object.assign(this, before);
      throw error;
    }
  }

  anchor(): void {
    this.reference = this.trained.theta;
  }

  state(): TextLearnerState {
    const { theta, m, v } = this.trained;
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
    this.trained = { theta: theta.slice(), m: m.slice(), v: v.slice() };
    this.reference = reference.slice();
    this.steps = meta.gradientSteps;
  }

  async close(): Promise<void> {
    await this.parts.trainer.release();
    await this.parts.session.release();
  }

  private actingWith(theta: () => Float32Array): TextPolicy {
    const version = () => this.versionOf(theta());
    return {
      get version() {
        return version();
      },
      decide: (situations, draws) => this.decide(theta(), situations, draws),
    };
  }

  private versionOf(theta: Float32Array): string {
    const known = this.versions.get(theta);
    if (known !== undefined) return known;
    const bytes = new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength);
    const version = `${this.network}-${sha256(bytes).slice(0, 16)}`;
    this.versions.set(theta, version);
    return version;
  }

  private async decide(
    theta: Float32Array,
    situations: readonly TextSituation[],
    draws?: readonly number[],
  ): Promise<TextDecision[]> {
    const read = situations.map((situation) => this.read(situation));
    const decisions: TextDecision[] = [];
    const { network } = this.parts;
    for (const rows of network.packed(read)) {
      const batch = network.batchOf(rows.map((i) => read[i]));
      const { logProbs, values, width } = await this.score(theta, batch);
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
    const { network, stepsAtOnce } = this.parts;
    const batches = network.packed(read);
    for (let from = 0; from < batches.length; from += stepsAtOnce) {
      const together = batches.slice(from, from + stepsAtOnce);
      const feeds: Feeds[] = [];
      for (const rows of together) {
        const batch = network.batchOf(rows.map((i) => read[i]));
        const chosen = rows.map((i) => taken[i]);
        feeds.push({ ...batch, ...lessonFeeds(chosen, await this.referenceOf(chosen, batch)) });
      }
      const metrics = await this.step(feeds, lr);
      for (const [name, values] of Object.entries(metrics)) {
        for (const [i, rows] of together.entries()) sums[name] = (sums[name] ?? 0) + values[i] * rows.length;
      }
    }
    const means = Object.entries(sums).map(([name, sum]) => [name, sum / Math.max(taken.length, 1)]);
    return { ...Object.fromEntries(means), gradientSteps: batches.length } as TextUpdateMetrics;
  }

  /** A gradient step on each; of each metric, a number a step. */
  private async step(feeds: readonly Feeds[], lr: number): Promise<Record<string, Float32Array>> {
    const steps = feeds.length;
    const perStep = { ...stacked(feeds), ...adamSchedule(this.steps, steps, lr) };
    const { state, metrics } = await this.parts.trainer.run({ state: { ...this.trained }, perStep, steps });
    this.trained = { theta: state.theta, m: state.m, v: state.v };
    this.steps += steps;
    return metrics;
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

/** Feeds of steps in a row, one behind the other. */
function stacked(feeds: readonly Feeds[]): Feeds {
  const [first] = feeds;
  if (feeds.length === 1) return first;
  const of = (name: string) => {
    const arrays = feeds.map((one) => one[name]);
    return first[name] instanceof Int32Array
      ? joinedIntegers(arrays as Int32Array[])
      : joinedFloats(arrays as Float32Array[]);
  };
  return Object.fromEntries(Object.keys(first).map((name) => [name, of(name)]));
}

function entropyOf(logProbs: Float32Array, from: number, count: number): number {
  let entropy = 0;
  for (let i = from; i < from + count; i++) entropy -= Math.exp(logProbs[i]) * logProbs[i];
  return entropy;
}
