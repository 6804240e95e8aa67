// The elites on the processor, and how their answers become one prediction: a random elite per row (TS1) or their mean, sampled or not, with doubt.
// Asking for disagreement does not change what is predicted. Rows are worked off in chunks whose observations, noise and
// answers stay in the second-level cache.

import { Rng } from '../../core/rng.js';
import type { DeviceStep } from '../../nn/cuda.js';
import type { AddonStepAnswer } from '../../nn/cuda-addon.js';
import { float32 } from '../../nn/graph.js';
import { hasExactRows } from '../../nn/row-trial.js';
import { InferenceSession } from '../../nn/runtime.js';
import type { WholeRollout, WholeRolloutAnswer } from '../dynamics.js';
import { type EncodeRows, rowEncoder, rowShape } from '../model-folder.js';
import { type EnsembleContents, memberShapeOf } from './contents.js';
import type { MemberShape } from './members.js';

/** Rows between two draws of noise. Fewer would make each elite read its weights anew for too few rows. */
const CHUNK_ROWS = 4096;

/** A run of consecutive rows, and the buffers to work them off with. */
interface Chunk {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rows: number;
  /** Encoded rows of one tile; each call has its own, so that calls may overlap. */
  readonly tile: Float32Array;
  readonly place: Place;
}

/** Turns rows first.. of an answer into samples; they are rows `order[first..]` of the chunk, or those rows themselves. */
type Place = (answer: MemberAnswer, order: Uint32Array | undefined, first: number, rows: number) => void;

export class Propagator implements ElitePropagation {
  private exactRows?: Promise<boolean>;

  private constructor(
    private readonly sessions: readonly InferenceSession[],
    private readonly encode: EncodeRows,
    private readonly shape: MemberShape,
    private readonly obsDim: number,
    private readonly actionDim: number,
    /** Units of disagreement: standard deviation of the change of each observation element. */
    private readonly targetScale: readonly number[],
  ) {}

  static async open({ description, models }: EnsembleContents): Promise<Propagator> {
    const { elites, config, normaliser } = description;
    const { obsDim, actionDim } = rowShape(description);
    // ONNX Runtime refuses shared memory; an own copy also frees the file's buffer.
    const opening = elites.map((member, i) =>
      InferenceSession.fromBytes(models[member].slice(), {}, `ensemble member ${i}`),
    );
    const shape = memberShapeOf(description, config);
    const { scale } = normaliser.target;
    return new Propagator(await Promise.all(opening), rowEncoder(description), shape, obsDim, actionDim, scale);
  }

  async propagate(request: PropagationRequest): Promise<Propagated> {
    const { rows, rng, isTs1, isDeterministic, withDisagreement } = request;
    const { outputDim, termination } = this.shape;
    const { obsDim, actionDim } = this;
    const needs = {
      rows,
      elites: isTs1 ? this.sessions.length : 0,
      normals: isDeterministic ? 0 : outputDim,
      ends: termination && !isDeterministic,
    };
    const { elite, chance, fill } = rng instanceof Rng ? batchNoise(rng, needs) : rowNoise(rng, needs);
    const nextObs = new Float32Array(rows * obsDim);
    const reward = outputDim > obsDim ? new Float32Array(rows) : undefined;
    const terminated = termination ? new Uint8Array(rows) : undefined;
    const disagreement = withDisagreement ? new Float32Array(rows) : undefined;
    const noise = new Float32Array(Math.min(rows, CHUNK_ROWS) * outputDim);
    const tile = this.tileFor(rows);
    for (let first = 0; first < rows; first += CHUNK_ROWS) {
      const end = Math.min(first + CHUNK_ROWS, rows);
      const obs = request.obs.subarray(first * obsDim, end * obsDim);
      fill(noise, end - first);
      const samples = {
        nextObs: nextObs.subarray(first * obsDim, end * obsDim),
        reward: reward?.subarray(first, end),
        terminated: terminated?.subarray(first, end),
      };
      const place = placer({ obs, noise, chance: chance?.subarray(first, end), ...samples }, obsDim, outputDim);
      const action = request.action.subarray(first * actionDim, end * actionDim);
      const chunk = { obs, action, rows: end - first, tile, place };
      const chosen = elite?.subarray(first, end);
      if (chosen && !disagreement) await this.eachGroup(chunk, chosen);
      else await this.allElites(chunk, chosen, disagreement?.subarray(first, end));
    }
    return { nextObs, reward, terminated, disagreement };
  }

