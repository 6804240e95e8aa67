// SAC's losses in plain float64 TypeScript, one row at a time, straight from 1812.05905; gradients by central differences.

import type { TransitionBatch } from '../../src/replay/transition.js';
import type { SacConfig } from '../../src/rl/config.js';

type Read = (name: string) => ArrayLike<number>;

export interface ReferenceCase {
  readonly config: SacConfig;
  readonly obsDim: number;
  readonly actionDim: number;
  readonly batch: TransitionBatch;
  readonly scale: number;
  readonly bias: number;
  readonly weight: ArrayLike<number>;
  readonly noise: ArrayLike<number>;
  readonly nextNoise: ArrayLike<number>;
}

/** One dense network with tanh hidden layers; `member` picks one of a stacked pair. */
function network(
  read: Read,
  prefix: string,
  member: number,
  input: number[],
  hidden: readonly number[],
  out: number,
  isNormalised = false,
): number[] {
  const sizes = [input.length, ...hidden, out];
  let x = input;
  for (let layer = 0; layer + 1 < sizes.length; layer++) {
    const [rows, columns] = [sizes[layer], sizes[layer + 1]];
    const w = read(`${prefix}.w${layer}`);
    const b = read(`${prefix}.b${layer}`);
    const y = Array.from({ length: columns }, (_, j) => {
      let sum = b[member * columns + j];
      for (let i = 0; i < rows; i++) sum += x[i] * w[member * rows * columns + i * columns + j];
      return sum;
    });
    x = layer + 2 === sizes.length ? y : (isNormalised ? normalise(y) : y).map(Math.tanh);
  }
  return x;
}

function normalise(x: number[]): number[] {
  const mean = x.reduce((sum, v) => sum + v, 0) / x.length;
  const variance = x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length;
  return x.map((v) => (v - mean) / Math.sqrt(variance + 1e-5));
}

function row(values: ArrayLike<number>, index: number, dim: number): number[] {
  return Array.from({ length: dim }, (_, i) => values[index * dim + i]);
}

function act(c: ReferenceCase, read: Read, obs: number[], noise: number[]): { action: number[]; logProb: number } {
  const out = network(read, 'policy', 0, obs, c.config.hidden, 2 * c.actionDim);
  let logProb = 0;
  const action = noise.map((e, i) => {
    const logStd = Math.min(Math.max(out[c.actionDim + i], -10), 2);
    const u = out[i] + Math.exp(logStd) * e;
    logProb += -0.5 * e * e - logStd - 0.5 * Math.log(2 * Math.PI) - Math.log(1 - Math.tanh(u) ** 2);
    return Math.tanh(u);
  });
  return { action, logProb };
}

function critics(c: ReferenceCase, read: Read, obs: number[], action: number[]): [number, number] {
  const q = (member: number) =>
    network(read, 'critic', member, [...obs, ...action], c.config.hidden, 1, c.config.criticLayerNorm)[0];
  return [q(0), q(1)];
}

/** The targets y of every row. */
export function targets(c: ReferenceCase, read: Read, readTarget: Read): number[] {
  const alpha = Math.exp(read('logAlpha')[0]);
  return Array.from({ length: c.batch.rows }, (_, i) => {
    const nextObs = row(c.batch.nextObs, i, c.obsDim);
    const next = act(c, read, nextObs, row(c.nextNoise, i, c.actionDim));
    const value = Math.min(...critics(c, readTarget, nextObs, next.action)) - alpha * next.logProb;
    const discount = c.batch.terminated[i] ? 0 : c.config.gamma;
    return c.batch.reward[i] * c.config.rewardScale + discount * value;
  });
}

/** Q - y of both critics for every row. */
function criticErrors(c: ReferenceCase, read: Read, y: readonly number[]): number[][] {
  return y.map((target, i) => {
    const action = row(c.batch.action, i, c.actionDim).map((a) => (a - c.bias) / c.scale);
    return critics(c, read, row(c.batch.obs, i, c.obsDim), action).map((q) => q - target);
  });
}

export function criticLoss(c: ReferenceCase, read: Read, y: readonly number[]): number {
  const losses = criticErrors(c, read, y).map(([a, b], i) => c.weight[i] * 0.5 * (a * a + b * b));
  return losses.reduce((sum, loss) => sum + loss, 0) / c.batch.rows;
}

export function absoluteErrors(c: ReferenceCase, read: Read, y: readonly number[]): number[] {
  return criticErrors(c, read, y).map(([a, b]) => (Math.abs(a) + Math.abs(b)) / 2);
}

/** `readCritic` is held fixed while the policy moves. */
export function policyLoss(c: ReferenceCase, read: Read, readCritic: Read): number {
  const alpha = Math.exp(readCritic('logAlpha')[0]);
  let loss = 0;
  for (let i = 0; i < c.batch.rows; i++) {
    const obs = row(c.batch.obs, i, c.obsDim);
    const { action, logProb } = act(c, read, obs, row(c.noise, i, c.actionDim));
    loss += alpha * logProb - Math.min(...critics(c, readCritic, obs, action));
  }
  return loss / c.batch.rows;
}

/** d(-log alpha (log pi + target entropy)) / d log alpha. */
export function alphaGradient(c: ReferenceCase, read: Read): number {
  const target = c.config.targetEntropy === 'auto' ? -c.actionDim : c.config.targetEntropy;
  let sum = 0;
  for (let i = 0; i < c.batch.rows; i++) {
    sum += act(c, read, row(c.batch.obs, i, c.obsDim), row(c.noise, i, c.actionDim)).logProb + target;
  }
  return -sum / c.batch.rows;
}

/** Central differences of `loss` in each of `count` elements of theta from `start`. */
export function differences(
  theta: Float64Array,
  start: number,
  count: number,
  loss: (theta: Float64Array) => number,
): number[] {
  const h = 1e-5;
  return Array.from({ length: count }, (_, k) => {
    const moved = theta.slice();
    moved[start + k] = theta[start + k] + h;
    const up = loss(moved);
    moved[start + k] = theta[start + k] - h;
    return (up - loss(moved)) / (2 * h);
  });
}
