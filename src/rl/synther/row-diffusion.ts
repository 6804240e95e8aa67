// Generative replay: a diffusion model of whole transitions, from which as many new rows are drawn as a learner wants (SynthER, Lu et
// al. 2023, 2303.06614). With a number for each row that says how much it is worth, rows worth much can be asked for (PGR, Wang et
// al. 2024, 2410.18082; classifier-free guidance, Ho & Salimans 2022). What is drawn is synthetic, and says so.

import { reverieError } from '../../core/errors.js';
import { sha256 } from '../../core/hash.js';
import type { Rng } from '../../core/rng.js';
import { buildTrainer, float32, InferenceSession } from '../../nn/index.js';
import type { Provenance, TransitionBatch } from '../../replay/index.js';
import { assertBatch } from '../finite.js';
import { adamSchedule } from '../network-learner.js';
import { type DiffusionShape, diffusionLayout, diffusionModel, diffusionTrainer } from './diffusion-graph.js';
import { drawLevel, FEATURES, levelsDown, preconditioning, writeFeatures } from './noise-levels.js';
import { type RowScale, rowScale, rowsOf, transitionsOf } from './row-scale.js';

export interface DiffusionOptions {
  /** Width of the network, and its residual blocks. */
  readonly hidden: number;
  readonly blocks: number;
  readonly batchSize: number;
  readonly updates: number;
  readonly lr: number;
  /** Share by which the weights that are kept move to those of a step. */
  readonly averaging: number;
  /** Share of training rows that nothing is asked for in, where rows have a worth. */
  readonly unconditional: number;
}

export const DIFFUSION_DEFAULTS: DiffusionOptions = {
  ...{ hidden: 256, blocks: 4, batchSize: 256, updates: 10_000, lr: 1e-3, averaging: 0.005, unconditional: 0.25 },
};

export interface DrawOptions {
  /** Levels a sample comes down by; two calls of the network each (Heun's method). */
  readonly steps: number;
  /** Standardised worth that is asked for; null: none. */
  readonly condition: number | null;
  /** How far a sample is pushed from what nothing was asked for; 0: not. */
  readonly guidance: number;
}

export const DRAW_DEFAULTS: DrawOptions = { steps: 32, condition: null, guidance: 1 };

/** Gradient steps a call. */
const STEPS_PER_CALL = 50;
/** Rows drawn at once: a function of nothing but this, so the same rows come out for any number asked in all. */
const DRAWN_AT_ONCE = 1024;

export interface FitDiffusion {
  readonly rng: Rng;
  /** What each row is worth, [rows]; absent: rows are alike. */
  readonly worth?: Float32Array;
  readonly signal?: AbortSignal;
  /** Called with the updates done. */
  onProgress?(updates: number): void;
}

/** Who watches rows being drawn. */
export interface WatchDraw {
  readonly signal?: AbortSignal;
  onProgress?(rows: number): void;
}

/**
 * Learns to draw rows like those of `batch`. The same rows and stream, the same bytes.
 * @throws BATCH_SHAPE_MISMATCH, NON_FINITE_VALUE
 */