  async everyElite(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer> {
    const { outputDim, termination } = this.shape;
    const size = rows * outputDim;
    const mean = new Float32Array(this.sessions.length * size);
    const std = new Float32Array(this.sessions.length * size);
    const terminated = termination ? new Float32Array(this.sessions.length * rows) : undefined;
    const tile = this.tileFor(rows);
    for (let first = 0; first < rows; first += TILE_ROWS) {
      const answers = await this.askAll({ obs, action, tile }, first, Math.min(TILE_ROWS, rows - first));
      answers.forEach((answer, e) => {
        mean.set(answer.mean, e * size + first * outputDim);
        std.set(answer.std, e * size + first * outputDim);
        if (answer.terminated) terminated?.set(answer.terminated, e * rows + first);
      });
    }
    return { mean, std, terminated };
  }

  /** Members are of one shape: the first is tried, once. */
  haveExactRows(): Promise<boolean> {
    this.exactRows ??= hasExactRows(this.sessions[0]);
    return this.exactRows;
  }

  async release(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.release()));
  }

  private tileFor(rows: number): Float32Array {
    return new Float32Array(Math.min(rows, TILE_ROWS) * this.shape.inputDim);
  }

  /** Each elite runs its own rows only. */
  private async eachGroup({ obs, action, rows, tile, place }: Chunk, elite: Uint32Array): Promise<void> {
    if (rows === 1) {
      this.encode(obs, action, undefined, 0, 1, tile);
      return place(await this.ask(elite[0], tile, 1), undefined, 0, 1);
    }
    const { order, starts } = groupByElite(elite, this.sessions.length);
    for (let e = 0; e < this.sessions.length; e++) {
      const tileRows = evenTile(starts[e + 1] - starts[e]);
      for (let first = starts[e]; first < starts[e + 1]; first += tileRows) {
        const count = Math.min(tileRows, starts[e + 1] - first);
        this.encode(obs, action, order, first, count, tile);
        place(await this.ask(e, tile, count), order, first, count);
      }
    }
  }

  private async allElites(
    chunk: Chunk,
    elite: Uint32Array | undefined,
    disagreement: Float32Array | undefined,
  ): Promise<void> {
    const { outputDim } = this.shape;
    for (let first = 0; first < chunk.rows; first += TILE_ROWS) {
      const count = Math.min(TILE_ROWS, chunk.rows - first);
      const answers = await this.askAll(chunk, first, count);
      const mean = meanAnswer(answers, count, outputDim);
      if (disagreement) this.measureDoubt(answers, mean.mean, count, disagreement.subarray(first, first + count));
      const answer = elite ? pickElites(answers, elite.subarray(first, first + count), outputDim) : mean;
      chunk.place(answer, undefined, first, count);
    }
  }

  private async askAll(
    { obs, action, tile }: Pick<Chunk, 'obs' | 'action' | 'tile'>,
    first: number,
    rows: number,
  ): Promise<MemberAnswer[]> {
    this.encode(obs, action, undefined, first, rows, tile);
    const answers: MemberAnswer[] = [];
    for (let e = 0; e < this.sessions.length; e++) answers.push(await this.ask(e, tile, rows));
    return answers;
  }

  /** What an elite says of `rows` encoded rows at the head of `inputs`. */
  private async ask(elite: number, inputs: Float32Array, rows: number): Promise<MemberAnswer> {
    const { inputDim } = this.shape;
    const view = inputs.length === rows * inputDim ? inputs : inputs.subarray(0, rows * inputDim);
    const answer = await this.sessions[elite].run({ input: float32(view, [rows, inputDim]) });
    return {
      mean: answer['mean'].data as Float32Array,
      std: answer['std'].data as Float32Array,
      terminated: answer['terminated']?.data as Float32Array | undefined,
    };
  }

  /** Largest root-mean-square deviation of an elite's mean from the elites' mean over the observation's elements. */
  private measureDoubt(answers: readonly MemberAnswer[], centre: Float32Array, rows: number, into: Float32Array): void {
    const { obsDim, targetScale } = this;
    const { outputDim } = this.shape;
    for (const { mean } of answers) {
      for (let r = 0; r < rows; r++) {
        let squares = 0;
        for (let j = 0; j < obsDim; j++) {
          const at = r * outputDim + j;
          squares += ((mean[at] - centre[at]) / targetScale[j]) ** 2;
        }
        into[r] = Math.max(into[r], Math.sqrt(squares / obsDim));
      }
    }
  }
}

