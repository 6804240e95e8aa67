// Training of a decoder: forward pass, gradients and AdamW as one graph, several steps a run. The forward pass is built of the
// same functions as the sessions that generate.

import type { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { gradients } from '../autodiff.js';
import type { Value } from '../graph.js';
import { and, div, equal, less, maximum, mul, neg, reduceSum, reshape, unsqueeze, where } from '../ops.js';
import { adamScalars, adamStep, clipByGlobalNorm, globalNorm, type ParamLayout } from '../parameters.js';
import { buildTrainer, type FeedData, type Trainer, type TrainerSpec } from '../trainer.js';
import { Decoder, DecoderSessions } from './decoder.js';
import {
  chainLength,
  type DecoderConfig,
  decayMask,
  decoderConfig,
  hiddenOfRows,
  logProbOf,
  nextToken,
} from './network.js';

export interface DecoderTraining {
  /** Rows of a gradient step. */
  readonly rows: number;
  /** Tokens a row: the longest document, and where documents are packed. Not above the decoder's context. */
  readonly length: number;
  /** Gradient steps of the learning rate's course; later ones keep its end. */
  readonly steps: number;
  /** At its peak. */
  readonly learningRate: number;
  /** Steps in which it rises from 0 in a line. */
  readonly warmupSteps: number;
}

/** All that training resumes from: weights, scaled moments of Adam, steps done. */
interface DecoderTrainingState {
  readonly step: number;
  readonly arrays: Readonly<Record<'theta' | 'm' | 'v', Float32Array>>;
}

/** What is left of the learning rate at the end of a half cosine (Loshchilov and Hutter 2017). */
const FINAL_SHARE = 0.1;
const BETA1 = 0.9;
const BETA2 = 0.99;
/** Decoupled decay of matrices (AdamW), times the learning rate. */
const WEIGHT_DECAY = 0.01;
/** Longest gradient; a longer one is shrunk to it. */
const CLIP_NORM = 1;

export class DecoderTrainer {
  /** Not to be written to; later steps do not change it, and a state that was kept is gone on from. */
  state: DecoderTrainingState;

  private constructor(
    readonly config: DecoderConfig,
    readonly settings: DecoderTraining,
    readonly sessions: DecoderSessions,
    private readonly trainer: Trainer,
    private readonly decay: Float32Array,
    theta: Float32Array,
  ) {
    const zeros = () => new Float32Array(theta.length);
    this.state = { step: 0, arrays: { theta, m: zeros(), v: zeros() } };
  }

  /** @param rng of the initial weights @throws SETTING_INVALID */
  static async create(given: DecoderConfig, training: DecoderTraining, rng: Rng): Promise<DecoderTrainer> {
    const config = decoderConfig(given);
    const sessions = new DecoderSessions(config);
    const { layout } = sessions;
    const trainer = await buildTrainer(trainerSpec(config, training, layout));
    return new DecoderTrainer(config, training, sessions, trainer, decayMask(layout), layout.init(rng));
  }

  /** Gradient steps done. */
  get step(): number {
    return this.state.step;
  }

  /** The form of batches. */
  get shape(): PackedShape {
    return { rows: this.settings.rows, length: this.settings.length, headDim: this.config.headDim };
  }

  /** The decoder of the moment; later steps do not change it. */
  decoder(): Decoder {
    return new Decoder(this.sessions, this.state.arrays.theta);
  }

  /**
   * One gradient step a batch, all in one run. Answers a number per step and metric: `loss` and `gradientNorm` (before clipping).
   * @throws NON_FINITE_VALUE if training diverges; the state is then as before
   */
  async train(batches: readonly PackedBatch[]): Promise<Record<string, Float32Array>> {
    const { step, arrays } = this.state;
    const rates = batches.map((_, i) => learningRateAt(step + i, this.settings));
    const scalars = rates.map((rate, i) => adamScalars(step + i + 1, rate, BETA1, BETA2));
    const perStep: Record<string, FeedData> = {
      alpha: Float32Array.from(scalars, ({ alpha }) => alpha),
      epsilon: Float32Array.from(scalars, ({ epsilon }) => epsilon),
      decayRate: Float32Array.from(rates, (rate) => rate * WEIGHT_DECAY),
      weights: joinedFloats(batches.map(({ weights }) => weights)),
    };
    for (const name of ['tokens', 'targets', 'segments', 'positions'] as const) {
      perStep[name] = Int32Array.from(batches.flatMap((batch) => [...batch[name]]));
    }
    const inputs = { decay: this.decay };
    const { state, metrics } = await this.trainer.run({ state: arrays, inputs, perStep, steps: batches.length });
    const { theta, m, v } = state;
    this.state = { step: step + batches.length, arrays: { theta, m, v } };
    return metrics;
  }

  /** Frees the training graph; decoders stay usable until their sessions are released. */
  release(): Promise<void> {
    return this.trainer.release();
  }
}

function trainerSpec(config: DecoderConfig, settings: DecoderTraining, layout: ParamLayout): TrainerSpec {
  const shape = [settings.rows, settings.length];
  const integers = { dtype: 'int32', shape } as const;
  const scalar = { dtype: 'float32', shape: [] } as const;
  return {
    name: 'decoder, next token',
    state: { theta: [layout.size], m: [layout.size], v: [layout.size] },
    inputs: { decay: { dtype: 'float32', shape: [layout.size] } },
    perStep: {
      ...{ tokens: integers, targets: integers, segments: integers, positions: integers },
      ...{ weights: { dtype: 'float32', shape }, alpha: scalar, epsilon: scalar, decayRate: scalar },
    },
    body: ({ state, inputs, perStep }) => {
      const flat = (value: Value) => reshape(value, [settings.rows * settings.length]);
      const params = layout.unpack(state.theta);
      const { tokens, positions, segments } = perStep;
      const { hidden } = hiddenOfRows(params, config, { tokens, positions, bias: biasOfSegments(segments) });
      const logProbs = logProbOf(nextToken(params, hidden), flat(perStep.targets));
      // Cross-entropy in nats a token; 0 if nothing counts.
      const weights = flat(perStep.weights);
      const value = neg(div(reduceSum(mul(logProbs, weights)), maximum(reduceSum(weights), 1e-6)));
      const gradient = gradients(value, [state.theta])[0];
      const { theta, m, v } = adamStep({
        ...{ theta: state.theta, m: state.m, v: state.v, alpha: perStep.alpha, epsilon: perStep.epsilon },
        grad: clipByGlobalNorm(gradient, CLIP_NORM),
        decay: mul(inputs.decay, perStep.decayRate),
        beta1: BETA1,
        beta2: BETA2,
      });
      return { state: { theta, m, v }, metrics: { loss: value, gradientNorm: globalNorm(gradient) } };
    },
  };
}

/** The bias [rows, 1, 1, length, length] by which each token sees those before it in its segment; segments: int32 [rows, length]. */
function biasOfSegments(segments: Value): Value {
  const [, length] = segments.shape as readonly number[];
  const places = Array.from({ length }, (_, i) => i);
  const { graph } = segments;
  const isEarlier = less(
    graph.literal('int32', places, [1, 1, 1, 1, length]),
    graph.literal('int32', places, [1, 1, 1, length, 1]),
  );
  const isSame = equal(unsqueeze(segments, [1, 2, 3]), unsqueeze(segments, [1, 2, 4]));
  return where(and(isEarlier, isSame), 0, Number.NEGATIVE_INFINITY);
}

/** The learning rate of gradient step `step`, from 0. */
function learningRateAt(step: number, { learningRate, warmupSteps, steps }: DecoderTraining): number {
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  const done = Math.min(1, (step - warmupSteps) / Math.max(1, steps - warmupSteps));
  return learningRate * (FINAL_SHARE + (1 - FINAL_SHARE) * 0.5 * (1 + Math.cos(Math.PI * done)));
}

/** Two tokens or more. */
export interface TrainingDocument {
  readonly tokens: ArrayLike<number>;
  /** How much each token counts as a target; 1 unless given. The first is never one. */
  readonly weights?: ArrayLike<number>;
}

/** The input of one gradient step: arrays [rows, length]. Outside of documents the segment is -1 and the weight 0. */
export interface PackedBatch {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
  readonly segments: Int32Array;
  readonly positions: Int32Array;
  readonly weights: Float32Array;
  /** Where each document lies: its tokens but the last from `start` on in `row`, each with the next token as its target. */
  readonly places: readonly { readonly document: number; readonly row: number; readonly start: number }[];
}

interface PackedShape {
  readonly rows: number;
  /** Tokens a row. */
  readonly length: number;
  /** Width of a head, which says where a packed document may lie (network.ts). */
  readonly headDim: number;
}

/** Rows that may still take a document while others are filled: more pack tighter, and take longer. */
const OPEN_ROWS = 32;

/** Documents of one row: their indices and starts. */
type RowPlan = { readonly document: number; readonly start: number }[];

/**
 * Packs documents, in order, each in the first row that has room.
 * @param sizes tokens of each document: one more than a row at most
 */
export function planRows(sizes: readonly number[], order: Iterable<number>, shape: PackedShape): RowPlan[] {
  const chain = chainLength(shape.headDim);
  const plans: RowPlan[] = [];
  const ends: number[] = [];
  for (const document of order) {
    const size = sizes[document] - 1;
    let row = Math.max(0, plans.length - OPEN_ROWS);
    while (row < plans.length && startAfter(ends[row], size, chain) + size > shape.length) row++;
    if (row === plans.length) {
      plans.push([]);
      ends.push(0);
    }
    const start = startAfter(ends[row], size, chain);
    plans[row].push({ document, start });
    ends[row] = start + size;
  }
  return plans;
}

/** The first place from `end` on at which `size` tokens cross no multiple of `chain`, or begin at one. */
function startAfter(end: number, size: number, chain: number): number {
  const next = Math.ceil(end / chain) * chain;
  return end + size <= next ? end : next;
}

/** Rows laid out as one batch; missing ones are empty. */
export function layOut(
  documents: readonly TrainingDocument[],
  plans: readonly RowPlan[],
  shape: PackedShape,
): PackedBatch {
  const size = shape.rows * shape.length;
  const batch = {
    tokens: new Int32Array(size),
    targets: new Int32Array(size),
    segments: new Int32Array(size).fill(-1),
    positions: new Int32Array(size),
    weights: new Float32Array(size),
    places: plans.flatMap((plan, row) => plan.map(({ document, start }) => ({ document, row, start }))),
  };
  batch.places.forEach(({ document, row, start }, segment) => {
    const { tokens, weights } = documents[document];
    const first = row * shape.length + start;
    for (let i = 0; i + 1 < tokens.length; i++) {
      batch.tokens[first + i] = tokens[i];
      batch.targets[first + i] = tokens[i + 1];
      batch.segments[first + i] = segment;
      batch.positions[first + i] = i;
      batch.weights[first + i] = weights?.[i + 1] ?? 1;
    }
  });
  return batch;
}

/**
 * One document or more as an endless sequence of batches: every epoch in a new order. A batch is a function of documents, stream and
 * number alone, so training goes on where it stopped.
 */
export class PackedCorpus {
  private readonly sizes: readonly number[];
  private readonly epochs: RowPlan[][] = [];

  constructor(
    private readonly documents: readonly TrainingDocument[],
    private readonly shape: PackedShape,
    private readonly rng: Rng,
  ) {
    this.sizes = documents.map(({ tokens }) => tokens.length);
  }

  /** Batch number `step`, from 0. */
  batch(step: number): PackedBatch {
    const { rows } = this.shape;
    const plans = Array.from({ length: rows }, (_, i) => this.row(step * rows + i));
    return layOut(this.documents, plans, this.shape);
  }

  private row(index: number): RowPlan {
    let left = index;
    for (let epoch = 0; ; epoch++) {
      const order = () => this.rng.split('epoch', epoch).permutation(this.documents.length);
      this.epochs[epoch] ??= planRows(this.sizes, order(), this.shape);
      const plans = this.epochs[epoch];
      if (left < plans.length) return plans[left];
      left -= plans.length;
    }
  }
}
