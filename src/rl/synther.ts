// Generative replay: a diffusion model of whole transitions, from which as many new rows are drawn as a learner wants (SynthER, Lu et
// al. 2023, 2303.06614). What is drawn is synthetic, and says so.

import { sha256 } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { gradients } from '../nn/autodiff.js';
import { float32, Graph, type Value } from '../nn/graph.js';
import { add, linear, mul, reduceMean, relu, square, sub, swish } from '../nn/ops.js';
import { adamStep, mlpSpecs, ParamLayout } from '../nn/parameters.js';
import { InferenceSession } from '../nn/runtime.js';
import { buildTrainer, type TrainerSpec } from '../nn/trainer.js';
import { allocateBatch } from '../replay/columns.js';
import type { Provenance, TransitionBatch } from '../replay/transition.js';
import { assertBatch } from './learner.js';
import { adamSchedule } from './network-learner.js';

export interface DiffusionOptions {
  /** Width of the network, and its residual blocks. */
  readonly hidden: number;
  readonly blocks: number;
  readonly batchSize: number;
  readonly updates: number;
  readonly lr: number;
  /** Share by which the weights that are kept move to those of a step. */
  readonly averaging: number;
}

const DIFFUSION_DEFAULTS: DiffusionOptions = {
  ...{ hidden: 256, blocks: 4, batchSize: 256, updates: 10_000, lr: 1e-3, averaging: 0.005 },
};

/** Levels of noise a sample comes down by unless asked otherwise; two calls of the network each (Heun's method). */
const LEVELS = 32;

/** Gradient steps a call. */
const STEPS_PER_CALL = 50;
/** Rows drawn at once: a function of nothing but this, so the same rows come out for any number asked in all. */
const DRAWN_AT_ONCE = 1024;

/** Who watches the work: called with the updates done, or the rows drawn. */
interface Watch {
  readonly signal?: AbortSignal;
  onProgress?(done: number): void;
}

/**
 * Learns to draw rows like those of `batch`. The same rows and stream, the same bytes.
 * @throws DATA_MISMATCH, NON_FINITE_VALUE
 */