/** Rows of each of the fewest equal tiles that hold `rows`; whole blocks of rows as the matrix kernels take them. */
function evenTile(rows: number): number {
  const tiles = Math.ceil(rows / TILE_ROWS);
  return Math.ceil(rows / tiles / KERNEL_ROWS) * KERNEL_ROWS;
}

interface PlacedColumns extends Pick<Propagated, 'nextObs' | 'reward' | 'terminated'> {
  readonly obs: Float32Array;
  /** [rows, outputDim], zeros for none. */
  readonly noise: Float32Array;
  readonly chance?: Float32Array;
}

/** Turns answers into samples: obs + mean + std · noise, and ends where the chance falls below their probability. */
function placer(columns: PlacedColumns, obsDim: number, outputDim: number): Place {
  const { obs, noise, chance, nextObs, reward, terminated } = columns;
  return (answer, order, first, rows) => {
    const { mean, std } = answer;
    for (let r = 0, from = 0; r < rows; r++) {
      const row = order === undefined ? first + r : order[first + r];
      let drawn = row * outputDim;
      for (let to = row * obsDim, end = to + obsDim; to < end; to++, from++, drawn++) {
        nextObs[to] = obs[to] + (mean[from] + std[from] * noise[drawn]);
      }
      if (reward) {
        reward[row] = mean[from] + std[from] * noise[drawn];
        from++;
      }
      if (terminated && answer.terminated) terminated[row] = (chance?.[row] ?? 0.5) < answer.terminated[r] ? 1 : 0;
    }
  };
}

/** Means of the elites' means and end probabilities; the variance is the mean of theirs, their aleatoric part. */
function meanAnswer(answers: readonly MemberAnswer[], rows: number, outputDim: number): MemberAnswer {
  const share = 1 / answers.length;
  const mean = new Float32Array(rows * outputDim);
  const std = new Float32Array(rows * outputDim);
  const terminated = answers[0].terminated && new Float32Array(rows);
  for (const answer of answers) {
    for (let at = 0; at < mean.length; at++) {
      mean[at] += share * answer.mean[at];
      std[at] += share * answer.std[at] ** 2;
    }
    if (terminated && answer.terminated) for (let r = 0; r < rows; r++) terminated[r] += share * answer.terminated[r];
  }
  for (let at = 0; at < std.length; at++) std[at] = Math.sqrt(std[at]);
  return { mean, std, terminated };
}

/** Row by row, the answer of the row's elite. */
function pickElites(answers: readonly MemberAnswer[], elite: Uint32Array, outputDim: number): MemberAnswer {
  const rows = elite.length;
  const mean = new Float32Array(rows * outputDim);
  const std = new Float32Array(rows * outputDim);
  const terminated = answers[0].terminated && new Float32Array(rows);
  for (let r = 0; r < rows; r++) {
    const answer = answers[elite[r]];
    for (let at = r * outputDim; at < (r + 1) * outputDim; at++) {
      mean[at] = answer.mean[at];
      std[at] = answer.std[at];
    }
    if (terminated && answer.terminated) terminated[r] = answer.terminated[r];
  }
  return { mean, std, terminated };
}

