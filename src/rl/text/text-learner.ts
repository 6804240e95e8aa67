// What is made of the relevance network. As policy of text, a softmax over its scores acts and learns, in graphs of the same nodes over the
// same shapes, so that log-probabilities in training equal those of the rollout to the byte. As value model, its scores are the values.

import { sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
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
import { buildTrainer, type Trainer, type TrainerSpec } from '../../nn/trainer.js';
import { adamSchedule, withMoments } from '../network-learner.js';
import {
  type EncodedSituation,
  encodeSituation,
  type Feeds,
  MAX_COMMANDS,
  RelevanceNetwork,
  type RelevanceSettings,
  type Values,
} from './relevance.js';
import type { TextDecision, TextLesson, TextPolicy, TextSituation } from './text-policy.js';

/** Gradients are shrunk to this length. */
const MAX_GRAD_NORM = 1;

/** The step of the policy gradient, alike for all estimators of advantages. */
export interface TextObjective {
  /** The ratio of probabilities counts down to 1 - this (PPO, 1707.06347). */
  readonly clipLow: number;
  /** ... and up to 1 + this: higher than `clipLow` keeps rare choices growing (clip-higher; DAPO, 2503.14476). */
  readonly clipHigh: number;
  /** Weight of KL(policy || reference), by the estimator k3. */
  readonly klCoefficient: number;
  /** Weight of the entropy that is rewarded. */
  readonly entropyCoefficient: number;
  /** Weight of a critic's squared error, halved; above 0 the network has a critic. */
  readonly valueCoefficient?: number;
}

interface TextUpdateOptions {
  /** Step size of Adam. */
  readonly lr: number;
  /** Order in which the lessons are taken; all of them in theirs unless given. */
  readonly order?: ArrayLike<number>;
}

/** Means over the lessons of an update, each taken before its own gradient step. */
export interface TextUpdateMetrics {
  readonly loss: number;
  readonly entropy: number;
  /** KL from the policy that chose to that of the moment (k3); 0 in the first gradient step after a rollout of the moment's policy. */
  readonly kl: number;
  /** Share of the lessons whose ratio was clipped. */
  readonly clipFraction: number;
  /** Mean squared error of a critic; absent without one. */
  readonly valueError?: number;
  readonly gradientSteps: number;
}

/** Exact state of a learner: JSON-safe `meta` and named float32 arrays (copies). */
export interface TextLearnerState {
  readonly meta: { readonly network: string; readonly settings: unknown; readonly gradientSteps: number };
  readonly arrays: Readonly<Record<string, Float32Array>>;
}

type Weights = ReturnType<typeof withMoments>;

/** The network with the weights of the moment, which a trainer moves by one gradient step for each batch. */
class Trained {
  steps = 0;
  weights: Weights;
  private hashed: { theta: Float32Array; hash: string } | undefined;
  /** A situation is read once, however often it is asked about or learned from. */
  private readonly encoded = new WeakMap<TextSituation, EncodedSituation>();

  private constructor(
    readonly network: RelevanceNetwork,
    private readonly session: InferenceSession,
    private readonly trainer: Trainer,
    theta: Float32Array,
  ) {
    this.weights = withMoments(theta);
  }

  /**
   * @param of outputs of the session, of parameters and a batch
   * @param rng draws the initial weights
   */
  static async make(
    network: RelevanceNetwork,
    of: (params: Values, batch: Values) => object,
    spec: TrainerSpec,
    rng: Rng,
  ): Promise<Trained> {
    const session = await InferenceSession.fromBytes(batchModel(network, of), {}, `${network.name} network`);
    return new Trained(network, session, await buildTrainer(spec), network.layout.init(rng));
  }

  /** Changes with the weights. */
  get hash(): string {
    const { theta } = this.weights;
    if (this.hashed?.theta !== theta) {
      const { buffer, byteOffset, byteLength } = theta;
      this.hashed = { theta, hash: sha256(new Uint8Array(buffer, byteOffset, byteLength)).slice(0, 16) };
    }
    return this.hashed.hash;
  }

  /** Situations as batches that a graph takes. `rows`: the places of a batch's situations among all. */
  *batches(
    situations: readonly TextSituation[],
  ): Generator<{ readonly rows: readonly number[]; readonly batch: Feeds }> {
    const read = situations.map((situation) => {
      const encoded = this.encoded.get(situation) ?? encodeSituation(situation, this.network.settings);
      this.encoded.set(situation, encoded);
      return encoded;
    });
    for (const rows of this.network.packed(read)) yield { rows, batch: this.network.batchOf(rows.map((i) => read[i])) };
  }

  /** What the session makes of a batch, by these weights. */
  async run(batch: Feeds, theta = this.weights.theta): Promise<Readonly<Record<string, Float32Array | undefined>>> {
    const feeds: Record<string, Tensor> = { theta: { dtype: 'float32', dims: [theta.length], data: theta } };
    for (const [name, { dtype, shape }] of Object.entries(this.network.inputs))
      feeds[name] = { dtype, dims: shape, data: batch[name] } as Tensor;
    const outputs = Object.entries(await this.session.run(feeds));
    return Object.fromEntries(outputs.map(([name, { data }]) => [name, data as Float32Array]));
  }

  /**
   * One pass over the lessons, in `order` where it is given. Answers means over the lessons, each taken before its own gradient step.
   * @param feedsOf what a trainer is fed of the lessons of a batch
   * @throws NON_FINITE_VALUE, and all is as it was before
   */
  async pass<L extends { readonly situation: TextSituation }>(
    lessons: readonly L[],
    { lr, order }: TextUpdateOptions,
    feedsOf: (lessons: readonly L[], batch: Feeds) => Feeds | Promise<Feeds>,
  ): Promise<Record<string, number>> {
    const { weights, steps } = this;
    const taken = order === undefined ? lessons : Array.from(order, (i) => lessons[i]);
    const sums: Record<string, number> = {};
    try {
      for (const { rows, batch } of this.batches(taken.map(({ situation }) => situation))) {
        const own = await feedsOf(
          rows.map((i) => taken[i]),
          batch,
        );
        const perStep = { ...batch, ...own, ...adamSchedule(this.steps, 1, lr) };
        const { state, metrics } = await this.trainer.run({ state: { ...this.weights }, perStep, steps: 1 });
        this.weights = { theta: state.theta, m: state.m, v: state.v };
        this.steps += 1;
        for (const [name, [value]] of Object.entries(metrics)) sums[name] = (sums[name] ?? 0) + value * rows.length;
      }
    } catch (error) {
      Object.assign(this, { weights, steps });
      throw error;
    }
    return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / Math.max(taken.length, 1)]));
  }

  async close(): Promise<void> {
    await this.trainer.release();
    await this.session.release();
  }
}