export async function fitDiffusion(
  batch: TransitionBatch,
  dims: { readonly obsDim: number; readonly actionDim: number },
  options: Partial<DiffusionOptions>,
  { rng, signal, onProgress }: Watch & { readonly rng: Rng },
): Promise<RowDiffusion> {
  const settings = { ...DIFFUSION_DEFAULTS, ...options };
  assertBatch(batch, batch.rows, dims.obsDim, dims.actionDim);
  const scale = rowScale(batch, dims);
  const shape = { width: scale.mean.length, features: FEATURES, hidden: settings.hidden, blocks: settings.blocks };
  const data = rowsOf(batch, scale);
  const theta = diffusionLayout(shape).init(rng.split('weights'));
  const zeros = () => new Float32Array(theta.length);
  let state: Record<string, Float32Array> = { theta, m: zeros(), v: zeros(), average: theta.slice() };
  const trainer = await buildTrainer(diffusionTrainer(shape, settings.batchSize, settings.averaging));
  try {
    for (let done = 0; done < settings.updates; ) {
      signal?.throwIfAborted();
      const steps = Math.min(STEPS_PER_CALL, settings.updates - done);
      const perStep = noisyRows(data, shape.width, steps * settings.batchSize, rng.split('steps', done));
      const schedule = adamSchedule(done, steps, settings.lr);
      ({ state } = await trainer.run({ state, perStep: { ...perStep, ...schedule }, steps }));
      done += steps;
      onProgress?.(done);
      // The steps block the event loop: let the bar move and Ctrl-C in.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    await trainer.release();
  }
  return new RowDiffusion(shape, scale, state.average);
}

/** Random rows, each with its own amount of noise: what the network is shown, and what it should answer. */
function noisyRows(data: Float32Array, width: number, count: number, rng: Rng) {
  const input = new Float32Array(count * width);
  const target = new Float32Array(count * width);
  const features = new Float32Array(count * FEATURES);
  const noise = rng.fillNormal(new Float32Array(count * width));
  const rows = data.length / width;
  for (let i = 0; i < count; i++) {
    const row = rng.int(rows);
    const level = drawLevel(rng);
    const weights = preconditioning(level);
    writeFeatures(features, i * FEATURES, level);
    for (let j = 0; j < width; j++) {
      const clean = data[row * width + j];
      const noisy = clean + level * noise[i * width + j];
      input[i * width + j] = weights.in * noisy;
      target[i * width + j] = (clean - weights.skip * noisy) / weights.out;
    }
  }
  return { input, target, features };
}

export class RowDiffusion {
  readonly backend = 'diffusion';
  /** Hash of weights, shape and scale. */
  readonly modelVersion: string;
  private session: Promise<InferenceSession> | undefined;

  constructor(
    private readonly shape: DiffusionShape,
    private readonly scale: RowScale,
    private readonly theta: Float32Array,
  ) {
    const bytes = Buffer.from(theta.buffer, theta.byteOffset, theta.byteLength).toString('base64');
    this.modelVersion = sha256(JSON.stringify([shape, scale, bytes])).slice(0, 32);
  }

  /** `rows` new transitions. Same stream, same bytes; fewer rows are the first of more. */
  async draw(rows: number, rng: Rng, levels = LEVELS, { signal, onProgress }: Watch = {}): Promise<TransitionBatch> {
    const { width } = this.shape;
    const drawn = new Float32Array(rows * width);
    for (let from = 0, part = 0; from < rows; from += DRAWN_AT_ONCE, part++) {
      signal?.throwIfAborted();
      const whole = await this.comeDown(DRAWN_AT_ONCE, rng.split('part', part), levels);
      drawn.set(whole.subarray(0, Math.min(DRAWN_AT_ONCE, rows - from) * width), from * width);
      onProgress?.(Math.min(rows, from + DRAWN_AT_ONCE));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return transitionsOf(drawn, this.scale);
  }

  /** What drawn rows are kept with: each an episode of its own, of one step. */
  provenance(rows: number, from: Pick<Provenance, 'scenario' | 'seed'>, firstEpisode = 0): Provenance {
    return {
      ...{ source: 'synthetic', backend: this.backend, modelVersion: this.modelVersion, policyVersion: '', ...from },
      episode: Float64Array.from({ length: rows }, (_, i) => firstEpisode + i),
      step: new Uint32Array(rows),
    };
  }

  async close(): Promise<void> {
    await (await this.session)?.release();
  }

  /** From noise to rows by Heun's method (Karras et al. 2022, algorithm 1). */
  private async comeDown(rows: number, rng: Rng, steps: number): Promise<Float32Array> {
    const levels = levelsDown(steps);
    const size = rows * this.shape.width;
    let x = rng.fillNormal(new Float32Array(size)).map((value) => value * levels[0]);
    for (let i = 0; i < steps; i++) {
      const [level, next] = [levels[i], levels[i + 1]];
      const clean = await this.cleaned(x, rows, level);
      const slope = x.map((value, k) => (value - clean[k]) / level);
      const ahead = x.map((value, k) => value + (next - level) * slope[k]);
      if (next === 0) {
        x = ahead;
        break;
      }
      const again = await this.cleaned(ahead, rows, next);
      x = x.map((value, k) => value + ((next - level) * (slope[k] + (ahead[k] - again[k]) / next)) / 2);
    }
    const at = x.findIndex((value) => !Number.isFinite(value));
    if (at < 0) return x;
    const where = `row ${Math.floor(at / this.shape.width)} of a batch of drawn rows`;
    const hint = 'Fit the diffusion for longer, or at a lower learning rate.';
    throw reverieError('NON_FINITE_VALUE', { what: 'a drawn row', value: x[at], where, hint });
  }

  /** What the rows would be without their noise. */
  private async cleaned(x: Float32Array, rows: number, level: number): Promise<Float32Array> {
    this.session ??= InferenceSession.fromBytes(diffusionModel(this.shape));
    const weights = preconditioning(level);
    const features = new Float32Array(rows * FEATURES);
    for (let row = 0; row < rows; row++) writeFeatures(features, row * FEATURES, level);
    const { answer } = await (await this.session).run({
      theta: float32(this.theta),
      input: float32(
        x.map((value) => weights.in * value),
        [rows, this.shape.width],
      ),
      features: float32(features, [rows, FEATURES]),
    });
    const told = answer.data as Float32Array;
    return x.map((value, k) => weights.skip * value + weights.out * told[k]);
  }
}

// The network that tells a row from its noise, a residual MLP, and its training step. What depends on the noise level is computed outside,
// so the network sees inputs and targets of about unit size (Karras et al. 2022, 2206.00364, table 1).

interface DiffusionShape {
  /** Numbers of a row. */
  readonly width: number;
  /** Numbers that say how much noise there is. */
  readonly features: number;
  readonly hidden: number;
  readonly blocks: number;
}

function diffusionLayout({ width, features, hidden, blocks }: DiffusionShape): ParamLayout {
  const each = Array.from({ length: blocks }, (_, i) => mlpSpecs(`block${i}`, [hidden, hidden]));
  return new ParamLayout([
    ...mlpSpecs('in', [width, hidden]),
    ...mlpSpecs('level', [features, hidden, hidden]),
    ...each.flat(),
    ...mlpSpecs('out', [hidden, width]),
  ]);
}

type Params = Readonly<Record<string, Value>>;

function network({ blocks }: DiffusionShape, params: Params, input: Value, features: Value): Value {
  const layer = (name: string, x: Value, i = 0) => linear(x, params[`${name}.w${i}`], params[`${name}.b${i}`]);
  let h = add(layer('in', input), layer('level', swish(layer('level', features)), 1));
  for (let i = 0; i < blocks; i++) h = add(h, layer(`block${i}`, relu(h)));
  return layer('out', relu(h));
}

/** State theta, m, v and their moving average; per step noisy inputs, what the network should answer, and features. */
function diffusionTrainer(shape: DiffusionShape, rows: number, averaging: number): TrainerSpec {
  const layout = diffusionLayout(shape);
  const { size } = layout;
  const matrix = (width: number) => ({ dtype: 'float32' as const, shape: [rows, width] });
  const scalar = { dtype: 'float32' as const, shape: [] };
  return {
    name: 'diffusion of rows',
    state: { theta: [size], m: [size], v: [size], average: [size] },
    perStep: {
      ...{ input: matrix(shape.width), target: matrix(shape.width), features: matrix(shape.features) },
      ...{ adamAlpha: scalar, adamEpsilon: scalar },
    },
    body: ({ state, perStep }) => {
      const { theta, m, v, average } = state;
      const answer = network(shape, layout.unpack(theta), perStep.input, perStep.features);
      const loss = reduceMean(square(sub(answer, perStep.target)));
      const [grad] = gradients(loss, [theta]);
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      const moved = add(average, mul(averaging, sub(next.theta, average)));
      return { state: { ...next, average: moved }, metrics: { loss } };
    },
  };
}

/** Inputs theta, input [batch, width], features [batch, features]; output answer [batch, width]. */
function diffusionModel(shape: DiffusionShape): Uint8Array {
  const graph = new Graph('diffusion of rows');
  const layout = diffusionLayout(shape);
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const input = graph.input('input', 'float32', ['batch', shape.width]);
  const features = graph.input('features', 'float32', ['batch', shape.features]);
  graph.output('answer', network(shape, params, input, features));
  return graph.toModel();
}

// Noise levels by Karras et al. (EDM), for data of mean 0 and deviation 1: what is trained on, what the network sees of a level, and the
// levels a sample comes down by.

/** Levels of training are log-normal (table 1). */
const LOG_MEAN = -1.2;
const LOG_STD = 1.2;

const [LEAST_LEVEL, MOST_LEVEL, RHO] = [0.002, 80, 7];

/** Waves that tell a level; two numbers each. */
const WAVES = 8;

const FEATURES = 2 * WAVES;

function drawLevel(rng: Rng): number {
  return Math.exp(LOG_MEAN + LOG_STD * rng.normal());
}

/** Weights of the noisy row, of the network's answer, and of its input. */
export function preconditioning(level: number): { skip: number; out: number; in: number } {
  const sum = level ** 2 + 1;
  return { skip: 1 / sum, out: level / Math.sqrt(sum), in: 1 / Math.sqrt(sum) };
}

/** Writes the features of a level. */
function writeFeatures(into: Float32Array, at: number, level: number): void {
  const place = Math.log(level) / 4;
  for (let k = 0; k < WAVES; k++) {
    const angle = Math.PI * 2 ** (k / 2 - 1) * place;
    into[at + 2 * k] = Math.cos(angle);
    into[at + 2 * k + 1] = Math.sin(angle);
  }
}

/** From the most noise to none, `steps` + 1 levels (equation 5). */
export function levelsDown(steps: number): number[] {
  const [most, least] = [MOST_LEVEL ** (1 / RHO), LEAST_LEVEL ** (1 / RHO)];
  const down = Array.from({ length: steps }, (_, i) => (most + (i / Math.max(1, steps - 1)) * (least - most)) ** RHO);
  return [...down, 0];
}

// Transitions as rows of about unit size, and back: [obs | action | reward | nextObs | terminated].

/** Of every column; `low` and `high` are the least and largest there were. */
interface RowScale {
  readonly obsDim: number;
  readonly actionDim: number;
  readonly mean: readonly number[];
  /** 0 for a column that never changes. */
  readonly std: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

function rowScale(
  batch: TransitionBatch,
  { obsDim, actionDim }: { readonly obsDim: number; readonly actionDim: number },
): RowScale {
  const raw = flat(batch, { obsDim, actionDim });
  const width = raw.length / batch.rows;
  const columns = Array.from({ length: width }, (_, j) => {
    return Float64Array.from({ length: batch.rows }, (_, row) => raw[row * width + j]);
  });
  const mean = columns.map((column) => column.reduce((sum, value) => sum + value, 0) / column.length);
  const std = columns.map((column, j) => {
    const deviation = Math.sqrt(column.reduce((sum, value) => sum + (value - mean[j]) ** 2, 0) / column.length);
    return deviation < 1e-7 ? 0 : deviation;
  });
  const extreme = (choose: (a: number, b: number) => number) => columns.map((column) => column.reduce(choose));
  return {
    obsDim,
    actionDim,
    mean,
    std,
    low: extreme((a, b) => Math.min(a, b)),
    high: extreme((a, b) => Math.max(a, b)),
  };
}

/** Rows of mean 0 and deviation 1, [rows, width]. */
function rowsOf(batch: TransitionBatch, scale: RowScale): Float32Array {
  const { mean, std } = scale;
  const raw = flat(batch, scale);
  return raw.map((value, i) => (value - mean[i % mean.length]) / (std[i % mean.length] || 1));
}

/** The transitions that such rows stand for: actions within what there was, ends that are or are not. */
function transitionsOf(rows: Float32Array, scale: RowScale): TransitionBatch {
  const { obsDim, actionDim, mean, std, low, high } = scale;
  const width = mean.length;
  const batch = allocateBatch(rows.length / width, obsDim, actionDim);
  for (let row = 0; row < batch.rows; row++) {
    const value = (j: number) => mean[j] + std[j] * rows[row * width + j];
    const within = (j: number) => Math.min(Math.max(value(j), low[j]), high[j]);
    for (let j = 0; j < obsDim; j++) {
      batch.obs[row * obsDim + j] = value(j);
      batch.nextObs[row * obsDim + j] = value(obsDim + actionDim + 1 + j);
    }
    for (let j = 0; j < actionDim; j++) batch.action[row * actionDim + j] = within(obsDim + j);
    batch.reward[row] = value(obsDim + actionDim);
    batch.terminated[row] = value(width - 1) > 0.5 ? 1 : 0;
  }
  return batch;
}

function flat(
  { rows, obs, action, reward, nextObs, terminated }: TransitionBatch,
  dims: { readonly obsDim: number; readonly actionDim: number },
) {
  const { obsDim, actionDim } = dims;
  const width = 2 * obsDim + actionDim + 2;
  const out = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const at = row * width;
    out.set(obs.subarray(row * obsDim, (row + 1) * obsDim), at);
    out.set(action.subarray(row * actionDim, (row + 1) * actionDim), at + obsDim);
    out[at + obsDim + actionDim] = reward[row];
    out.set(nextObs.subarray(row * obsDim, (row + 1) * obsDim), at + obsDim + actionDim + 1);
    out[at + width - 1] = terminated[row];
  }
  return out;
}
