// Keeps what the steps of a chunk gave, and at the end lays it out branch after branch.
// Steps arrive for all living branches at once; rows leave in the order a reader of episodes wants.

import type { PolicyAction } from '../../env/index.js';
import type { VectorPrediction } from '../../worldmodel/index.js';
import type { ChunkTask } from './plan.js';
import type { RolloutChunk, RolloutCounts } from './request.js';

/** What a step means for a row's branch. */
export const VERDICT = { goesOn: 0, terminated: 1, outOfHorizon: 2, doubted: 3, dropped: 4 } as const;

/** One step of all living branches; arrays have one entry or row per living branch. */
export interface StepRecord {
  readonly branch: Uint32Array;
  readonly obs: Float32Array;
  readonly acted: PolicyAction;
  readonly predicted: VectorPrediction;
  readonly verdict: Uint8Array;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class ChunkRecorder {
  private readonly steps: StepRecord[] = [];
  private readonly lengths: Uint32Array;
  private readonly counts: Mutable<RolloutCounts>;

  constructor(private readonly task: ChunkTask) {
    const episodes = task.parent.length;
    this.lengths = new Uint32Array(episodes);
    this.counts = { episodes, rows: 0, terminated: 0, outOfHorizon: 0, doubted: 0, dropped: 0 };
  }

  /** Takes over the arrays of `record`. */
  record(record: StepRecord): void {
    this.steps.push(record);
    const { counts } = this;
    for (let row = 0; row < record.verdict.length; row++) {
      const verdict = record.verdict[row];
      if (verdict === VERDICT.terminated) counts.terminated++;
      else if (verdict === VERDICT.outOfHorizon) counts.outOfHorizon++;
      else if (verdict !== VERDICT.goesOn) counts.doubted++;
      if (verdict === VERDICT.dropped) counts.dropped++;
      else this.lengths[record.branch[row]]++;
    }
  }

  finish(): RolloutChunk {
    const offsets = this.offsets();
    const chunk = this.allocate(offsets[offsets.length - 1]);
    for (let step = 0; step < this.steps.length; step++) this.lay(chunk, this.steps[step], step, offsets);
    return chunk;
  }

  /** Row at which each branch begins, and at the end the number of rows. */
  private offsets(): Uint32Array {
    const offsets = new Uint32Array(this.lengths.length + 1);
    for (let branch = 0; branch < this.lengths.length; branch++)
      offsets[branch + 1] = offsets[branch] + this.lengths[branch];
    return offsets;
  }

  private allocate(rows: number): RolloutChunk {
    const { obsDim, index } = this.task;
    const first = this.steps.at(0);
    const actionDim = first === undefined ? 0 : first.acted.action.length / first.branch.length;
    return {
      index,
      rows,
      obs: new Float32Array(rows * obsDim),
      action: new Float32Array(rows * actionDim),
      reward: new Float32Array(rows),
      terminated: new Uint8Array(rows),
      truncated: new Uint8Array(rows),
      nextObs: new Float32Array(rows * obsDim),
      episode: new Float64Array(rows),
      step: new Uint32Array(rows),
      group: new Float64Array(rows),
      parent: new Float64Array(rows),
      ...(first?.predicted.disagreement && { confidence: new Float32Array(rows) }),
      ...(first?.acted.logProb && { logProb: new Float32Array(rows) }),
      counts: { ...this.counts, rows },
    };
  }

  private lay(chunk: RolloutChunk, record: StepRecord, step: number, offsets: Uint32Array): void {
    const { obsDim, firstEpisode, group, parent } = this.task;
    const actionDim = record.acted.action.length / record.branch.length;
    const { predicted, acted, verdict } = record;
    for (let row = 0; row < record.branch.length; row++) {
      const branch = record.branch[row];
      const to = offsets[branch] + step;
      if (verdict[row] === VERDICT.dropped) {
        // The branch ends by doubt on the row before, which is kept; at step 0 nothing of it is.
        if (step > 0) chunk.truncated[to - 1] = 1;
        continue;
      }
      copyRow(record.obs, row, chunk.obs, to, obsDim);
      copyRow(acted.action, row, chunk.action, to, actionDim);
      copyRow(predicted.nextObs, row, chunk.nextObs, to, obsDim);
      chunk.reward[to] = predicted.reward[row];
      chunk.terminated[to] = predicted.terminated[row] ? 1 : 0;
      chunk.truncated[to] = verdict[row] !== VERDICT.goesOn && !predicted.terminated[row] ? 1 : 0;
      chunk.episode[to] = firstEpisode + branch;
      chunk.step[to] = step;
      chunk.group[to] = group[branch];
      chunk.parent[to] = parent[branch];
      if (chunk.confidence) chunk.confidence[to] = 1 / (1 + predicted.disagreement![row]);
      if (chunk.logProb) chunk.logProb[to] = acted.logProb![row];
    }
  }
}

function copyRow(from: Float32Array, fromRow: number, to: Float32Array, toRow: number, dim: number): void {
  const source = fromRow * dim;
  const target = toRow * dim;
  for (let k = 0; k < dim; k++) to[target + k] = from[source + k];
}
