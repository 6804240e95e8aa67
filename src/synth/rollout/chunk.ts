// Runs one chunk of branches: policy and model step all running rows at once, rows that end are taken out (compaction), order
// kept. This is the only place that decides when a branch ends.
// Branched rollouts: Janner et al., "When to Trust Your Model" (MBPO, 1906.08253), algorithm 2.

import { LRUCache } from 'lru-cache';
import { Packr } from 'msgpackr';
import type { Awaitable } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { Acting, type Policy, type PolicyAction, type PolicySnapshot } from '../../core/policy.js';
import { moved, poolTask, unshareBytes } from '../../core/pool-task.js';
import { Rng, type RngState } from '../../core/rng.js';
import type { StopFlag } from '../../core/threads.js';
import { allocateBatch, pickRows } from '../../replay/columns.js';
import type { ModelPlace, VectorDynamics, WholeRolloutAnswer, WorldModelSnapshot } from '../../worldmodel/dynamics.js';
import { isWithin } from '../../worldmodel/seen-range.js';
import { encodeRecord, payloadOf } from '../journal.js';
import {
  type ChunkTask,
  checkActions,
  checkPrediction,
  checkStarts,
  type RolloutChunk,
  type RolloutCounts,
  type VectorImagined,
} from './plan.js';

/**
 * Runs `task` and answers its rows, or undefined if `isStopped` said so between two steps.
 * Step t draws the policy's noise from `rng.split('act', t)` and the model's from `rng.split('model', t)`.
 * Throws NON_FINITE_VALUE, SETTING_INVALID.
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
  const options = {
    propagation: settings.propagation,
    disagreement: settings.disagreementLimit !== undefined,
  };
  let branch: Uint32Array = Uint32Array.from({ length: task.parent.length }, (_, row) => row);
  let obs: Float32Array = task.starts;
  const acting = new Acting(policy, branch.length);
  let carry = await model.begin(obs, rng.split('begin'));
  for (let step = 0; step < settings.horizon && branch.length > 0; step++) {
    if (await isStopped?.()) return undefined;
    const rows = branch.length;
    const acted = await acting.act(obs, rng.split('act', step));
    checkActions(model, acted, rows);
    const imagined = await model.imagine(carry, acted.action, rng.split('model', step), options);
    checkPrediction(imagined, { rows, obsDim, step, episodeOf: (row) => task.firstEpisode + branch[row] });
    const verdict = judge(imagined, rows, step, task, model.backend);
    // Policies may hand out buffers that they write again at their next call.
    const own = { action: acted.action.slice(), logProb: acted.logProb?.slice() };
    recorder.record({ branch, obs, acted: own, imagined, verdict });
    const running = Uint32Array.from(branch.keys()).filter((row) => verdict[row] === VERDICT.goesOn);
    if (running.length === rows) {
      carry = imagined.carry;
      obs = imagined.observation;
      continue;
    }
    acting.keep(running);
    carry = model.pick(imagined.carry, running);
    obs = pickRows(imagined.observation, obsDim, running);
    branch = running.map((row) => branch[row]);
  }
  return cutAtRange(recorder.finish(), settings);
}

/** What a step means for a row's branch; a row whose prediction is doubted is not kept (MACURA, 2405.19014). */
const VERDICT = { goesOn: 0, terminated: 1, outOfHorizon: 2, dropped: 3 } as const;

/** How each row ends here, if it does. Doubt goes first: where the model is not believed, neither is the end it predicts. */
function judge(
  { disagreement, terminated }: VectorImagined,
  rows: number,
  step: number,
  { settings }: ChunkTask,
  backend: string,
): Uint8Array {
  const { disagreementLimit: limit, horizon } = settings;
  if (disagreement === undefined && limit !== undefined) {
    throw reverieError('SETTING_INVALID', {
      problem: `World model "${backend}" gives no disagreement, and this rollout has a limit of it.`,
      hint: 'Use an ensemble, or leave out disagreementLimit.',
    });
  }
  const otherwise = step + 1 === horizon ? VERDICT.outOfHorizon : VERDICT.goesOn;
  const verdict = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    if (limit !== undefined && !(disagreement![row] <= limit)) verdict[row] = VERDICT.dropped;
    else verdict[row] = terminated[row] ? VERDICT.terminated : otherwise;
  }
  return verdict;
}

/** One step of all running branches; arrays have one entry or row per running branch. */
interface StepRecord {
  readonly branch: Uint32Array;
  readonly obs: Float32Array;
  readonly acted: PolicyAction;
  readonly imagined: VectorImagined;
  readonly verdict: Uint8Array;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Keeps what the steps of a chunk gave, and at the end lays it out branch after branch, as a reader of episodes wants it. */
class ChunkRecorder {
  private readonly steps: StepRecord[] = [];
  private readonly lengths: Uint32Array;
  private readonly counts: Mutable<RolloutCounts>;

