// The elites on the processor, and how their answers become one prediction: a random elite per row (TS1) or their mean, sampled or not, with doubt.
// Asking for disagreement does not change what is predicted. Rows are worked off in chunks whose observations, noise and
// answers stay in the second-level cache.

import { Rng } from '../../core/rng.js';
import type { EncodeRows } from '../model-spaces.js';
import type { ElitePropagation, Propagated, PropagationRequest } from './elite-propagation.js';
import type { MemberShape } from './member-network.js';
import { KERNEL_ROWS, type MemberAnswer, type MemberSessions, TILE_ROWS } from './member-sessions.js';
import { batchNoise, groupByElite, rowNoise } from './step-noise.js';

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
  constructor(
    private readonly sessions: MemberSessions,
    private readonly encode: EncodeRows,
    private readonly shape: MemberShape,
    private readonly obsDim: number,
    private readonly actionDim: number,
    /** Units of disagreement: standard deviation of the change of each observation element. */
    private readonly targetScale: readonly number[],
  ) {}

  async propagate(request: PropagationRequest): Promise<Propagated> {
    const { rows, rng, isTs1, isDeterministic, withDisagreement } = request;
    const { outputDim, termination } = this.shape;
    const { obsDim } = this;
    const needs = {
      rows,
      elites: isTs1 ? this.sessions.count : 0,
      normals: isDeterministic ? 0 : outputDim,
      ends: termination && !isDeterministic,
    };
    const { elite, chance, fill } = rng instanceof Rng ? batchNoise(rng, needs) : rowNoise(rng, needs);
    const nextObs = new Float32Array(rows * obsDim);
    const reward = outputDim > obsDim ? new Float32Array(rows) : undefined;
    const terminated = termination ? new Uint8Array(rows) : undefined;
    const disagreement = withDisagreement ? new Float32Array(rows) : undefined;
    const noise = new Float32Array(Math.min(rows, CHUNK_ROWS) * outputDim);
    const tile = this.newTile(rows);
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
      const action = request.action.subarray(first * this.actionDim, end * this.actionDim);
      const chunk = { obs, action, rows: end - first, tile, place };
      const chosen = elite?.subarray(first, end);
      if (chosen && !disagreement) await this.eachGroup(chunk, chosen);
      else await this.allElites(chunk, chosen, disagreement?.subarray(first, end));
    }
    return { nextObs, reward, terminated, disagreement };
  }

  /** Every elite's answer for every row: means and stds [elites, rows, outputDim]. */
  async everyElite(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer> {
    const size = rows * this.shape.outputDim;
    const mean = new Float32Array(this.sessions.count * size);
    const std = new Float32Array(this.sessions.count * size);
    const terminated = this.shape.termination ? new Float32Array(this.sessions.count * rows) : undefined;
    const tile = this.newTile(rows);
    for (let first = 0; first < rows; first += TILE_ROWS) {
      const answers = await this.askAll(tile, obs, action, first, Math.min(TILE_ROWS, rows - first));
      answers.forEach((answer, e) => {
        mean.set(answer.mean, e * size + first * this.shape.outputDim);
        std.set(answer.std, e * size + first * this.shape.outputDim);
        if (answer.terminated) terminated?.set(answer.terminated, e * rows + first);
      });
    }
    return { mean, std, terminated };
  }

  haveExactRows(): Promise<boolean> {
    return this.sessions.haveExactRows();
  }

  release(): Promise<void> {
    return this.sessions.release();
  }

  /** Each elite runs its own rows only. */
  private async eachGroup({ obs, action, rows, tile, place }: Chunk, elite: Uint32Array): Promise<void> {
    if (rows === 1) return place(await this.askTile(tile, elite[0], obs, action, undefined, 0, 1), undefined, 0, 1);
    const { order, starts } = groupByElite(elite, this.sessions.count);
    for (let e = 0; e < this.sessions.count; e++) {
      const tileRows = evenTile(starts[e + 1] - starts[e]);
      for (let first = starts[e]; first < starts[e + 1]; first += tileRows) {
        const count = Math.min(tileRows, starts[e + 1] - first);
        place(await this.askTile(tile, e, obs, action, order, first, count), order, first, count);
      }
    }
  }

  private async allElites(
    { obs, action, rows, tile, place }: Chunk,
    elite: Uint32Array | undefined,
    disagreement: Float32Array | undefined,
  ): Promise<void> {
    const { outputDim } = this.shape;
    for (let first = 0; first < rows; first += TILE_ROWS) {
      const count = Math.min(TILE_ROWS, rows - first);
      const answers = await this.askAll(tile, obs, action, first, count);
      const mean = meanAnswer(answers, count, outputDim);
      if (disagreement) this.measureDoubt(answers, mean.mean, count, disagreement.subarray(first, first + count));
      place(
        elite ? pickElites(answers, elite.subarray(first, first + count), outputDim) : mean,
        undefined,
        first,
        count,
      );
    }
  }

  private newTile(rows: number): Float32Array {
    return new Float32Array(Math.min(rows, TILE_ROWS) * this.shape.inputDim);
  }

  private askTile(
    tile: Float32Array,
    index: number,
    obs: Float32Array,
    action: Float32Array,
    order: Uint32Array | undefined,
    first: number,
    rows: number,
  ): Promise<MemberAnswer> {
    this.encode(obs, action, order, first, rows, tile);
    return this.sessions.ask(index, tile, rows);
  }

  private async askAll(
    tile: Float32Array,
    obs: Float32Array,
    action: Float32Array,
    first: number,
    rows: number,
  ): Promise<MemberAnswer[]> {
    this.encode(obs, action, undefined, first, rows, tile);
    const answers: MemberAnswer[] = [];
    for (let e = 0; e < this.sessions.count; e++) answers.push(await this.sessions.ask(e, tile, rows));
    return answers;
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

interface PlacedColumns {
  readonly obs: Float32Array;
  /** [rows, outputDim], zeros for none. */
  readonly noise: Float32Array;
  readonly chance?: Float32Array;
  readonly nextObs: Float32Array;
  readonly reward?: Float32Array;
  readonly terminated?: Uint8Array;
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
