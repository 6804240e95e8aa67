// Training of a decoder: forward pass, gradients and AdamW as one graph, several steps a run. The forward pass is built of the
// same functions as the sessions that score and generate, so its log-probabilities are theirs to the byte (attention.ts).

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats, joinedIntegers } from '../../core/statistics.js';
import { gradients } from '../autodiff.js';
import type { Value } from '../graph.js';
import { and, div, equal, less, maximum, mul, neg, where } from '../ops-elementwise.js';
import { reduceSum } from '../ops-reduce.js';
import { reshape, unsqueeze } from '../ops-shape.js';
import { adamScalars, adamStep, clipByGlobalNorm, globalNorm } from '../optimiser.js';
import type { ParamLayout } from '../parameters.js';
import { buildTrainer, type FeedData, type OpenSession, type Trainer, type TrainerSpec } from '../trainer.js';
import { type DecoderConfig, type DecoderConfigInput, decoderConfig } from './config.js';
import { Decoder } from './decoder.js';
import { hiddenOfRows, logProbOf, nextToken } from './network.js';
import type { PackedBatch, PackedShape } from './packing.js';
import { decayMask } from './parameters.js';
import { DecoderSessions } from './sessions.js';
import {
  type DecoderTrainingInput,
  type DecoderTrainingSettings,
  decoderTraining,
  learningRateAt,
} from './training-settings.js';

/** All that training goes on from: weights, scaled moments of Adam, steps done. */
export interface DecoderTrainingState {
  readonly step: number;
  readonly arrays: Readonly<Record<'theta' | 'm' | 'v', Float32Array>>;
}

export interface DecoderTrainerOptions {
  readonly config: DecoderConfigInput;
  readonly training: DecoderTrainingInput;
  /** Initial weights: drawn from a stream, or given (copied). */
  readonly start: { readonly rng: Rng } | { readonly theta: Float32Array };
  /** Sessions of decoders that are trained further; made anew unless given. */
  readonly sessions?: DecoderSessions;
  /** Runs the gradient steps; in the calling thread unless given. */
  readonly open?: OpenSession;
}

export class DecoderTrainer {
  private state_: DecoderTrainingState;

  private constructor(
    readonly config: DecoderConfig,
    readonly settings: DecoderTrainingSettings,
    readonly sessions: DecoderSessions,
    private readonly trainer: Trainer,
    private readonly decay: Float32Array,
    theta: Float32Array,
  ) {
    const zeros = () => new Float32Array(theta.length);
    this.state_ = { step: 0, arrays: { theta, m: zeros(), v: zeros() } };
  }

  /** @throws SETTING_INVALID; DATA_MISMATCH for weights of another decoder */
  static async create({
    config: givenConfig,
    training,
    start,
    sessions: given,
    open,
  }: DecoderTrainerOptions): Promise<DecoderTrainer> {
    const config = decoderConfig(givenConfig);
    const settings = decoderTraining(training);
    if (settings.length > config.contextLength) {
      const problem = `rows of ${settings.length} tokens are longer than the context of ${config.contextLength}`;
      throw reverieError('SETTING_INVALID', {
        problem: `Settings of the decoder: ${problem}.`,
        hint: 'Sizes are whole numbers; heads are a multiple of kvHeads. A config.json must be that of a LlamaForCausalLM without biases or scaled rotations.',
      });
    }
    const sessions = given ?? new DecoderSessions(config);
    const { layout } = sessions;
    const theta = 'rng' in start ? layout.init(start.rng) : start.theta.slice();
    if (theta.length !== layout.size) {
      const problem = `${theta.length} weights where it has ${layout.size}`;
      throw reverieError('DATA_MISMATCH', {
        problem: `The decoder was given ${problem}.`,
        hint: 'Give the weights of a decoder of the same settings.',
      });
    }
    const trainer = await buildTrainer(trainerSpec(config, settings, layout), open);
    return new DecoderTrainer(config, settings, sessions, trainer, decayMask(layout), theta);
  }

  /** Gradient steps done. */
  get step(): number {
    return this.state_.step;
  }

  /** The form of batches. */
  get shape(): PackedShape {
    return { rows: this.settings.rows, length: this.settings.length, headDim: this.config.headDim };
  }

  /** The decoder of the moment; later steps do not change it. */
  decoder(): Decoder {
    return new Decoder(this.sessions, this.state_.arrays.theta);
  }

