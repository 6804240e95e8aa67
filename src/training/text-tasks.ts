// Which tasks a round is lived on: all in turn, or, as they grow, more of those that the policy of the moment neither always wins nor
// always loses. After UI-Simulator-Grow (arXiv 2510.14969), which takes the tasks whose loss lies between the 25th and the 75th percentile
// and makes variants of them: here the loss is the share of episodes lost, and the variants of a task are the others of its family. With
// deficits, more of those families are taken that need what lost episodes lack (text-deficits.ts). Or, by variance, all are taken, each
// as often as DreamGym's curriculum says (2511.03773), whose score is that of `synth.pick: curriculum`.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';
import { outcomeVariance } from '../synth/tasks/curriculum.js';
import { deficitsOf, type LivedText, livedTexts, needsOf } from './text-deficits.js';
import type { PlayedText } from './text-play.js';

/** Absent in a training that takes all tasks in turn. */
export interface Grow {
  /** Least and largest share of lost episodes of a family that is taken more often. */
  readonly band: readonly [number, number];
  /** Share of the tasks of a round that are taken in turn all the same: what was learned is not forgotten, what was lost is tried again. */
  readonly replay: number;
  /** Last episodes of a family that its share of lost ones is taken of. */
  readonly window: number;
  /**
   * `band`: families within it, alike. `outcomeVariance`: all families, each in proportion to the variance of its outcomes (DreamGym's
   * curriculum, 2511.03773, section 4.3); the band counts for nothing. `band` unless given.
   */
  readonly score?: 'band' | 'outcomeVariance';
  /** Whether, of the families that are taken more often, those come oftener that need what lost episodes lack. */
  readonly deficits?: boolean;
}

/** What was lived of a family of tasks. */
export interface GrownFamily {
  /** The last episodes, the newest last: 1 won, 0 not. */
  readonly outcomes: readonly number[];
  /** Tasks of it that were taken. */
  readonly taken: number;
  /** What these episodes did and lacked, where deficits are looked for. */
  readonly lived?: readonly LivedText[];
}

export type Grown = Record<string, GrownFamily>;

/** Fewer episodes say nothing of a family: it is taken as if within the band. */
const FEWEST = 4;

export interface TaskDraw {
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
  const weights = grow && weightsOf(families, grow, grown);
  const chosen = Array.from({ length: tasksPerRound - inTurn }, () => {
    const family = families[weights === undefined ? rng.int(families.length) : weighted(weights, rng)];
    const turn = (grown[family]?.taken ?? 0) + (taken.get(family) ?? 0);
    taken.set(family, (taken.get(family) ?? 0) + 1);
    return taskInTurn(
      tasks.filter((task) => task.family === family),
      turn,
      seed,
      `grow ${family}`,
    );
  });
  return [...replayed, ...chosen];
}

/** How often each family is taken; undefined: all alike. */
function weightsOf(families: readonly string[], { score, deficits }: Grow, grown: Grown): number[] | undefined {
  const needs = deficits ? needsOf(families, livedOf(grown)) : undefined;
  if (score !== 'outcomeVariance') return needs && [...needs];
  return families.map((family, i) => varianceOf(family, grown) * (needs?.[i] ?? 1));
}

/** Of its last outcomes, as `synth.pick: curriculum` has it. */
function varianceOf(family: string, grown: Grown): number {
  return outcomeVariance(grown[family]?.outcomes ?? []);
}

/**
 * Families of which as many episodes are lost as the band says, and those of which little is known; by variance, those whose outcomes
 * have any, and those likewise.
 */
export function familiesWithin(
  tasks: readonly ToolsTask[],
  { band: [least, most], score: by }: Grow,
  grown: Grown,
): string[] {
  const families = [...new Set(tasks.map(({ family }) => family))];
  if (by === 'outcomeVariance') return families.filter((family) => varianceOf(family, grown) > 0);
  return families.filter((family) => {
    const { outcomes = [] } = grown[family] ?? {};
    const lost = 1 - outcomes.reduce((sum, won) => sum + won, 0) / outcomes.length;
    return outcomes.length < FEWEST || (lost >= least && lost <= most);
  });
}

/**
 * What is known once a round was lived: in place.
 * @param won  of each task, the outcomes of its episodes
 * @param groups  these episodes
 */
export function countGrown(
  grown: Grown,
  { window, deficits }: Grow,
  drawn: readonly ToolsTask[],
  won: readonly number[][],
  groups: readonly (readonly PlayedText[])[],
): void {
  for (const [i, { family }] of drawn.entries()) {
    const { outcomes, taken, lived = [] } = grown[family] ?? { outcomes: [], taken: 0 };
    grown[family] = {
      outcomes: [...outcomes, ...won[i]].slice(-window),
      taken: taken + 1,
      ...(deficits && { lived: [...lived, ...livedTexts(groups[i], won[i], lived)].slice(-window) }),
    };
  }
}

/** What the last episodes of all families lack, and the share of those that need it which it lost: most first. */
export function grownDeficits(grown: Grown): ReturnType<typeof deficitsOf> {
  return deficitsOf(livedOf(grown));
}

function livedOf(grown: Grown): Record<string, readonly LivedText[]> {
  return Object.fromEntries(Object.entries(grown).map(([family, { lived = [] }]) => [family, lived]));
}

/** A place, each as often as its weight says. */
function weighted(weights: readonly number[], rng: Rng): number {
  let left = rng.uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  const at = weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
  return at < 0 ? weights.length - 1 : at;
}

function taskInTurn(tasks: readonly ToolsTask[], turn: number, seed: number, name: string): ToolsTask {
  const lap = Math.floor(turn / tasks.length);
  const order = Rng.fromSeed(seed).split(name, lap).permutation(tasks.length);
  return tasks[order[turn % tasks.length]];
}
