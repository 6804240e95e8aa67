// Simulations from recorded states under the actions that were really taken.

import type { ImagineOptions } from '../../core/dynamics.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import type { Forecast } from '../../worldmodel/dynamics.js';
import type { SectionId } from '../report.js';
import { CHUNK_ROWS, chunkRange, chunkRng, type Judged, stepsFrom, type Units, widths } from './ground.js';

/** Where a simulation begins, and the number of recorded actions. */
export interface Beginning {
  readonly row: number;
  readonly steps: number;
}

/** What was simulated from one beginning. */
interface Track {
  /** Simulated steps: fewer than asked where it left all bounds or ended for good. */
  readonly length: number;
  /** [steps, obsDim]: what followed each step. */
  readonly nextObs: Float32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
}

/** Standard deviations of an element beyond which a simulation is given up: there is nothing left to measure. */
const OUT_OF_BOUNDS = 1e6;

export function beginningsOf({ ground: { truth, plan } }: Judged): readonly Beginning[] {
  return truth.starts.map((row) => ({ row, steps: stepsFrom(truth, row, plan.horizon) }));
}

/** Beginnings in their units: those of one stretch of an episode share what happened. */
export function unitsOfBeginnings({ ground }: Judged, beginnings: readonly Beginning[]): Units {
  const { count, of } = ground.units;
  return { count, of: Uint32Array.from(beginnings, ({ row }) => of[row]) };
}

interface MutableTrack extends Track {
  length: number;
}

/** Simulations from each beginning under the recorded actions. The model continues where it says the episode ended. */
export async function openLoop(
  { ground, subject: { model } }: Judged,
  beginnings: readonly Beginning[],
  rng: Rng,
  step: ImagineOptions,
): Promise<readonly Track[]> {
  const { truth, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  const tracks = beginnings.map(({ steps }): MutableTrack => {
    const nextObs = new Float32Array(steps * obsDim);
    return { length: 0, nextObs, reward: new Float32Array(steps), terminated: new Uint8Array(steps) };
  });
  const starts = beginnings.map(({ row }) => truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim));
  let carry = await model.begin(joinedFloats(starts), rng.split('begin'));
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
      if (next.some((value, j) => Math.abs(value) > OUT_OF_BOUNDS * scales.state[j])) return;
      const track = tracks[i];
      track.nextObs.set(next, t * obsDim);
      track.reward[t] = said.reward[k];
      track.terminated[t] = said.terminated[k];
      track.length = t + 1;
    });
  }
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
