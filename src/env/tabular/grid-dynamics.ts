// The tables of a gridworld drawn as text: where each move leads, with what probability, and what it earns.

import { reverieError } from '../../core/errors.js';
import type { TabularDynamics } from './tabular-dynamics.js';

export interface GridOptions {
  /** Rows of equal length: S start, . free, # wall, G goal (+1, ends), H hole (−1, ends). */
  readonly map: readonly string[];
  /** Probability that a move goes to one of the two sides instead, half each. */
  readonly slip: number;
  /** Earned by every step, besides goal and hole. */
  readonly stepReward: number;
}

export const DEFAULT_GRID: GridOptions = { map: ['S...', '.#.H', '...G'], slip: 0, stepReward: -0.04 };

/** Actions 0 up, 1 right, 2 down, 3 left. */
const MOVES = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
] as const;
const ENTERED: Readonly<Record<string, number>> = { G: 1, H: -1 };

/** Exact dynamics; a state is row * width + column of the map, walls included (they are never reached). */
export function gridDynamics({ map, slip, stepReward }: GridOptions): TabularDynamics {
  checkMap(map);
  const cells = map.join('');
  const states = cells.length;
  const actions = MOVES.length;
  const transition = new Float64Array(states * actions * states);
  const reward = new Float64Array(states * actions * states);
  const terminal = Uint8Array.from(cells, (cell) => Number(cell in ENTERED));
  for (let state = 0; state < states; state++) {
    for (let action = 0; action < actions; action++) {
      const row = (state * actions + action) * states;
      if (terminal[state]) {
        transition[row + state] = 1;
        continue;
      }
      for (const [turn, probability] of [
        [0, 1 - slip],
        [1, slip / 2],
        [3, slip / 2],
      ]) {
        const next = destination(map, state, (action + turn) % actions);
        transition[row + next] += probability;
        reward[row + next] = stepReward + (ENTERED[cells[next]] ?? 0);
      }
    }
  }
  return { states, actions, transition, reward, terminal, start: startOf(cells) };
}

function destination(map: readonly string[], state: number, action: number): number {
  const width = map[0].length;
  const row = Math.floor(state / width) + MOVES[action][0];
  const column = (state % width) + MOVES[action][1];
  const cell = map[row]?.[column];
  return cell === undefined || cell === '#' ? state : row * width + column;
}

function startOf(cells: string): Float64Array {
  const starts = Array.from(cells).filter((cell) => cell === 'S').length;
  return Float64Array.from(cells, (cell) => (cell === 'S' ? 1 / starts : 0));
}

function checkMap(map: readonly string[]): void {
  const wrong = map.join('').match(/[^S.#GH]/);
  if (wrong) throw invalid(`the map has "${wrong[0]}"; cells are S, ., #, G and H`);
  if (!map.join('').includes('S')) throw invalid('the map has no start S');
  if (map.some((row) => row.length !== map[0].length)) throw invalid('the rows of the map differ in length');
}

function invalid(problem: string): Error {
  return reverieError('ENV_SPEC_INVALID', { problem: `gridworld: ${problem}.` });
}