  constructor(private readonly task: ChunkTask) {
    const episodes = task.parent.length;
    this.lengths = new Uint32Array(episodes);
    this.counts = { episodes, rows: 0, terminated: 0, outOfHorizon: 0, doubted: 0 };
  }

  /** Takes over the arrays of `record`. */
  record(record: StepRecord): void {
    this.steps.push(record);
    const { counts } = this;
    record.verdict.forEach((verdict, row) => {
      if (verdict === VERDICT.terminated) counts.terminated++;
      else if (verdict === VERDICT.outOfHorizon) counts.outOfHorizon++;
      else if (verdict === VERDICT.dropped) counts.doubted++;
      if (verdict !== VERDICT.dropped) this.lengths[record.branch[row]]++;
    });
  }

  finish(): RolloutChunk {
    /** Row at which each branch begins, and at the end the number of rows. */
    const offsets = new Uint32Array(this.lengths.length + 1);
    this.lengths.forEach((length, branch) => {
      offsets[branch + 1] = offsets[branch] + length;
    });
    const chunk = this.allocate(offsets[offsets.length - 1]);
    for (let step = 0; step < this.steps.length; step++) this.lay(chunk, this.steps[step], step, offsets);
    return chunk;
  }

  private allocate(rows: number): RolloutChunk {
    const { obsDim, index } = this.task;
    const first = this.steps.at(0);
    const actionDim = first === undefined ? 0 : first.acted.action.length / first.branch.length;
    return {
      index,
      ...allocateBatch(rows, obsDim, actionDim),
      episode: new Float64Array(rows),
      step: new Uint32Array(rows),
      parent: new Float64Array(rows),
      ...(first?.imagined.disagreement && { confidence: new Float32Array(rows) }),
      ...(first?.acted.logProb && { logProb: new Float32Array(rows) }),
      counts: { ...this.counts, rows },
    };
  }

  private lay(chunk: RolloutChunk, record: StepRecord, step: number, offsets: Uint32Array): void {
    const { obsDim, firstEpisode, parent } = this.task;
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
      chunk.truncated[to] = verdict[row] === VERDICT.outOfHorizon ? 1 : 0;
      chunk.episode[to] = firstEpisode + branch;
      chunk.step[to] = step;
      chunk.parent[to] = parent[branch];
      if (chunk.confidence) chunk.confidence[to] = 1 / (1 + imagined.disagreement![row]);
      if (chunk.logProb) chunk.logProb[to] = acted.logProb![row];
    }
  }
}

function copyRow(from: Float32Array, fromRow: number, to: Float32Array, toRow: number, dim: number): void {
  const [source, target] = [fromRow * dim, toRow * dim];
  for (let k = 0; k < dim; k++) to[target + k] = from[source + k];
}

/**
 * The rows of `task`, run at once; undefined where it has to be run step by step: because model or policy cannot do otherwise, or
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
    propagation: settings.propagation,
    disagreementLimit: settings.disagreementLimit,
    actRng: (step) => rng.split('act', step),
    modelRng: (step) => rng.split('model', step),
  });
  if (answer === undefined || answer.nonFinite > 0) return undefined;
  return cutAtRange(chunkOf(answer, task), settings);
}

function chunkOf(answer: WholeRolloutAnswer, { index, parent, firstEpisode }: ChunkTask): RolloutChunk {
  const { rows, branch, step, disagreement, ended, logProb } = answer;
  const { obs, action, reward, terminated, truncated, nextObs } = answer;
  // A loop: `Float64Array.from` makes a list of numbers on the heap first, which the garbage collector then looks after.
  const ofBranch = (read: (branch: number) => number) => {
    const column = new Float64Array(rows);
    for (let row = 0; row < rows; row++) column[row] = read(branch[row]);
    return column;
  };
  return {
    ...{ index, rows, step, obs, action, reward, terminated, truncated, nextObs },
    episode: ofBranch((one) => firstEpisode + one),
    parent: ofBranch((one) => parent[one]),
    ...(disagreement && { confidence: disagreement.map((one) => 1 / (1 + one)) }),
    ...(logProb && { logProb }),
    counts: { episodes: parent.length, rows, ...ended },
  };
}

/**
 * The rows before each branch leaves the range, so that a model that runs off takes no learner along; the last of a branch that is
 * cut is truncated. The same object where none is.
 */