export class TextLearner {
  /** Acts with the weights of the moment. */
  readonly policy: TextPolicy;
  private reference: Float32Array;

  private constructor(
    private readonly trained: Trained,
    private readonly objective: TextObjective,
  ) {
    this.reference = trained.weights.theta;
    this.policy = {
      get version() {
        return `relevance-${trained.hash}`;
      },
      decide: (situations, draws) => this.decide(situations, draws),
    };
  }

  /** A fresh learner. @param rng draws the initial weights */
  static async make(given: RelevanceSettings, objective: TextObjective, rng: Rng): Promise<TextLearner> {
    const hasCritic = (objective.valueCoefficient ?? 0) > 0;
    const network = new RelevanceNetwork(hasCritic ? { critic: true, ...given } : given);
    const of = (params: Values, batch: Values) => judgement(network, params, batch);
    return new TextLearner(await Trained.make(network, of, choiceTrainer(network, objective), rng), objective);
  }

  get parameters(): number {
    return this.trained.weights.theta.length;
  }

  get gradientSteps(): number {
    return this.trained.steps;
  }

  /** One pass over the lessons. @throws NON_FINITE_VALUE, and the learner is as it was before */
  async update(lessons: readonly TextLesson[], options: TextUpdateOptions): Promise<TextUpdateMetrics> {
    const before = this.trained.steps;
    const means = await this.trained.pass(lessons, options, async (own, batch) =>
      lessonFeeds(own, await this.referenceOf(own, batch)),
    );
    const nothing = { loss: 0, entropy: 0, kl: 0, clipFraction: 0 };
    return { ...nothing, ...means, gradientSteps: this.trained.steps - before };
  }

  /** The weights of now become the reference of the KL penalty. Before the first call those it began with are. */
  anchor(): void {
    this.reference = this.trained.weights.theta;
  }

  state(): TextLearnerState {
    const { weights, steps, network } = this.trained;
    const { name, settings } = network;
    const arrays = Object.entries({ ...weights, reference: this.reference }).map(([key, array]) => [
      key,
      array.slice(),
    ]);
    return { meta: { network: name, settings, gradientSteps: steps }, arrays: Object.fromEntries(arrays) };
  }

