// Lives one chunk of branches: policy and model step all living rows at once, rows that end are taken out (compaction),
// order kept. This is the only place that decides when a branch ends.
// Branched rollouts: Janner et al., "When to Trust Your Model" (MBPO, 1906.08253), algorithm 2.

import { Packr } from 'msgpackr';
import type { ImagineOptions } from '../../core/dynamics.js';
import type { Awaitable } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { Policy, PolicyAction, PolicySnapshot } from '../../core/policy.js';
import { Acting } from '../../core/policy.js';
import { moved, poolTask } from '../../core/pool-task.js';
import { Rng, type RngState } from '../../core/rng.js';
import type { StopFlag } from '../../core/threads.js';
import type { VectorDynamics, WholeRolloutAnswer, WorldModelSnapshot } from '../../worldmodel/dynamics.js';
import { beginFrom } from '../../worldmodel/starts.js';
import { encodeRecord, payloadOf } from '../journal.js';
import {
  type ChunkTask,
  checkActions,
  checkPrediction,
  checkStarts,
  type RolloutChunk,
  type RolloutCounts,
  type RolloutSettings,
  type VectorImagined,
} from './plan.js';
import { Revival } from './revival.js';

/**
 * Lives `task` and answers its rows, or undefined if `isStopped` said so between two steps.
 * Step t draws the policy's noise from `rng.split('act', t)` and the model's from `rng.split('model', t)`.
 * Throws NON_FINITE_VALUE, SETTING_INVALID, SETTING_INVALID.
 */
export async function rolloutChunk(
  model: VectorDynamics,
  policy: Policy,
  task: ChunkTask,
  rng: Rng,
  isStopped?: () => Awaitable<boolean>,
): Promise<RolloutChunk | undefined> {
  const { settings, obsDim } = task;
  checkStarts(model, task);
  const recorder = new ChunkRecorder(task);
  const options = imagineOptions(settings);
  let branch: Uint32Array = Uint32Array.from({ length: task.parent.length }, (_, row) => row);
  let obs: Float32Array = task.starts;
  const acting = new Acting(policy, branch.length);
  let carry = await beginFrom(model, obs, task.history, rng.split('begin'));
  for (let step = 0; step < settings.horizon && branch.length > 0; step++) {
    if (await isStopped?.()) return undefined;
    const rows = branch.length;
    const acted = await acting.act(obs, rng.split('act', step), { deterministic: settings.deterministicPolicy });
    checkActions(model, acted, rows);
    const imagined = await model.imagine(carry, acted.action, rng.split('model', step), options);
    checkPrediction(imagined, { rows, obsDim, step, episodeOf: (row) => task.firstEpisode + branch[row] });
    const verdict = judge(imagined, rows, step, settings, model.backend);
    recorder.record({ branch, obs, acted: ownAction(acted), imagined, verdict });
    const living = Uint32Array.from(branch.keys()).filter((row) => verdict[row] === VERDICT.goesOn);
    const isWhole = living.length === rows;
    if (!isWhole) acting.keep(living);
    carry = isWhole ? imagined.carry : model.pick(imagined.carry, living);
    obs = isWhole ? imagined.observation : pickRows(imagined.observation, living, obsDim);
    branch = isWhole ? branch : living.map((row) => branch[row]);
  }
  return recorder.finish();
}

function imagineOptions(settings: RolloutSettings): ImagineOptions {
  return {
    propagation: settings.propagation,
    deterministic: settings.deterministicModel,
    disagreement: settings.confidence || settings.disagreementLimit !== undefined,
  };
}

// Policies may hand out buffers that they write again at their next call.
function ownAction({ action, logProb }: PolicyAction): PolicyAction {
  return { action: action.slice(), logProb: logProb?.slice() };
}

