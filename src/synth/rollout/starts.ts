// Where branched rollouts start: at random rows of the real buffer, each with what was lived before it.

import { Rng } from '../../core/rng.js';
import type { ReplayBuffer } from '../../replay/index.js';
import { batchOfStarts, type Start } from '../../worldmodel/index.js';
import type { StartSource, Starts } from './request.js';

/**
 * `rows` random real states, drawn with replacement, with the row ids they have in the buffer.
 * @param context  steps of history to take, as far as the buffer holds them; what the world model says of itself
 */
export function drawStarts(
  real: ReplayBuffer,
  rows: number,
  rng: Rng,
  context: number,
): Starts & { readonly startIds: Float64Array } {
  const drawn = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) drawn[row] = rng.int(real.size);
  return startsAt(real, drawn, context);
}

/** What `drawStarts` draws, each when it is asked for: start n takes the n-th draw of `rng`, which is not advanced. */
export function drawnStarts(real: ReplayBuffer, rows: number, rng: Rng, context: number): StartSource {
  const { key, position } = rng.state();
  const drawOf = (row: number) => Rng.fromState({ key, position: position + row }).int(real.size);
  return { rows, obsDim: real.obsDim, take: (taken) => startsAt(real, taken.map(drawOf), context) };
}

function startsAt(real: ReplayBuffer, rows: Uint32Array, context: number) {
  const { obsDim, actionDim } = real;
  const { obs } = real.columns();
  const starts = new Float32Array(rows.length * obsDim);
  for (let to = 0; to < rows.length; to++) {
    starts.set(obs.subarray(rows[to] * obsDim, (rows[to] + 1) * obsDim), to * obsDim);
  }
  const startIds = Float64Array.from(rows, (row) => real.rowId(row));
  if (context === 0) return { starts, startIds };
  const led = Array.from(rows, (row) => startAt(real, row, context));
  return { starts, startIds, history: batchOfStarts(led, { obsDim, actionDim }).history };
}

/** The state of a row, and at most `context` steps of its episode that led to it. */
export function startAt(real: ReplayBuffer, index: number, context: number): Start {
  const { obsDim } = real;
  const columns = real.columns();
  const observation = columns.obs.slice(index * obsDim, (index + 1) * obsDim);
  const before: number[] = [];
  for (let at = index; before.length < context; ) {
    const previous = (at - 1 + real.size) % real.size;
    // In a full ring the newest row lies before the oldest one, whose own predecessor was overwritten.
    const isBefore =
      real.rowId(previous) === real.rowId(at) - 1 &&
      columns.episode[previous] === columns.episode[at] &&
      columns.step[previous] === columns.step[at] - 1;
    if (!isBefore) break;
    before.unshift(previous);
    at = previous;
  }
  if (before.length === 0) return { observation };
  const rows = Uint32Array.from(before);
  const { obs, action } = real.gather(rows);
  return { observation, history: { obs, action } };
}
