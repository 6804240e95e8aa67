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
  const { obs: starts } = real.take(rows, ['obs']);
  const startIds = Float64Array.from(rows, (row) => real.rowId(row));
  if (context === 0) return { starts, startIds };
  const led = Array.from(rows, (row) => startAt(real, row, context));
  return { starts, startIds, history: batchOfStarts(led, { obsDim, actionDim }).history };
}

/** The state of a row, and at most `context` steps of its episode that led to it. */
export function startAt(real: ReplayBuffer, index: number, context: number): Start {
  const { obs: observation } = real.take(Uint32Array.of(index), ['obs']);
  if (context === 0) return { observation };
  const rows = Uint32Array.from(rowsBefore(real, index, context));
  return rows.length === 0 ? { observation } : { observation, history: real.take(rows, ['obs', 'action']) };
}

/** The rows of an episode that led to one of its rows, at most `most`, in the order they were lived. */
function rowsBefore(real: ReplayBuffer, index: number, most: number): number[] {
  const { size } = real;
  const behind = Uint32Array.from({ length: Math.min(most, size - 1) + 1 }, (_, age) => (index - age + size) % size);
  const { episode, step } = real.take(behind, ['episode', 'step']);
  const before: number[] = [];
  for (let age = 1; age < behind.length; age++) {
    // In a full ring the newest row lies before the oldest one, whose own predecessor was overwritten.
    const isBefore =
      real.rowId(behind[age]) === real.rowId(behind[age - 1]) - 1 &&
      episode[age] === episode[age - 1] &&
      step[age] === step[age - 1] - 1;
    if (!isBefore) break;
    before.unshift(behind[age]);
  }
  return before;
}