/** How each row ends here, if it does. Doubt goes first: where the model is not believed, neither is the end it tells. */
function judge(
  imagined: VectorImagined,
  rows: number,
  step: number,
  settings: RolloutSettings,
  backend: string,
): Uint8Array {
  const { disagreementLimit: limit, onDoubt, horizon } = settings;
  const { disagreement, terminated } = imagined;
  if (disagreement === undefined && (limit !== undefined || settings.confidence)) {
    throw reverieError('SETTING_INVALID', {
      problem: `World model "${backend}" gives no disagreement, which this rollout asks for.`,
      hint: 'Use an ensemble, or leave out disagreementLimit and confidence.',
    });
  }
  const doubt = onDoubt === 'truncate' ? VERDICT.doubted : VERDICT.dropped;
  const otherwise = step + 1 === horizon ? VERDICT.outOfHorizon : VERDICT.goesOn;
  const verdict = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    if (limit !== undefined && !(disagreement![row] <= limit)) verdict[row] = doubt;
    else verdict[row] = terminated[row] ? VERDICT.terminated : otherwise;
  }
  return verdict;
}

function pickRows(values: Float32Array, rows: Uint32Array, dim: number): Float32Array {
  const picked = new Float32Array(rows.length * dim);
  for (let to = 0; to < rows.length; to++) copyRow(values, rows[to], picked, to, dim);
  return picked;
}

// Keeps what the steps of a chunk gave, and at the end lays it out branch after branch.
// Steps arrive for all living branches at once; rows leave in the order a reader of episodes wants.

/** What a step means for a row's branch. */
const VERDICT = { goesOn: 0, terminated: 1, outOfHorizon: 2, doubted: 3, dropped: 4 } as const;

/** One step of all living branches; arrays have one entry or row per living branch. */
interface StepRecord {
  readonly branch: Uint32Array;
  readonly obs: Float32Array;
  readonly acted: PolicyAction;
  readonly imagined: VectorImagined;
  readonly verdict: Uint8Array;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class ChunkRecorder {
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
      ...(first?.imagined.disagreement && { confidence: new Float32Array(rows) }),
      ...(first?.acted.logProb && { logProb: new Float32Array(rows) }),
      counts: { ...this.counts, rows },
    };
  }

  private lay(chunk: RolloutChunk, record: StepRecord, step: number, offsets: Uint32Array): void {
    const { obsDim, firstEpisode, group, parent } = this.task;
    const actionDim = record.acted.action.length / record.branch.length;
    const { imagined, acted, verdict } = record;
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
      copyRow(imagined.observation, row, chunk.nextObs, to, obsDim);
      chunk.reward[to] = imagined.reward[row];
      chunk.terminated[to] = imagined.terminated[row] ? 1 : 0;
      chunk.truncated[to] = verdict[row] !== VERDICT.goesOn && !imagined.terminated[row] ? 1 : 0;
      chunk.episode[to] = firstEpisode + branch;
      chunk.step[to] = step;
      chunk.group[to] = group[branch];
      chunk.parent[to] = parent[branch];
      if (chunk.confidence) chunk.confidence[to] = 1 / (1 + imagined.disagreement![row]);
      if (chunk.logProb) chunk.logProb[to] = acted.logProb![row];
    }
  }
}

function copyRow(from: Float32Array, fromRow: number, to: Float32Array, toRow: number, dim: number): void {
  const source = fromRow * dim;
  const target = toRow * dim;
  for (let k = 0; k < dim; k++) to[target + k] = from[source + k];
}

export interface ChunkRecord {
  readonly index: number;
  readonly counts: RolloutCounts;
  /** The journal's record, of piece `index`. */
  readonly record: Uint8Array;
}

const packr = new Packr({ useRecords: false, moreTypes: true });

export function packChunk(chunk: RolloutChunk): ChunkRecord {
  return { index: chunk.index, counts: chunk.counts, record: encodeRecord(chunk.index, packr.pack(chunk)) };
}

/** The chunk of a journal's record. */
export function unpackRecord(record: Uint8Array): RolloutChunk {
  return packr.unpack(payloadOf(record));
}

