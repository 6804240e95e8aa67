// Simulations under the actions that were really taken: from recorded states, or, where a model can only be acted in, from the
// starts of episodes that it can start itself.

import type { Carry, ImagineOptions } from '../../core/dynamics.js';
import type { VectorEnvironment } from '../../core/environment.js';
import type { Rng } from '../../core/rng.js';
import type { Forecast, VectorDynamics } from '../../worldmodel/dynamics.js';
import { batchOfStarts, beginFrom, type Start } from '../../worldmodel/starts.js';
import { episodeAt, type Ground, type Judged, stepsFrom, type Units, type VectorTruth, widths } from './ground.js';

/** Where a simulation begins, and the number of recorded actions. */
export interface Beginning {
  readonly row: number;
  readonly steps: number;
  /** Seed of the episode whose first row this is; where the model has to start itself. */
  readonly seed?: number;
}

/** What was simulated from one beginning. */
export interface Track {
  /** Simulated steps: fewer than asked where it left all bounds or ended for good. */
  readonly length: number;
  /** [steps, obsDim]: what followed each step. */
  readonly nextObs: Float32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
}

/** Standard deviations of an element beyond which a simulation is given up: there is nothing left to measure. */
const OUT_OF_BOUNDS = 1e6;

/** Beginnings of open-loop simulations of this model. */
export function beginningsOf({ ground, subject }: Judged): readonly Beginning[] {
  const { truth, plan } = ground;
  const steps = (row: number) => stepsFrom(truth, row, plan.horizon);
  if (subject.model !== undefined) return truth.starts.map((row) => ({ row, steps: steps(row) }));
  const ownStarts = truth.episodes.filter(({ seed }) => seed !== undefined).slice(0, truth.starts.length);
  return ownStarts.map(({ first, seed }) => ({ row: first, steps: steps(first), seed }));
}

/** Beginnings in their units: those of one stretch of an episode share what happened. */
export function unitsOfBeginnings({ ground }: Judged, beginnings: readonly Beginning[]): Units {
  const { count, of } = ground.units;
  return { count, of: Uint32Array.from(beginnings, ({ row }) => of[row]) };
}

/** Simulations from each beginning under the recorded actions. The model goes on where it says the episode ended. */
export async function openLoop(
  { ground, subject }: Judged,
  beginnings: readonly Beginning[],
  rng: Rng,
  step: ImagineOptions,
): Promise<readonly Track[]> {
  if (subject.model !== undefined) return sideBySide(ground, subject.model, beginnings, rng, step);
  const tracks: Track[] = [];
  for (const beginning of beginnings) tracks.push(await trackIn(ground.truth, subject.environment!, beginning));
  return tracks;
}

interface MutableTrack extends Track {
  length: number;
}

async function sideBySide(
  ground: Ground,
  model: VectorDynamics,
  beginnings: readonly Beginning[],
  rng: Rng,
  step: ImagineOptions,
): Promise<readonly Track[]> {
  const { truth } = ground;
  const { obsDim, actionDim } = widths(truth);
  const tracks = beginnings.map(({ steps }) => emptyTrack(steps, obsDim));
  const starts = beginnings.map(({ row }) => recordedStart(truth, row, model.context));
  let carry = await begunAt(model, truth, starts, rng);
  let remembered = tracks.map((_, i) => i);
  for (let t = 0; ; t++) {
    const isActive = (i: number) => tracks[i].length === t && t < beginnings[i].steps;
    const active = remembered.filter(isActive);
    if (active.length === 0) return tracks;
    carry = model.pick(
      carry,
      Uint32Array.from(remembered.keys()).filter((k) => isActive(remembered[k])),
    );
    remembered = active;
    const action = new Float32Array(active.length * actionDim);
    active.forEach((i, k) => {
      const row = beginnings[i].row + t;
      action.set(truth.rows.action.subarray(row * actionDim, (row + 1) * actionDim), k * actionDim);
    });
    const said = await model.imagine(carry, action, rng, step);
    carry = said.carry;
    active.forEach((i, k) => {
      const next = said.observation.subarray(k * obsDim, (k + 1) * obsDim);
      if (isLost(ground, next)) return;
      keep(tracks[i], t, next, said.reward[k], said.terminated[k]);
    });
  }
}

function isLost({ scales }: Ground, obs: Float32Array): boolean {
  return obs.some((value, j) => Math.abs(value) > OUT_OF_BOUNDS * scales.state[j]);
}

async function trackIn(
  truth: VectorTruth,
  open: () => Promise<VectorEnvironment>,
  { row, steps, seed }: Beginning,
): Promise<Track> {
  const { obsDim, actionDim } = widths(truth);
  const track = emptyTrack(steps, obsDim);
  const env = await open();
  try {
    await env.reset({ seed });
    for (let t = 0; t < steps; t++) {
      const at = (row + t) * actionDim;
      const result = await env.step(truth.rows.action.slice(at, at + actionDim));
      keep(track, t, result.observation, result.reward, Number(result.terminated));
      if (result.terminated || result.truncated) break;
    }
    return track;
  } finally {
    await env.close();
  }
}

function emptyTrack(steps: number, obsDim: number): MutableTrack {
  return {
    length: 0,
    nextObs: new Float32Array(steps * obsDim),
    reward: new Float32Array(steps),
    terminated: new Uint8Array(steps),
  };
}

function keep(track: MutableTrack, t: number, next: Float32Array, reward: number, terminated: number): void {
  track.nextObs.set(next, t * next.length);
  track.reward[t] = reward;
  track.terminated[t] = terminated;
  track.length = t + 1;
}

/** A recorded row to simulate from: its observation, and as much as the model can use of what led there. */
export function recordedStart(truth: VectorTruth, row: number, context: number): Start {
  const { obsDim, actionDim } = widths(truth);
  const { obs, action } = truth.rows;
  const from = Math.max(episodeAt(truth, row).first, row - context);
  return {
    observation: obs.subarray(row * obsDim, (row + 1) * obsDim),
    history: {
      obs: obs.subarray(from * obsDim, row * obsDim),
      action: action.subarray(from * actionDim, row * actionDim),
    },
  };
}

/** What `model` remembers at these starts. `rng` is not advanced. */
export function begunAt(model: VectorDynamics, truth: VectorTruth, starts: readonly Start[], rng: Rng): Promise<Carry> {
  const batch = batchOfStarts(starts, widths(truth));
  return beginFrom(model, batch.starts, batch.history, rng.split('begin'));
}

/** The same at recorded rows [first, end). */
export function begunAtRows(
  model: VectorDynamics,
  truth: VectorTruth,
  [first, end]: readonly [number, number],
  rng: Rng,
): Promise<Carry> {
  const starts = Array.from({ length: end - first }, (_, i) => recordedStart(truth, first + i, model.context));
  return begunAt(model, truth, starts, rng);
}

/** The mixture that a forecast makes of one element of one row, in units of `scale`. */
export function elementOf(
  { components, mean, std }: Forecast,
  row: number,
  element: number,
  obsDim: number,
  scale: number,
): { readonly means: number[]; readonly stds: number[] } {
  const rows = mean.length / (components * obsDim);
  const at = (c: number) => (c * rows + row) * obsDim + element;
  return {
    means: Array.from({ length: components }, (_, c) => mean[at(c)] / scale),
    stds: Array.from({ length: components }, (_, c) => std[at(c)] / scale),
  };
}
