// What an agent of text cannot do yet, from the episodes of its own rounds, and which tasks need it (TRACE: what won is set against what
// lost to find the capabilities that are lacking, and tasks that need them are trained on). Episodes of a group begin alike, so one that
// was won shows what the others should have done: nobody's solution is asked for. Deficits have the names of `synth/signals`.

import { type DeficitName, deficitParts } from '../synth/signals/deficits.js';
import { type PlayedText, saidIn, type TextStep } from './text-play.js';

/** What is remembered of an episode. */
export interface LivedText {
  readonly won: boolean;
  /** Kinds of the actions that were carried out, each once, in the order of the alphabet. */
  readonly did: readonly string[];
  /** Of one that was lost. */
  readonly lostBy?: DeficitName;
}

/** By family, the last episodes, the newest last. */
export type LivedFamilies = Readonly<Record<string, readonly LivedText[]>>;

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