/**
 * The rows of `task`; undefined where it has to be lived step by step: because model or policy cannot do otherwise, or
 * because something was not finite, which a step then names.
 * Throws SETTING_INVALID, and what the model throws.
 */
export async function wholeChunk(
  model: VectorDynamics,
  policy: Policy,
  task: ChunkTask,
  rng: Rng,
): Promise<RolloutChunk | undefined> {
  const { settings, starts, parent } = task;
  checkStarts(model, task);
  const network = policy.network?.();
  if (network === undefined) return undefined;
  const answer = await model.rollout?.({
    starts,
    branches: parent.length,
    horizon: settings.horizon,
    policy: network,
    isPolicyDeterministic: settings.deterministicPolicy === true,
    propagation: settings.propagation,
    isModelDeterministic: settings.deterministicModel === true,
    withDisagreement: settings.confidence === true,
    disagreementLimit: settings.disagreementLimit,
    dropsDoubted: settings.onDoubt !== 'truncate',
    actRng: (step) => rng.split('act', step),
    modelRng: (step) => rng.split('model', step),
  });
  return answer === undefined || answer.nonFinite > 0 ? undefined : chunkOf(answer, task);
}

function chunkOf(answer: WholeRolloutAnswer, task: ChunkTask): RolloutChunk {
  const { rows, branch, step, disagreement, ended, logProb } = answer;
  const { index, parent, group, firstEpisode, settings } = task;
  // A loop: `Float64Array.from` makes a list of numbers on the heap first, which the garbage collector then looks after.
  const ofBranch = (read: (branch: number) => number) => {
    const column = new Float64Array(rows);
    for (let row = 0; row < rows; row++) column[row] = read(branch[row]);
    return column;
  };
  return {
    ...{ index, rows, step },
    obs: answer.obs,
    action: answer.action,
    reward: answer.reward,
    terminated: answer.terminated,
    truncated: answer.truncated,
    nextObs: answer.nextObs,
    episode: ofBranch((one) => firstEpisode + one),
    group: ofBranch((one) => group[one]),
    parent: ofBranch((one) => parent[one]),
    ...(disagreement && { confidence: disagreement.map((doubt) => 1 / (1 + doubt)) }),
    ...(logProb && { logProb }),
    counts: {
      episodes: parent.length,
      rows,
      ...ended,
      dropped: settings.onDoubt === 'truncate' ? 0 : ended.doubted,
    },
  };
}

export interface ChunkInput {
  /** Bytes inside are shared, see src/core/pool-task.ts. */
  readonly model: WorldModelSnapshot;
  readonly policy: PolicySnapshot;
  /** Module that revives the model; the world-model room if left out. */
  readonly modelLoader?: string;
  readonly task: ChunkTask;
  readonly rng: RngState;
}

const revival = new Revival();

async function lived(input: ChunkInput, stop: StopFlag): Promise<RolloutChunk | undefined> {
  const model = await revival.model(input.model, input.modelLoader);
  const policy = await revival.policy(input.policy);
  const isStopped = () => Atomics.load(stop, 0) !== 0;
  return rolloutChunk(model, policy, input.task, Rng.fromState(input.rng), isStopped);
}

/** Answers the chunk; undefined if it was stopped between two steps. */
export const chunkTask = poolTask(
  import.meta.url,
  'chunkTask',
  async (input: ChunkInput, { stop }): Promise<RolloutChunk | undefined> => {
    const chunk = await lived(input, stop);
    return chunk && moved(chunk);
  },
);

/** The same chunk as the record that a journal keeps. */
export const chunkRecordTask = poolTask(
  import.meta.url,
  'chunkRecordTask',
  async (input: ChunkInput, { stop }): Promise<ChunkRecord | undefined> => {
    const chunk = await lived(input, stop);
    return chunk && moved(packChunk(chunk));
  },
);