  /** Resumes from `state`. @throws CHECKPOINT_CORRUPT if it does not fit, and the learner is as it was before */
  restore({ meta, arrays }: TextLearnerState): void {
    const misfit = (problem: string) => reverieError('CHECKPOINT_CORRUPT', { path: 'policy of text', problem });
    const { name } = this.trained.network;
    if (meta.network !== name) throw misfit(`it holds a ${meta.network} network, not ${name}`);
    const wanted = this.parameters;
    for (const key of ['theta', 'm', 'v', 'reference']) {
      const size = arrays[key]?.length;
      if (size !== wanted) throw misfit(`array "${key}" has ${size ?? 'no'} elements where this network has ${wanted}`);
    }
    const { theta, m, v, reference } = arrays;
    this.trained.weights = { theta: theta.slice(), m: m.slice(), v: v.slice() };
    this.trained.steps = meta.gradientSteps;
    this.reference = reference.slice();
  }

  close(): Promise<void> {
    return this.trained.close();
  }

  private async decide(situations: readonly TextSituation[], draws?: readonly number[]): Promise<TextDecision[]> {
    const decisions: TextDecision[] = [];
    const { theta } = this.trained.weights;
    for (const { rows, batch } of this.trained.batches(situations)) {
      const { logProbs, values } = await this.trained.run(batch, theta);
      rows.forEach((row, i) => {
        const own = logProbs!.subarray(i * MAX_COMMANDS, i * MAX_COMMANDS + situations[row].admissible.length);
        const choice = chooseBy(own, draws?.[row]);
        const entropy = own.reduce((sum, logProb) => sum - Math.exp(logProb) * logProb, 0);
        decisions[row] = { choice, logProb: own[choice], entropy, ...(values && { value: values[i] }) };
      });
    }
    return decisions;
  }

  /** Log-probabilities of the choices under the reference; not worked out where they count for nothing. */
  private async referenceOf(lessons: readonly TextLesson[], batch: Feeds): Promise<Float32Array> {
    const reference = new Float32Array(this.trained.network.settings.rows);
    if (this.objective.klCoefficient === 0) return reference;
    const { logProbs } = await this.trained.run(batch, this.reference);
    lessons.forEach(({ choice }, i) => {
      reference[i] = logProbs![i * MAX_COMMANDS + choice];
    });
    return reference;
  }
}

/** The index that `draw` in (0, 1) falls on; the most probable without. Sums in double precision, in order. */
function chooseBy(logProbs: Float32Array, draw: number | undefined): number {
  if (draw === undefined) return logProbs.indexOf(Math.max(...logProbs));
  let left = draw * logProbs.reduce((sum, logProb) => sum + Math.exp(logProb), 0);
  const found = logProbs.findIndex((logProb) => {
    left -= Math.exp(logProb);
    return left < 0;
  });
  return found < 0 ? logProbs.indexOf(Math.max(...logProbs)) : found;
}

// Graphs: log-probabilities of commands, and one gradient step on choices.

/** Inputs theta and those of a batch; outputs what `of` makes of them. */
function batchModel(network: RelevanceNetwork, of: (params: Values, batch: Values) => object): Uint8Array {
  const graph = new Graph(network.name);
  const { layout, inputs } = network;
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const batch = Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, graph.input(name, input.dtype, input.shape)]),
  );
  for (const [name, value] of Object.entries(of(params, batch))) graph.output(name, value as Value);
  return graph.toModel();
}

/** `logProbs` [rows, MAX_COMMANDS] are about NO_COMMAND where there is no command; `values` [rows] are a critic's. */
function judgement(network: RelevanceNetwork, params: Values, batch: Values) {
  const { scores, ...rest } = network.scores(params, batch);
  return { logProbs: logSoftmax(scores), ...rest };
}

/** The trainer: state theta, m, v; per step a batch and its lessons. `weight` sums to about 1; `imitated` is 1 for choices to be imitated. */
function choiceTrainer(network: RelevanceNetwork, objective: TextObjective): TrainerSpec {
  const { rows } = network.settings;
  const column = { dtype: 'float32', shape: [rows] } as const;
  const lessons = {
    choice: { dtype: 'int32', shape: [rows, 1] } as const,
    ...{ logProb: column, reference: column, advantage: column, weight: column, imitated: column, target: column },
  };
  return batchTrainer(network, lessons, (params, step) =>
    lessonLoss(objective, judgement(network, params, step), step),
  );
}

