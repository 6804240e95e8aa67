// What is made of a scoring network. As policy of text, a softmax over its scores acts and learns, in graphs of the same nodes over the
// same shapes, so that log-probabilities in training equal those of the rollout to the byte. As value model, its scores are the values.

import { sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats, joinedIntegers } from '../../core/statistics.js';
import { gradients } from '../../nn/autodiff.js';
import { Graph, type Tensor, type Value } from '../../nn/graph.js';
import {
  add,
  cast,
  clip,
  exp,
  greater,
  logSoftmax,
  minimum,
  mul,
  neg,
  reduceSum,
  square,
  squeeze,
  sub,
  takeAlongAxis,
} from '../../nn/ops.js';
import { adamStep, clipByGlobalNorm } from '../../nn/parameters.js';
import { InferenceSession } from '../../nn/runtime.js';
import { buildTrainer, type OpenSession, type Trainer, type TrainerSpec } from '../../nn/trainer.js';
import { adamSchedule, withMoments } from '../network-learner.js';
import { type Feeds, MAX_COMMANDS, type ScoringNetwork, type Values } from './scoring.js';
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
  private readonly reader: Reader<Encoded>;

  constructor(
    private readonly parts: Parts<Encoded>,
    theta: Float32Array,
  ) {
    this.reader = new Reader(parts.network);
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
    const found: number[] = [];
    for (const { rows, batch } of this.reader.batches(choices.map(({ situation }) => situation))) {
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
    const decisions: TextDecision[] = [];
    for (const { rows, batch } of this.reader.batches(situations)) {
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
    const sums: Record<string, number> = { loss: 0, entropy: 0, kl: 0, clipFraction: 0 };
    const { stepsAtOnce } = this.parts;
    const batches = [...this.reader.batches(taken.map(({ situation }) => situation))];
    for (let from = 0; from < batches.length; from += stepsAtOnce) {
      const together = batches.slice(from, from + stepsAtOnce);
      const feeds: Feeds[] = [];
      for (const { rows, batch } of together) {
        const chosen = rows.map((i) => taken[i]);
        feeds.push({ ...batch, ...lessonFeeds(chosen, await this.referenceOf(chosen, batch)) });
      }
      const metrics = await this.step(feeds, lr);
      for (const [name, values] of Object.entries(metrics)) {
        for (const [i, { rows }] of together.entries()) sums[name] = (sums[name] ?? 0) + values[i] * rows.length;
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
}

/** What a session of `batchModel` is fed. */
function batchTensors(
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

/** Situations as batches that a graph takes. A situation is read once, however often it is asked about or learned from. */
class Reader<Encoded> {
  private readonly encoded = new WeakMap<TextSituation, Encoded>();

  constructor(private readonly network: ScoringNetwork<Encoded>) {}

  /** `rows`: the places of a batch's situations among all. */
  *batches(
    situations: readonly TextSituation[],
  ): Generator<{ readonly rows: readonly number[]; readonly batch: Feeds }> {
    const read = situations.map((situation) => this.read(situation));
    for (const rows of this.network.packed(read)) yield { rows, batch: this.network.batchOf(rows.map((i) => read[i])) };
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

// Graphs: log-probabilities of commands, and one gradient step on choices.

type Network = ScoringNetwork<unknown>;

/** Of each situation of a training step. `weight` sums to about 1; `imitated` is 1 where the choice is somebody else's. */
function lessonInputs({ rows }: Network) {
  return {
    choice: { dtype: 'int32', shape: [rows, 1] },
    logProb: { dtype: 'float32', shape: [rows] },
    reference: { dtype: 'float32', shape: [rows] },
    advantage: { dtype: 'float32', shape: [rows] },
    weight: { dtype: 'float32', shape: [rows] },
    imitated: { dtype: 'float32', shape: [rows] },
    target: { dtype: 'float32', shape: [rows] },
  } as const;
}

interface Judged {
  /** [rows, MAX_COMMANDS], about NO_COMMAND where there is no command. */
  readonly logProbs: Value;
  readonly values?: Value;
}

function judgement(network: Network, params: Values, batch: Values): Judged {
  const { scores, ...rest } = network.scores(params, batch);
  return { logProbs: logSoftmax(scores), ...rest };
}

/** Inputs theta and those of a batch; outputs what `of` makes of them. */
function batchModel(network: Network, of: (params: Values, batch: Values) => object): Uint8Array {
  const graph = new Graph(network.name);
  const { layout, inputs } = network;
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const batch = Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, graph.input(name, input.dtype, input.shape)]),
  );
  for (const [name, value] of Object.entries(of(params, batch))) graph.output(name, value as Value);
  return graph.toModel();
}

/** Outputs `logProbs` [rows, MAX_COMMANDS] and, of a critic, `values` [rows]. */
function choiceModel(network: Network): Uint8Array {
  return batchModel(network, (params, batch) => judgement(network, params, batch));
}

/** The trainer: state theta, m, v; per step a batch and its lessons. */
function choiceTrainer(network: Network, objective: TextObjective, maxGradNorm: number): TrainerSpec {
  return batchTrainer(network, lessonInputs(network), maxGradNorm, (params, step) =>
    lessonLoss(objective, judgement(network, params, step), step),
  );
}

/** A step of Adam on a loss of a batch and of what is said of it. */
function batchTrainer(
  network: Network,
  lessons: NonNullable<TrainerSpec['perStep']>,
  maxGradNorm: number,
  lossOf: (params: Values, step: Values) => { readonly loss: Value; readonly metrics: Values },
): TrainerSpec {
  const { layout } = network;
  const { size } = layout;
  return {
    name: network.name,
    state: { theta: [size], m: [size], v: [size] },
    perStep: {
      ...network.inputs,
      ...lessons,
      adamAlpha: { dtype: 'float32', shape: [] },
      adamEpsilon: { dtype: 'float32', shape: [] },
    },
    body({ state, perStep }) {
      const { loss, metrics } = lossOf(layout.unpack(state.theta), perStep);
      const grad = clipByGlobalNorm(gradients(loss, [state.theta])[0], maxGradNorm);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics: { loss, ...metrics } };
    },
  };
}

/** Clipped surrogate, KL to the reference, entropy and a critic's error; or, of what is imitated, the negative log-probability. */
function lessonLoss(objective: TextObjective, { logProbs, values }: Judged, lesson: Values) {
  const { clipLow, clipHigh, klCoefficient, entropyCoefficient } = objective;
  const { choice, logProb, reference, advantage, weight, imitated } = lesson;
  const chosen = squeeze(takeAlongAxis(logProbs, choice, 1), [1]);
  const entropy = neg(reduceSum(mul(exp(logProbs), logProbs), [1]));
  const logRatio = sub(chosen, logProb);
  const ratio = exp(logRatio);
  const clipped = clip(ratio, 1 - clipLow, 1 + clipHigh);
  const surrogate = minimum(mul(ratio, advantage), mul(clipped, advantage));
  const toReference = sub(reference, chosen);
  const penalty = mul(sub(sub(exp(toReference), toReference), 1), klCoefficient);
  const own = sub(sub(penalty, surrogate), mul(entropy, entropyCoefficient));
  const isOwn = mul(sub(weight.graph.constant(1), imitated), weight);
  const acted = sub(reduceSum(mul(own, isOwn)), reduceSum(mul(chosen, mul(imitated, weight))));
  const error = values === undefined ? undefined : reduceSum(mul(squaredError(values, lesson.target), isOwn));
  const loss = error === undefined ? acted : add(acted, mul(error, (objective.valueCoefficient ?? 0) / 2));
  const outside = cast(greater(mul(sub(ratio, clipped), sub(ratio, clipped)), 0), 'float32');
  return {
    loss,
    metrics: {
      entropy: reduceSum(mul(entropy, weight)),
      kl: reduceSum(mul(sub(sub(ratio, 1), logRatio), isOwn)),
      clipFraction: reduceSum(mul(outside, isOwn)),
      ...(error && { valueError: error }),
    },
  };
}

function squaredError(a: Value, b: Value): Value {
  const difference = sub(a, b);
  return mul(difference, difference);
}

/** @param reference [rows], log-probabilities of the choices under the reference */
function lessonFeeds(lessons: readonly TextLesson[], reference: Float32Array): Feeds {
  const rows = reference.length;
  const choice = new Int32Array(rows);
  const logProb = new Float32Array(rows);
  const advantage = new Float32Array(rows);
  const weight = new Float32Array(rows);
  const imitated = new Float32Array(rows);
  const target = new Float32Array(rows);
  lessons.forEach((lesson, i) => {
    choice[i] = lesson.choice;
    logProb[i] = lesson.logProb ?? 0;
    advantage[i] = lesson.advantage ?? 0;
    weight[i] = (lesson.weight ?? 1) / lessons.length;
    imitated[i] = lesson.logProb === undefined ? 1 : 0;
    target[i] = lesson.target ?? 0;
  });
  return { choice, logProb, reference, advantage, weight, imitated, target };
}

// A value environment model (VEM, Song et al. 2025, 2502.18906): what choosing a command in a situation came to in the end, learned from
// records, without a model of what is seen next.

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
  private readonly reader: Reader<Encoded>;

  constructor(
    private readonly network: ScoringNetwork<Encoded>,
    private readonly session: InferenceSession,
    private readonly trainer: Trainer,
    private weights: Weights,
  ) {
    this.reader = new Reader(network);
  }

  get parameters(): number {
    return this.weights.theta.length;
  }

  get version(): string {
    const { buffer, byteOffset, byteLength } = this.weights.theta;
    return `${this.network.name}-values-${sha256(new Uint8Array(buffer, byteOffset, byteLength)).slice(0, 16)}`;
  }

  async values(situations: readonly TextSituation[]): Promise<Float32Array[]> {
    const { network, session } = this;
    const found: Float32Array[] = [];
    for (const { rows, batch } of this.reader.batches(situations)) {
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
    const taken = Array.from(order ?? lessons.map((_, i) => i), (i) => lessons[i]);
    let sum = 0;
    for (const { rows, batch } of this.reader.batches(taken.map(({ situation }) => situation))) {
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
}