  /** Not to be written to; later steps do not change it. */
  state(): DecoderTrainingState {
    return this.state_;
  }

  /** Goes on from a state. @throws DATA_MISMATCH for that of another decoder */
  restore(state: DecoderTrainingState): void {
    const { size } = this.sessions.layout;
    const wrong = Object.values(state.arrays).find((array) => array.length !== size);
    if (wrong !== undefined) {
      const problem = `a state of ${wrong.length} numbers an array where it has ${size}`;
      throw reverieError('DATA_MISMATCH', {
        problem: `The decoder was given ${problem}.`,
        hint: 'Give the state of a training of the same settings.',
      });
    }
    this.state_ = state;
  }

  /**
   * One gradient step a batch, all in one run. Answers a number per step and metric: `loss` and `gradientNorm` (before clipping).
   * @param learningRate of all these steps; as the settings have it unless given
   * @throws NON_FINITE_VALUE if training diverges; the state is then as before. DATA_MISMATCH for batches of another form
   */
  async train(batches: readonly PackedBatch[], learningRate?: number): Promise<Record<string, Float32Array>> {
    const { step, arrays } = this.state_;
    const rates = batches.map((_, i) => learningRate ?? learningRateAt(step + i, this.settings));
    const { beta1, beta2, weightDecay, temperature } = this.settings;
    const scalars = rates.map((rate, i) => adamScalars(step + i + 1, rate, beta1, beta2));
    const perStep: Record<string, FeedData> = {
      alpha: Float32Array.from(scalars, ({ alpha }) => alpha),
      epsilon: Float32Array.from(scalars, ({ epsilon }) => epsilon),
      decayRate: Float32Array.from(rates, (rate) => rate * weightDecay),
      weights: joinedFloats(batches.map(({ weights }) => weights)),
    };
    for (const name of ['tokens', 'targets', 'segments', 'positions'] as const) {
      perStep[name] = joinedIntegers(batches.map((batch) => batch[name]));
    }
    const inputs = { decay: this.decay, sharpness: Float32Array.of(1 / temperature) };
    const { state, metrics } = await this.trainer.run({ state: arrays, inputs, perStep, steps: batches.length });
    const { theta, m, v } = state;
    this.state_ = { step: step + batches.length, arrays: { theta, m, v } };
    return metrics;
  }

  /** Frees the training graph; decoders stay usable until their sessions are released. */
  async release(): Promise<void> {
    await this.trainer.release();
  }
}

function trainerSpec(config: DecoderConfig, settings: DecoderTrainingSettings, layout: ParamLayout): TrainerSpec {
  const shape = [settings.rows, settings.length];
  const integers = { dtype: 'int32', shape } as const;
  const scalar = { dtype: 'float32', shape: [] } as const;
  return {
    name: 'decoder, next token',
    state: { theta: [layout.size], m: [layout.size], v: [layout.size] },
    inputs: { decay: { dtype: 'float32', shape: [layout.size] }, sharpness: scalar },
    perStep: {
      ...{ tokens: integers, targets: integers, segments: integers, positions: integers },
      ...{ weights: { dtype: 'float32', shape }, alpha: scalar, epsilon: scalar, decayRate: scalar },
    },
    body: ({ state, inputs, perStep }) => {
      const flat = (value: Value) => reshape(value, [settings.rows * settings.length]);
      const params = layout.unpack(state.theta);
      const { tokens, positions, segments } = perStep;
      const { hidden } = hiddenOfRows(params, config, { tokens, positions, bias: biasOfSegments(segments) });
      const logProbs = logProbOf(nextToken(params, config, hidden, inputs.sharpness), flat(perStep.targets));
      // Cross-entropy in nats a token; 0 if nothing counts.
      const weights = flat(perStep.weights);
      const value = neg(div(reduceSum(mul(logProbs, weights)), maximum(reduceSum(weights), 1e-6)));
      const gradient = gradients(value, [state.theta])[0];
      const { theta, m, v } = adamStep({
        ...{ theta: state.theta, m: state.m, v: state.v, alpha: perStep.alpha, epsilon: perStep.epsilon },
        grad: clipByGlobalNorm(gradient, settings.clipNorm),
        decay: mul(inputs.decay, perStep.decayRate),
        beta1: settings.beta1,
        beta2: settings.beta2,
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