/** A step of Adam on a loss of a batch and of its lessons. */
function batchTrainer(
  network: RelevanceNetwork,
  lessons: NonNullable<TrainerSpec['perStep']>,
  lossOf: (params: Values, step: Values) => { readonly loss: Value; readonly metrics: Values },
): TrainerSpec {
  const { layout } = network;
  const { size } = layout;
  const scalar = { dtype: 'float32', shape: [] } as const;
  return {
    name: network.name,
    state: { theta: [size], m: [size], v: [size] },
    perStep: { ...network.inputs, ...lessons, adamAlpha: scalar, adamEpsilon: scalar },
    body({ state, perStep }) {
      const { loss, metrics } = lossOf(layout.unpack(state.theta), perStep);
      const grad = clipByGlobalNorm(gradients(loss, [state.theta])[0], MAX_GRAD_NORM);
      const { theta, m, v } = state;
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      return { state: { ...next }, metrics: { loss, ...metrics } };
    },
  };
}

/** Clipped surrogate, KL to the reference, entropy and a critic's error; or, of what is imitated, the negative log-probability. */
function lessonLoss(objective: TextObjective, { logProbs, values }: ReturnType<typeof judgement>, lesson: Values) {
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
  const error = values === undefined ? undefined : reduceSum(mul(square(sub(values, lesson.target)), isOwn));
  const loss = error === undefined ? acted : add(acted, mul(error, (objective.valueCoefficient ?? 0) / 2));
  const outside = cast(greater(square(sub(ratio, clipped)), 0), 'float32');
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

/** @param reference [rows], log-probabilities of the choices under the reference */
function lessonFeeds(lessons: readonly TextLesson[], reference: Float32Array): Feeds {
  const column = (of: (lesson: TextLesson) => number) => {
    const values = new Float32Array(reference.length);
    values.set(lessons.map(of));
    return values;
  };
  const choice = new Int32Array(reference.length);
  choice.set(lessons.map((lesson) => lesson.choice));
  return {
    ...{ choice, reference },
    logProb: column(({ logProb = 0 }) => logProb),
    advantage: column(({ advantage = 0 }) => advantage),
    weight: column(({ weight = 1 }) => weight / lessons.length),
    imitated: column(({ logProb }) => (logProb === undefined ? 1 : 0)),
    target: column(({ target = 0 }) => target),
  };
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

export class TextValueModel {
  private constructor(private readonly trained: Trained) {}

  /** A fresh model. @param rng draws the initial weights */
  static async make(settings: RelevanceSettings, rng: Rng): Promise<TextValueModel> {
    const network = new RelevanceNetwork(settings);
    const of = (params: Values, batch: Values) => ({ scores: network.scores(params, batch).scores });
    return new TextValueModel(await Trained.make(network, of, valueTrainer(network), rng));
  }

  get parameters(): number {
    return this.trained.weights.theta.length;
  }

  /** Changes with the weights. */
  get version(): string {
    return `relevance-values-${this.trained.hash}`;
  }

  /** Of each situation, the value of each of its commands. @throws DOMAIN_UNFIT */
  async values(situations: readonly TextSituation[]): Promise<Float32Array[]> {
    const found: Float32Array[] = [];
    for (const { rows, batch } of this.trained.batches(situations)) {
      const { scores } = await this.trained.run(batch);
      rows.forEach((row, i) => {
        const from = i * MAX_COMMANDS;
        found[row] = scores!.slice(from, from + situations[row].admissible.length);
      });
    }
    return found;
  }

  /** One pass over the lessons; the mean squared error, each batch's before its own step. @throws NON_FINITE_VALUE */
  async update(lessons: readonly ValueLesson[], options: TextUpdateOptions): Promise<{ readonly error: number }> {
    const { rows } = this.trained.network.settings;
    const { error = 0 } = await this.trained.pass(lessons, options, (own) => {
      const [choice, target, weight] = [new Int32Array(rows), new Float32Array(rows), new Float32Array(rows)];
      choice.set(own.map((lesson) => lesson.choice));
      target.set(own.map((lesson) => lesson.target));
      weight.fill(1 / own.length, 0, own.length);
      return { choice, target, weight };
    });
    return { error };
  }

  close(): Promise<void> {
    return this.trained.close();
  }
}

function valueTrainer(network: RelevanceNetwork): TrainerSpec {
  const { rows } = network.settings;
  const lessons = {
    choice: { dtype: 'int32', shape: [rows, 1] },
    target: { dtype: 'float32', shape: [rows] },
    weight: { dtype: 'float32', shape: [rows] },
  } as const;
  return batchTrainer(network, lessons, (params, step) => {
    const { scores } = network.scores(params, step);
    const chosen = squeeze(takeAlongAxis(scores, step.choice, 1), [1]);
    // Rows of padding have no command, and weigh nothing.
    const error = reduceSum(mul(square(sub(chosen, step.target)), step.weight));
    return { loss: error, metrics: { error } };
  });
}
