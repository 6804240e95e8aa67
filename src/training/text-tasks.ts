// Which tasks a round is run on: all in turn, or, as they grow, more of those that the policy of the moment neither always wins nor
// always loses. After UI-Simulator-Grow (arXiv 2510.14969), which takes the tasks whose loss lies between the 25th and the 75th percentile
// and makes variants of them: here the loss is the share of episodes lost, and the variants of a task are the others of its family. With
// deficits, more of those families are taken that need what lost episodes lack. Or, by variance, all are taken, each as often as
// DreamGym's curriculum says (2511.03773), whose score is that of `synth.pick: curriculum`.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';
import { type DeficitName, deficitParts } from '../synth/signals/deficits.js';
import { outcomeVariance } from '../synth/tasks/curriculum.js';
import { type PlayedText, saidIn, type TextStep } from './text-play.js';

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
interface GrownFamily {
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

// Deficits: what the agent cannot do yet, from the episodes of its own rounds, and which tasks need it (TRACE: episodes that were won are
// compared with those that were lost to find the capabilities that are lacking, and tasks that need them are trained on). Episodes of a
// group begin alike, so one that was won shows what the others should have done: no solution is asked for. Deficits have the names of
// `synth/signals`.

/** What is remembered of an episode. */
export interface LivedText {
  readonly won: boolean;
  /** Kinds of the actions that were carried out, each once, in the order of the alphabet. */
  readonly did: readonly string[];
  /** Of one that was lost. */
  readonly lostBy?: DeficitName;
}

/** By family, the last episodes, the newest last. */
type LivedFamilies = Readonly<Record<string, readonly LivedText[]>>;

/** Times that the same is done where all looks the same. */
const LOOP_ROUNDS = 3;

/** Episodes that began alike. @param outcomes  of each, 1 won, 0 not @param before  earlier ones of the family */
export function livedTexts(
  group: readonly PlayedText[],
  outcomes: readonly number[],
  before: readonly LivedText[],
): LivedText[] {
  const models = group.filter((_, i) => outcomes[i] === 1);
  const needed = inAll([...before.filter(({ won }) => won).map(({ did }) => did), ...models.map(kindsOf)]);
  return group.map((episode) => {
    const did = kindsOf(episode);
    if (models.includes(episode)) return { won: true, did };
    return { won: false, did, lostBy: lostBy(episode, models, needed) };
  });
}

/** @param needed  kinds of action without which the family was never won */
function lostBy(episode: PlayedText, models: readonly PlayedText[], needed: readonly string[]): DeficitName {
  if (goesInCircles(episode)) return 'loop';
  const [nearest] = [...models].sort((a, b) => distance(a, episode) - distance(b, episode));
  if (nearest !== undefined) return besideModel(episode, nearest);
  const last = episode.steps.at(-1);
  if (last === undefined || episode.truncated) return 'cut-off';
  const did = kindsOf(episode);
  const missing = needed.find((kind) => !did.includes(kind));
  return missing === undefined ? `wrong-argument ${last.kind}` : `left-out ${missing}`;
}

/** The first action of the model that the episode lacks, done with something else or not at all; else what it did beside. */
function besideModel(episode: PlayedText, model: PlayedText): DeficitName {
  const [lacking] = notIn(model, episode);
  const beside = notIn(episode, model);
  if (lacking === undefined) return `unwanted ${(beside[0] ?? episode.steps.at(-1)).kind}`;
  const isWrong = beside.some(({ kind }) => kind === lacking.kind);
  return `${isWrong ? 'wrong-argument' : 'left-out'} ${lacking.kind}`;
}

/** Actions that only one of them did. */
function distance(a: PlayedText, b: PlayedText): number {
  return notIn(a, b).length + notIn(b, a).length;
}

/** Steps of the first whose line the second did not say, each as often as it is said. */
function notIn({ steps }: PlayedText, other: PlayedText): TextStep[] {
  const said = other.steps.map(saidIn);
  return steps.filter((step) => {
    const at = said.indexOf(saidIn(step));
    if (at >= 0) said.splice(at, 1);
    return at < 0;
  });
}

function goesInCircles({ steps }: PlayedText): boolean {
  const times = new Map<string, number>();
  for (const step of steps) {
    const key = `${saidIn(step)}\n${step.situation.text}`;
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  return Math.max(0, ...times.values()) >= LOOP_ROUNDS;
}

function kindsOf({ steps }: PlayedText): string[] {
  const done = steps.filter(({ info }) => info.predictions.every(({ isError }) => !isError));
  return [...new Set(done.map(({ kind }) => kind))].sort();
}

function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...rest] = lists;
  return first.filter((kind) => rest.every((list) => list.includes(kind)));
}

/** Of the episodes that need what a deficit is about, the share that it lost: most first. All need to end, and not to go in circles. */
export function deficitsOf(families: LivedFamilies): [DeficitName, number][] {
  const lived = Object.values(families);
  const names = [...new Set(lived.flat().flatMap((one) => one.lostBy ?? []))];
  const shares = names.map((name): [DeficitName, number] => {
    const isOfAll = deficitParts(name).about === '';
    const lost = lived.flat().filter((one) => one.lostBy === name).length;
    const needing = lived.map((episodes) => episodes.length * (isOfAll ? 1 : needOf(name, episodes)));
    return [name, lost / needing.reduce((sum, count) => sum + count, 0)];
  });
  return shares.sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}

/** How much each family needs what is lacking; those of which nothing is known as much as the others do on average. */
export function needsOf(names: readonly string[], families: LivedFamilies): number[] {
  const deficits = deficitsOf(families);
  const needs = names.map((name) => {
    const episodes = families[name] ?? [];
    if (episodes.length === 0) return undefined;
    return deficits.reduce((sum, [deficit, share]) => sum + share * needOf(deficit, episodes), 0);
  });
  const known = needs.filter((need) => need !== undefined);
  const total = known.reduce((sum, need) => sum + need, 0);
  // Where nothing is lacking, all alike.
  return needs.map((need) => (total === 0 ? 1 : (need ?? total / known.length)));
}

/** Share of the episodes of a family in which what a deficit is about was needed: of those won, or lost by it. */
function needOf(name: DeficitName, episodes: readonly LivedText[]): number {
  const { about } = deficitParts(name);
  const won = episodes.filter((one) => one.won);
  const did = won.filter((one) => one.did.includes(about)).length;
  const lost = episodes.filter((one) => one.lostBy === name).length;
  return Math.max(won.length === 0 ? 0 : did / won.length, lost / episodes.length);
}
