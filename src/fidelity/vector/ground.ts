// What models of numbers are held against: recorded transitions as whole episodes, the units that intervals are made over and
// those of errors. Made once for all models.

import type { Carry } from '../../core/dynamics.js';
import type { VectorEnvironment, VectorSpace } from '../../core/environment.js';
import type { Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import type { EnvSpec } from '../../env/environments.js';
import { rowSize } from '../../env/space-values.js';
import type { Scenario } from '../../kinds/vector.js';
import type { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import type { LoadedLearner } from '../../rl/checkpoint.js';
import type { Learner } from '../../rl/learner.js';
import type { Forecast, Propagation, VectorDynamics } from '../../worldmodel/dynamics.js';
import type { SectionId } from '../report.js';
import type { FidelityInputs, FidelitySetup, Instrument, Sampled, Subject, Value } from '../section.js';
import { bootstrapEstimate, shareEstimate } from '../statistics.js';

/** What judging models of numbers takes of the run that it is part of: where things lie in folders, and who opens them. */
export interface VectorHost {
  /** The folder of an input; undefined where the user gave none. @throws INPUT_MISSING */
  find(inputs: FidelityInputs, name: 'data' | 'model' | 'checkpoint'): string | undefined;
  /** The world model that the scenario itself names. */
  ownModel(scenario: Scenario): string | undefined;
  /** The scenario's environment, with files by their whole path. */
  environment(scenario: Scenario): EnvSpec;
  /** @throws CHECKPOINT_CORRUPT, INPUT_UNFIT */
  records(env: VectorEnvironment, folder: string): Promise<ReplayBuffer>;
  /** @throws CHECKPOINT_CORRUPT, INPUT_UNFIT */
  learner(env: VectorEnvironment, folder: string): Promise<LoadedLearner>;
  /** How a learner of that folder plans in its run's own world model; undefined where it does not. @throws MODEL_FILE_INVALID */
  planner(learner: Learner, folder: string): Promise<{ readonly policy: Policy; close(): Promise<void> } | undefined>;
  /** Learners that a training run kept on the way, the earliest first. */
  keptLearners(run: string): Promise<readonly { readonly realSteps: number; readonly folder: string }[]>;
  /** Folders of transitions that a model was made from, as far as runs say. */
  trainingFolders(model: string): readonly string[];
}

export interface VectorSetup extends FidelitySetup<Scenario> {
  readonly host: VectorHost;
}

/** An unbroken run of rows: each row's next observation is the next row's observation. */
export interface TruthEpisode {
  readonly first: number;
  readonly rows: number;
}

export interface VectorTruth {
  /** Hash of the rows and of where simulations start. */
  readonly version: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  /** Names of the observation's elements, as people read them. */
  readonly elements: readonly string[];
  readonly rows: TransitionBatch;
  /** In the order of their rows; together they are all rows. */
  readonly episodes: readonly TruthEpisode[];
  /** Rows that open-loop simulations begin from. */
  readonly starts: readonly number[];
}

export interface VectorPlan {
  readonly seed: number;
  /** Steps of an open-loop simulation. */
  readonly horizon: number;
  /** In standard deviations: up to here a simulated state counts as right. */
  readonly tolerance: number;
  /** How the model answers where policies act in it. */
  readonly propagation: Propagation;
}

export interface Ground {
  readonly truth: VectorTruth;
  readonly plan: VectorPlan;
  readonly scales: Scales;
  readonly units: Units;
}

export function groundOf(truth: VectorTruth, plan: VectorPlan): Ground {
  return { truth, plan, scales: scalesOf(truth), units: unitsOf(truth) };
}

/** A model under judgement. */
export interface VectorSubjectModel extends Pick<Subject, 'name' | 'kind' | 'version'> {
  readonly model: VectorDynamics;
  /** What each opinion of the model predicts of rows it remembers, the same when asked twice; absent where it says one thing only. */
  readonly forecast?: (carry: Carry, action: Float32Array) => Promise<Forecast>;
  /** What a reader should know of how this model was judged. */
  readonly notes: readonly string[];
}

/** A ground and the model that is held against it. */
export interface Judged {
  readonly ground: Ground;
  readonly subject: VectorSubjectModel;
  /** How it is judged by policies that act in it, where that was asked for. */
  readonly rank?: (subject: VectorSubjectModel) => Instrument;
}

/** Steps of an episode of an environment without a clock. */
export const UNCLOCKED_STEPS = 1000;

/** Rows of a chunk of transitions. */
export const CHUNK_ROWS = 500;

/** The stream of one chunk of one section: the same for every model, so that noise pairs. */
export function chunkRng({ seed }: VectorPlan, section: SectionId, chunk: number): Rng {
  return Rng.fromSeed(seed).split('fidelity', section, 'chunk', chunk);
}

/** The stream that a metric's interval is drawn from. */
export function intervalRng({ seed }: VectorPlan, section: SectionId, key: string): Rng {
  return Rng.fromSeed(seed).split('fidelity', section, 'interval', key);
}

/** First and last (exclusive) of a chunk. */
export function chunkRange(chunk: number, size: number, of: number): readonly [number, number] {
  return [chunk * size, Math.min((chunk + 1) * size, of)];
}

/** Rows from `start` on to the end of its episode, at most `horizon`. */
export function stepsFrom(truth: VectorTruth, start: number, horizon: number): number {
  const { first, rows } = episodeAt(truth, start);
  return Math.min(horizon, first + rows - start);
}

/** The episode that holds a row. */
function episodeAt({ episodes }: VectorTruth, row: number): TruthEpisode {
  return episodes.findLast(({ first }) => first <= row)!;
}

/** Elements of an observation and of an action. */
export function widths({ observationSpace, actionSpace }: Pick<VectorTruth, 'observationSpace' | 'actionSpace'>) {
  return { obsDim: rowSize(observationSpace), actionDim: rowSize(actionSpace) };
}

// Units of errors: how much each element varies, and how much it changes in a step. A discrete state has no
// distances: it is right or wrong.

interface Scales {
  /** Standard deviation of each element's change in one step. */
  readonly change: readonly number[];
  /** Standard deviation of each element. */
  readonly state: readonly number[];
  readonly isDiscrete: boolean;
}

/** Elements that never change are measured in standard deviations of the element, and constant ones as they are. */
function scalesOf(truth: VectorTruth): Scales {
  const { obsDim } = widths(truth);
  const { obs, nextObs, rows } = truth.rows;
  const isDiscrete = truth.observationSpace.type === 'discrete';
  if (isDiscrete) return { change: [1], state: [1], isDiscrete };
  const at = (r: number, j: number) => r * obsDim + j;
  const elements = Array.from({ length: obsDim }, (_, j) => j);
  const state = elements.map((j) => spread(rows, (r) => obs[at(r, j)]) || 1);
  const change = elements.map((j) => spread(rows, (r) => nextObs[at(r, j)] - obs[at(r, j)]) || state[j]);
  return { change, state, isDiscrete };
}

/** Standard deviation; 0 where it is no more than rounding of float32. */
function spread(rows: number, value: (row: number) => number): number {
  let mean = 0;
  let squares = 0;
  let largest = 0;
  for (let r = 0; r < rows; r++) {
    const x = value(r);
    const step = x - mean;
    mean += step / (r + 1);
    squares += step * (x - mean);
    largest = Math.max(largest, Math.abs(x));
  }
  const deviation = Math.sqrt(squares / rows);
  return deviation > 1e-6 * largest ? deviation : 0;
}

/** Difference of two values of an element in units of `scale`; of discrete states 0 or 1. */
export function difference(simulated: number, real: number, scale: number, isDiscrete: boolean): number {
  if (isDiscrete) return simulated === real ? 0 : 1;
  return (simulated - real) / scale;
}

export function meanSquare(errors: readonly number[]): number {
  return errors.reduce((sum, error) => sum + error * error, 0) / errors.length;
}

// Means over rows that resemble their neighbours: intervals come from drawing whole units, never single rows.

/** Rows of a unit at most: neighbours resemble one another, so intervals draw stretches (block bootstrap, Künsch 1989). */
const UNIT_ROWS = 100;

export interface Units {
  readonly count: number;
  /** Unit of each row. */
  readonly of: Uint32Array;
}

/** Stretches of at most 100 rows of one episode, about equally long. */
export function unitsOf({ rows, episodes }: Pick<VectorTruth, 'rows' | 'episodes'>): Units {
  const of = new Uint32Array(rows.rows);
  let count = 0;
  for (const episode of episodes) {
    const parts = Math.ceil(episode.rows / UNIT_ROWS);
    for (let i = 0; i < episode.rows; i++) of[episode.first + i] = count + Math.floor((i * parts) / episode.rows);
    count += parts;
  }
  return { count, of };
}

const asItIs = (mean: number) => mean;

/** `shape` of the mean of all rows, such as the root of a mean of squares. */
export function clusteredMean(values: readonly Value[], units: Units, rng: Rng, shape = asItIs): Sampled {
  return clusteredRatio(
    values,
    values.map(() => 1),
    units,
    rng,
    shape,
  );
}

/** A share of rows. Where all or none are hits, resampling sees no variation: then it is Wilson's, of the units. */
export function clusteredShare(values: readonly (number | boolean | null)[], units: Units, rng: Rng): Sampled {
  const hits = values.map((value) => (value === null ? null : Number(value)));
  const found = clusteredMean(hits, units, rng);
  const { value, n } = found.estimate;
  if (value !== 0 && value !== 1) return found;
  return { ...found, estimate: shareEstimate(value * n, n) };
}

/** Mean of `values` over mean of `others`, over rows that have both, through `shape`. */
export function clusteredRatio(
  values: readonly Value[],
  others: readonly Value[],
  { count, of }: Units,
  rng: Rng,
  shape = asItIs,
): Sampled {
  const sums = Array.from({ length: count }, () => ({ above: 0, below: 0, count: 0 }));
  values.forEach((value, i) => {
    const other = others[i];
    if (value === null || other === null) return;
    const unit = sums[of[i]];
    unit.above += value;
    unit.below += other;
    unit.count++;
  });
  const ratio = (drawn: readonly { readonly above: number; readonly below: number }[]) => {
    let above = 0;
    let below = 0;
    for (const unit of drawn) {
      above += unit.above;
      below += unit.below;
    }
    return below === 0 ? null : shape(above / below);
  };
  const estimate = bootstrapEstimate(
    sums.filter((unit) => unit.count > 0),
    ratio,
    rng,
  );
  return { estimate, samples: sums.map((unit) => (unit.count === 0 ? null : ratio([unit]))) };
}

/** A chunk of recorded transitions: their actions, what the model remembers before them, and the stream of the chunk. */
export async function chunkOfRows({ ground, subject }: Judged, section: SectionId, chunk: number) {
  const { truth, plan } = ground;
  const { obsDim, actionDim } = widths(truth);
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const rng = chunkRng(plan, section, chunk);
  const obs = truth.rows.obs.slice(first * obsDim, end * obsDim);
  return { first, end, action, carry: await subject.model.begin(obs, rng.split('begin')), rng };
}
