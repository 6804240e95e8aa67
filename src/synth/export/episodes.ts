// Transitions put together to episodes again, checked to be unbroken: formats of episodes keep each observation once.

import { reverieError } from '../../errors.js';
import type { TransitionTable } from './table.js';

/** Rows of a table that are one episode, steps ascending without a gap. */
export type EpisodeRows = readonly number[];

/**
 * The episodes of a table, in the order in which they begin. An episode may lack its beginning (a ring forgets) or its end.
 * Throws EXPORT_INVALID for one with a step missing or twice, or where an observation is not the one before led to.
 */
export function episodesOf(table: TransitionTable): EpisodeRows[] {
  const episodes = new Map<number, number[]>();
  const steps = new Uint32Array(table.rows);
  for (let row = 0; row < table.rows; row++) {
    const { episode, step } = table.provenanceOf(row);
    steps[row] = step;
    const rows = episodes.get(episode);
    if (rows) rows.push(row);
    else episodes.set(episode, [row]);
  }
  for (const [episode, rows] of episodes) {
    rows.sort((a, b) => steps[a] - steps[b]);
    for (let i = 1; i < rows.length; i++) {
      if (steps[rows[i]] !== steps[rows[i - 1]] + 1)
        broken(episode, `step ${steps[rows[i]]} follows step ${steps[rows[i - 1]]}`);
      if (!isContinued(table, rows[i - 1], rows[i]))
        broken(episode, `step ${steps[rows[i]]} begins elsewhere than the step before it ended`);
    }
  }
  return [...episodes.values()];
}

function isContinued({ batch, obsDim, indexOf }: TransitionTable, before: number, after: number): boolean {
  const from = indexOf(before) * obsDim;
  const to = indexOf(after) * obsDim;
  for (let k = 0; k < obsDim; k++) if (batch.nextObs[from + k] !== batch.obs[to + k]) return false;
  return true;
}

function broken(episode: number, problem: string): never {
  throw reverieError('EXPORT_INVALID', {
    problem: `in episode ${episode}, ${problem}.`,
    hint: 'Give each episode a number of its own within a run, or export plain transitions, which need no episodes.',
  });
}
