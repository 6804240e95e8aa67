// Walkthroughs as somebody would go about them who does not know where things are. A walkthrough knows: who imitates it alone has never
// seen a search that failed, nor what to do next. So demonstrations look into other places first, as long as these hold nothing that the
// goal names, and come back to the walkthrough.

import type { Rng } from '../core/rng.js';
import type { TextSituation } from '../rl/text/text-policy.js';
import { isNumbered, kindOf, tokensOf } from '../rl/text/words.js';
import { type PlayedText, saidIn, type TextEpisode } from './text-play.js';

/** Share of searches that find at once. */
const AT_ONCE = 0.4;

/** Commands between where a walkthrough sets out for something and where it first names it. */
const APPROACH = 2;

/** Verbs by which plain demonstrations showed what a place holds once they had come to it, such as `open`. */
export function revealingVerbs(shown: readonly PlayedText[]): ReadonlySet<string> {
  const verbs = new Set<string>();
  for (const { steps } of shown) {
    steps.forEach((step, i) => {
      const [came, said, next] = [steps[i - 1], step, steps[i + 1]];
      if (came === undefined || next === undefined) return;
      const place = thingsOf(saidIn(said));
      const isSamePlace = place.length === 1 && thingsOf(saidIn(came)).join() === place[0];
      if (isSamePlace && namesUnknown(saidIn(next), said.situation)) verbs.add(verbOf(saidIn(said)));
    });
  }
  return verbs;
}

export interface Search {
  /** Most places that are looked into before the right one. */
  readonly most: number;
  readonly reveals: ReadonlySet<string>;
  readonly rng: Rng;
}

/**
 * Looks into other places, if what `plan` says next is the way to something that was not seen yet.
 * @param plan  the rest of the walkthrough
 * @returns steps that were tried and taken back, as something wanted lay there
 */
export async function lookElsewhere(episode: TextEpisode, plan: readonly string[], search: Search): Promise<number> {
  const named = plan.findIndex((command) => namesUnknown(command, episode.situation));
  if (named < 1 || named > APPROACH) return 0;
  const [way] = plan;
  const { most, rng } = search;
  const places = rng.uniform() < AT_ONCE ? 0 : 1 + rng.int(most);
  for (let i = 0; i < places && !episode.ended; i++) {
    const said = new Set(episode.situation.turns.map((turn) => turn.said));
    const others = episode.situation.admissible.filter(
      (command) => verbOf(command) === verbOf(way) && command !== way && !said.has(command),
    );
    if (others.length === 0) return 0;
    const look = await tried(episode, others[rng.int(others.length)], way, search.reveals);
    if (!look.isVain) return look.commands.length;
    for (const command of look.commands) await say(episode, command);
  }
  return 0;
}

/** What going there and looking would be, and whether it is in vain and leaves the way open; taken back. */
async function tried(
  { environment, situation }: TextEpisode,
  command: string,
  way: string,
  reveals: ReadonlySet<string>,
): Promise<{ commands: string[]; isVain: boolean }> {
  const takeBack = environment.mark();
  try {
    const things = thingsOf(command);
    const commands = [command];
    let { observation, info, terminated, truncated } = await environment.step(command);
    const admissible = () => info.admissible as readonly string[];
    const reveal = admissible().find((line) => reveals.has(verbOf(line)) && thingsOf(line).join() === things.join());
    if (reveal !== undefined && !(terminated || truncated)) {
      commands.push(reveal);
      ({ observation, info, terminated, truncated } = await environment.step(reveal));
    }
    const goal = new Set(tokensOf(situation.goal));
    const isWanted = thingsOf(observation).some((thing) => !things.includes(thing) && goal.has(kindOf(thing)));
    return { commands, isVain: !(isWanted || terminated || truncated) && admissible().includes(way) };
  } finally {
    takeBack();
  }
}

async function say(episode: TextEpisode, command: string): Promise<void> {
  const choice = episode.situation.admissible.indexOf(command);
  await episode.step({ choice, logProb: 0, entropy: 0 });
}

/** Whether the command is about a numbered thing that nothing told of yet. */
function namesUnknown(command: string, { goal, text, turns, admissible }: TextSituation): boolean {
  const things = thingsOf(command);
  if (things.length === 0) return false;
  const told = new Set([goal, text, ...turns.map(({ seen }) => seen), ...admissible].flatMap(tokensOf));
  return things.some((thing) => !told.has(thing));
}

function thingsOf(text: string): string[] {
  return tokensOf(text).filter(isNumbered);
}

function verbOf(command: string): string {
  return tokensOf(command)[0] ?? '';
}