export function cutAtRange(chunk: RolloutChunk, { horizon, range }: ChunkTask['settings']): RolloutChunk {
  if (range === undefined) return chunk;
  const { episode, step, terminated, counts } = chunk;
  const kept: number[] = [];
  const truncated = chunk.truncated.slice();
  // Of the branches that are cut: how they would have ended otherwise, but by doubt.
  let [over, ended, expired] = [Number.NaN, 0, 0];
  for (let row = 0; row < chunk.rows; row++) {
    const isOver = episode[row] === over;
    if (!isOver && isWithin(chunk.nextObs, row, range)) {
      kept.push(row);
      continue;
    }
    if (terminated[row]) ended++;
    else if (step[row] + 1 === horizon) expired++;
    if (isOver) continue;
    over = episode[row];
    if (row > 0 && episode[row - 1] === over) truncated[row - 1] = 1;
  }
  if (kept.length === chunk.rows) return chunk;
  const rows = Uint32Array.from(kept);
  const picked = Object.entries<unknown>({ ...chunk, truncated }).flatMap(([name, value]) => {
    const column = ArrayBuffer.isView(value) ? (value as Float32Array) : undefined;
    return column ? [[name, pickRows(column, column.length / chunk.rows, rows)] as const] : [];
  });
  return {
    ...{ ...chunk, ...Object.fromEntries(picked), rows: rows.length },
    counts: {
      ...counts,
      rows: rows.length,
      terminated: counts.terminated - ended,
      outOfHorizon: counts.outOfHorizon - expired,
      doubted: counts.doubted + ended + expired,
    },
  };
}

/** A pool serves one training run, or a few that take turns. */
const KEPT_VERSIONS = 3;

interface ModelLoaderModule {
  loadWorldModel(snapshot: WorldModelSnapshot, place: ModelPlace): Promise<VectorDynamics>;
}

interface PolicyLoaderModule {
  loadPolicy(payload: unknown): Promise<Policy>;
}

/** Models and policies made from their snapshots in this thread, once per version; the last few are kept. */
export class Restored {
  private readonly models = new LRUCache<string, Promise<VectorDynamics>>({
    max: KEPT_VERSIONS,
    dispose: (model) => {
      // One that could not be made has told so already.
      const closed = model.then(
        (old) => old.close(),
        () => {},
      );
      this.closing.push(closed);
    },
  });
  private readonly policies = new LRUCache<string, Promise<Policy>>({ max: KEPT_VERSIONS });
  private readonly closing: Promise<void>[] = [];

  /** `loader`: URL of a module with a `loadWorldModel`; the world-model room if left out. */
  model(snapshot: WorldModelSnapshot, loader?: string, place: ModelPlace = {}): Promise<VectorDynamics> {
    return remember(this.models, `${loader ?? ''} ${snapshot.modelVersion}`, async () => {
      const module: ModelLoaderModule = loader ? await import(loader) : await import('../../worldmodel/kinds.js');
      return module.loadWorldModel(unshareBytes(snapshot), place);
    });
  }

  policy(snapshot: PolicySnapshot): Promise<Policy> {
    return remember(this.policies, `${snapshot.loader} ${snapshot.version}`, async () => {
      const module: PolicyLoaderModule = await import(snapshot.loader);
      return module.loadPolicy(unshareBytes(snapshot.payload));
    });
  }

  async close(): Promise<void> {
    this.models.clear();
    this.policies.clear();
    await Promise.all(this.closing.splice(0));
  }
}

/** The value of `key`, made if need be. A failure is not remembered. */
async function remember<T extends object>(
  kept: LRUCache<string, Promise<T>>,
  key: string,
  make: () => Promise<T>,
): Promise<T> {
  const value = kept.get(key) ?? make();
  kept.set(key, value);
  try {
    return await value;
  } catch (error) {
    kept.delete(key);
    throw error;
  }
}

export interface ChunkInput {
  /** Bytes inside are shared, see src/core/pool-task.ts. */
  readonly model: WorldModelSnapshot;
  readonly policy: PolicySnapshot;
  /** Module that makes the model; the world-model room if left out. */
  readonly modelLoader?: string;
  readonly task: ChunkTask;
  readonly rng: RngState;
}

/** A chunk as the record that a journal keeps. */
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

const restored = new Restored();

/** In a thread: what `made` makes of the chunk; undefined if it was stopped between two steps. */
async function inThread<T>(
  input: ChunkInput,
  stop: StopFlag,
  made: (chunk: RolloutChunk) => T,
): Promise<T | undefined> {
  const model = await restored.model(input.model, input.modelLoader);
  const policy = await restored.policy(input.policy);
  const isStopped = () => Atomics.load(stop, 0) !== 0;
  const chunk = await rolloutChunk(model, policy, input.task, Rng.fromState(input.rng), isStopped);
  return chunk && moved(made(chunk));
}

export const chunkTask = poolTask(import.meta.url, 'chunkTask', (input: ChunkInput, { stop }) =>
  inThread(input, stop, (chunk) => chunk),
);

export const chunkRecordTask = poolTask(import.meta.url, 'chunkRecordTask', (input: ChunkInput, { stop }) =>
  inThread(input, stop, packChunk),
);
