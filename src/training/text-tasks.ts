// Which tasks a round is run on: all in turn, or, as they grow, more of those that the policy of the moment neither always wins nor
// always loses. After UI-Simulator-Grow (arXiv 2510.14969), which takes the tasks whose loss lies between the 25th and the 75th percentile
// and makes variants of them: here the loss is the share of episodes lost, and the variants of a task are the others of its family.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';

/** Absent in a training that takes all tasks in turn. */
export interface Grow {
  /** Least and largest share of lost episodes of a family that is taken more often. */
  readonly band: readonly [number, number];
  /** Share of the tasks of a round that are taken in turn all the same: what was learned is not forgotten, what was lost is tried again. */
  readonly replay: number;
  /** Last episodes of a family that its share of lost ones is taken of. */
  readonly window: number;
}

/** By family of tasks. */
export type Grown = Record<
  string,
  {
    /** The last episodes, the newest last: 1 won, 0 not. */
    readonly outcomes: readonly number[];
    /** Tasks of it that were taken. */
    readonly taken: number;
  }
>;

/** Fewer episodes say nothing of a family: it is taken as if within the band. */
const FEWEST = 4;

interface TaskDraw {
  readonly tasks: readonly ToolsTask[];
  readonly round: number;
  readonly tasksPerRound: number;
  readonly seed: number;
  readonly grow?: Grow;
  readonly grown: Grown;
}

/** Tasks of a round. Without `grow`, all once in an order of their own before any comes again. */
export function tasksOfRound({ tasks, round, tasksPerRound, seed, grow, grown }: TaskDraw): ToolsTask[] {
  const families = grow === undefined ? [] : familiesWithin(tasks, grow, grown);
  const inTurn = families.length === 0 ? tasksPerRound : Math.round((grow?.replay ?? 1) * tasksPerRound);
  const replayed = Array.from({ length: inTurn }, (_, i) => taskInTurn(tasks, round * inTurn + i, seed, 'text-tasks'));
  const rng = Rng.fromSeed(seed).split('grow', round);
  const taken = new Map<string, number>();
  const chosen = Array.from({ length: tasksPerRound - inTurn }, () => {
    const family = families[rng.int(families.length)];
    const turn = (grown[family]?.taken ?? 0) + (taken.get(family) ?? 0);
    taken.set(family, (taken.get(family) ?? 0) + 1);
    const own = tasks.filter((task) => task.family === family);
    return taskInTurn(own, turn, seed, `grow ${family}`);
  });
  return [...replayed, ...chosen];
}

/** Families of which as many episodes are lost as the band says, and those of which little is known. */
export function familiesWithin(
  tasks: readonly ToolsTask[],
  { band: [least, most] }: Pick<Grow, 'band'>,
  grown: Grown,
): string[] {
  return [...new Set(tasks.map(({ family }) => family))].filter((family) => {
    const { outcomes = [] } = grown[family] ?? {};
    const lost = 1 - outcomes.reduce((sum, won) => sum + won, 0) / outcomes.length;
    return outcomes.length < FEWEST || (lost >= least && lost <= most);
  });
}

/**
 * What is known once a round was run: in place.
 * @param won  of each task, the outcomes of its episodes
 */
export function countGrown(
  grown: Grown,
  { window }: Pick<Grow, 'window'>,
  drawn: readonly ToolsTask[],
  won: readonly number[][],
): void {
  for (const [i, { family }] of drawn.entries()) {
    const { outcomes, taken } = grown[family] ?? { outcomes: [], taken: 0 };
    grown[family] = { outcomes: [...outcomes, ...won[i]].slice(-window), taken: taken + 1 };
  }
}

function taskInTurn(tasks: readonly ToolsTask[], turn: number, seed: number, name: string): ToolsTask {
  const lap = Math.floor(turn / tasks.length);
  const order = Rng.fromSeed(seed).split(name, lap).permutation(tasks.length);
  return tasks[order[turn % tasks.length]];
}