/** What the elites say follows each row, in raw units; streams move on. */
type Propagated = AddonStepAnswer;
export type PropagationRequest = DeviceStep;

export interface ElitePropagation {
  propagate(request: PropagationRequest): Promise<Propagated>;
  /** Every elite's answer for every row: means and stds [elites, rows, outputDim]. */
  everyElite(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer>;
  /** Whether a row gets the same bytes in any batch. */
  haveExactRows(): Promise<boolean>;
  /** Whole rollouts where they can be run as one; undefined where this one cannot. */
  rollout?(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined;
  release(): Promise<void>;
}

/** Rows of one run. Larger ones spill the activations of a layer out of the second-level cache (measured: 64 to 2048 differ little). */
const TILE_ROWS = 504;

/** Rows that ONNX Runtime's matrix kernels take at a time (AVX-512; others take divisors of it). */
const KERNEL_ROWS = 12;

/** Raw units, row-major. */
export interface MemberAnswer {
  /** [rows, outputDim] */
  readonly mean: Float32Array;
  /** [rows, outputDim] */
  readonly std: Float32Array;
  /** [rows], probability of the end by the task; where learned. */
  readonly terminated?: Float32Array;
}

interface NoiseNeeds {
  readonly rows: number;
  /** Elites to draw from; 0 where none is drawn. */
  readonly elites: number;
  /** Normals a row; 0 where none are drawn. */
  readonly normals: number;
  /** Whether an end is drawn for each row. */
  readonly ends: boolean;
}

interface StepNoise {
  readonly elite?: Uint32Array;
  readonly chance?: Float32Array;
  /** Fills `into` [rows, normals] for the next `rows` rows; leaves it alone where no normals are drawn. */
  fill(into: Float32Array, rows: number): void;
}

/** Moves `rng` on by everything the step needs. Normals are drawn only when they are filled. */
function batchNoise(rng: Rng, { rows, elites, normals, ends }: NoiseNeeds): StepNoise {
  const elite = elites > 0 ? drawElites(rows, elites, rng) : undefined;
  const source = Rng.fromState(rng.state());
  rng.skip(rows * normals);
  const chance = ends ? rng.fillUniform(new Float32Array(rows)) : undefined;
  return { elite, chance, fill: (into, count) => void source.fillNormal(into.subarray(0, count * normals)) };
}

/** As `batchNoise` of each row alone. */
function rowNoise(rngs: readonly Rng[], { elites, normals, ends }: NoiseNeeds): StepNoise {
  const rows = rngs.map((rng) => batchNoise(rng, { rows: 1, elites, normals, ends }));
  let next = 0;
  return {
    elite: elites > 0 ? Uint32Array.from(rows, ({ elite }) => elite![0]) : undefined,
    chance: ends ? Float32Array.from(rows, ({ chance }) => chance![0]) : undefined,
    fill: (into, count) => {
      for (let r = 0; r < count; r++) rows[next++].fill(into.subarray(r * normals, (r + 1) * normals), 1);
    },
  };
}

/** An elite 0..elites-1 for each of `rows` rows; takes exactly one word of the stream a row. */
export function drawElites(rows: number, elites: number, rng: Rng): Uint32Array {
  const drawn = rng.fillUint32(new Uint32Array(rows));
  for (let i = 0; i < rows; i++) drawn[i] = Math.floor((drawn[i] / 4294967296) * elites);
  return drawn;
}

/** Counting sort of the rows by elite: those of elite e are order[starts[e] .. starts[e + 1]), ascending. */
function groupByElite(elite: Uint32Array, elites: number) {
  const starts = new Uint32Array(elites + 1);
  for (let i = 0; i < elite.length; i++) starts[elite[i] + 1]++;
  for (let e = 0; e < elites; e++) starts[e + 1] += starts[e];
  const next = starts.slice(0, elites);
  const order = new Uint32Array(elite.length);
  for (let i = 0; i < elite.length; i++) order[next[elite[i]]++] = i;
  return { order, starts };
}