export async function fitDiffusion(
  batch: TransitionBatch,
  dims: { readonly obsDim: number; readonly actionDim: number },
  options: Partial<DiffusionOptions>,
  { rng, worth, signal, onProgress }: FitDiffusion,
): Promise<RowDiffusion> {
  const settings = { ...DIFFUSION_DEFAULTS, ...options };
  assertBatch(batch, batch.rows, dims.obsDim, dims.actionDim);
  const scale = rowScale(batch, dims);
  const shape = { width: scale.mean.length, features: FEATURES, hidden: settings.hidden, blocks: settings.blocks };
  const data = { rows: rowsOf(batch, scale), worth: worth && standardised(worth) };
  const theta = diffusionLayout(shape).init(rng.split('weights'));
  const zeros = () => new Float32Array(theta.length);
  let state: Record<string, Float32Array> = { theta, m: zeros(), v: zeros(), average: theta.slice() };
  const trainer = await buildTrainer(diffusionTrainer(shape, settings.batchSize, settings.averaging));
  try {
    for (let done = 0; done < settings.updates; ) {
      signal?.throwIfAborted();
      const steps = Math.min(STEPS_PER_CALL, settings.updates - done);
      const perStep = noisyRows(data, shape.width, steps * settings.batchSize, settings, rng.split('steps', done));
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

function standardised(worth: Float32Array): Float32Array {
  const mean = worth.reduce((sum, value) => sum + value, 0) / worth.length;
  const std = Math.sqrt(worth.reduce((sum, value) => sum + (value - mean) ** 2, 0) / worth.length) || 1;
  return worth.map((value) => (value - mean) / std);
}

interface Data {
  readonly rows: Float32Array;
  readonly worth: Float32Array | undefined;
}

/** Random rows, each with its own amount of noise: what the network is shown, and what it should answer. */
function noisyRows(data: Data, width: number, count: number, { unconditional }: DiffusionOptions, rng: Rng) {
  const input = new Float32Array(count * width);
  const target = new Float32Array(count * width);
  const features = new Float32Array(count * FEATURES);
  const noise = rng.fillNormal(new Float32Array(count * width));
  const rows = data.rows.length / width;
  for (let i = 0; i < count; i++) {
    const row = rng.int(rows);
    const level = drawLevel(rng);
    const weights = preconditioning(level);
    const isAsked = data.worth !== undefined && rng.uniform() >= unconditional;
    writeFeatures(features, i * FEATURES, level, isAsked ? data.worth![row] : null);
    for (let j = 0; j < width; j++) {
      const clean = data.rows[row * width + j];
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
  async draw(
    rows: number,
    rng: Rng,
    options: Partial<DrawOptions> = {},
    { signal, onProgress }: WatchDraw = {},
  ): Promise<TransitionBatch> {
    const { width } = this.shape;
    const drawn = new Float32Array(rows * width);
    for (let from = 0, part = 0; from < rows; from += DRAWN_AT_ONCE, part++) {
      signal?.throwIfAborted();
      const whole = await this.comeDown(DRAWN_AT_ONCE, rng.split('part', part), { ...DRAW_DEFAULTS, ...options });
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
  private async comeDown(rows: number, rng: Rng, options: DrawOptions): Promise<Float32Array> {
    const levels = levelsDown(options.steps);
    const size = rows * this.shape.width;
    let x = rng.fillNormal(new Float32Array(size)).map((value) => value * levels[0]);
    for (let i = 0; i < options.steps; i++) {
      const [level, next] = [levels[i], levels[i + 1]];
      const clean = await this.cleaned(x, rows, level, options);
      const slope = x.map((value, k) => (value - clean[k]) / level);
      const ahead = x.map((value, k) => value + (next - level) * slope[k]);
      if (next === 0) {
        x = ahead;
        break;
      }
      const again = await this.cleaned(ahead, rows, next, options);
      x = x.map((value, k) => value + ((next - level) * (slope[k] + (ahead[k] - again[k]) / next)) / 2);
    }
    const at = x.findIndex((value) => !Number.isFinite(value));
    if (at < 0) return x;
    const where = `row ${Math.floor(at / this.shape.width)} of a batch of drawn rows`;
    const hint = 'Fit the diffusion for longer, or at a lower learning rate.';
    throw reverieError('NON_FINITE_VALUE', { what: 'a drawn row', value: x[at], where, hint });
  }

  /** What the rows would be without their noise. */
  private async cleaned(x: Float32Array, rows: number, level: number, options: DrawOptions): Promise<Float32Array> {
    const { condition, guidance } = options;
    const weights = preconditioning(level);
    const input = x.map((value) => weights.in * value);
    const asked = await this.answer(input, rows, level, condition);
    const plain = condition === null || guidance === 0 ? asked : await this.answer(input, rows, level, null);
    return x.map((value, k) => weights.skip * value + weights.out * (asked[k] + guidance * (asked[k] - plain[k])));
  }

  private async answer(input: Float32Array, rows: number, level: number, condition: number | null) {
    this.session ??= InferenceSession.fromBytes(diffusionModel(this.shape));
    const features = new Float32Array(rows * FEATURES);
    for (let row = 0; row < rows; row++) writeFeatures(features, row * FEATURES, level, condition);
    const { answer } = await (await this.session).run({
      theta: float32(this.theta),
      input: float32(input, [rows, this.shape.width]),
      features: float32(features, [rows, FEATURES]),
    });
    return answer.data as Float32Array;
  }
}
