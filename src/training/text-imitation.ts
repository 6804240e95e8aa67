// The cold start of an agent of text: passes over what walkthroughs say in each situation on their way, run in the real environment. A
// walkthrough knows where things are: an agent that imitates it alone has never seen a search that failed, nor what to do next. So
// demonstrations look into other places first, as long as these hold nothing that the goal names, and come back to the walkthrough.

import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';
import { isNumbered, kindOf, tokensOf } from '../rl/text/relevance.js';
import type { TextLesson, TextSituation } from '../rl/text/text-policy.js';
import { isWon, type PlayedText, playedOrLost, saidIn, TextEpisode } from './text-play.js';
import { evenly, type TextTraining } from './text-training.js';

/** What is to be imitated. */
interface Demonstrated {
  readonly shown: readonly PlayedText[];
  /** Steps that were taken beside those shown. */
  readonly taken: number;
}

/**
 * Runs what is to be imitated, nothing where the settings have no tasks for it: each task by its walkthrough, then, with detours, with
 * searches. @throws what environments throw
 */
export async function demonstrate({ settings, parts, ports }: TextTraining, rng: Rng): Promise<Demonstrated> {
  const { tasks: count, detours = 0 } = settings.clone;
  if (count === 0) return { shown: [], taken: 0 };
  const tasks = evenly(parts.tasks, count);
  const [environment] = parts.environments;
  const searches = detours > 0;
  const phase = ports.phase('walkthroughs', tasks.length * (searches ? 2 : 1), 'tasks');
  const shown: PlayedText[] = [];
  let taken = 0;
  const show = async (task: ToolsTask, search?: Search) => {
    ports.signal.throwIfAborted();
    // What is drawn is drawn again by another try.
    const from = search?.rng.state();
    const again = () => search && { ...search, rng: Rng.fromState(from!) };
    const found = await playedOrLost(() => demonstrated(environment, task, parts.walkthrough(task), again()));
    if ('lost' in found) ports.warn(`The walkthrough of "${task.id}" was lost, and is left out: ${found.lost.message}`);
    else {
      taken += found.played.back;
      shown.push(...found.played.played);
    }
    phase.advance(1);
  };
  for (const task of tasks) await show(task);
  const reveals = revealingVerbs(shown);
  if (searches) {
    for (const [i, task] of tasks.entries()) await show(task, { most: detours, reveals, rng: rng.split('detours', i) });
  }
  phase.end(`${shown.length} walkthroughs`);
  return { shown, taken };
}

/**
 * So many passes over what is to be imitated, each in an order of its own.
 * @throws DOMAIN_UNFIT where nothing can be imitated; what learners throw
 */
export async function imitate(
  { settings: { clone }, parts, progress, ports }: TextTraining,
  { shown, taken }: Demonstrated,
  rng: Rng,
): Promise<void> {
  const lessons = shown.flatMap(({ steps }) =>
    steps.map(({ situation, choice }): TextLesson => ({ situation, choice })),
  );
  if (lessons.length === 0) {
    const problem =
      'none of those chosen for cloning has a reference whose commands can be said (train.cloneTasks=0: no cloning)';
    throw reverieError('DOMAIN_UNFIT', {
      problem: `Domain "${parts.environments[0].tools.domain.id}" has no task to imitate: ${problem}.`,
      hint: 'Name splits that have tasks, in train.splits and train.evalSplits, or give the domain more of them (train.domain).',
    });
  }
  await (parts.values ?? parts.dream)?.remember?.(shown);
  progress.clonedSteps = lessons.length + taken;
  progress.realSteps += progress.clonedSteps;
  const bar = ports.phase('imitate', clone.epochs, 'epochs');
  for (let epoch = 0; epoch < clone.epochs; epoch++) {
    ports.signal.throwIfAborted();
    const order = rng.split(epoch).permutation(lessons.length);
    const metrics = await parts.learner.update(lessons, { lr: clone.lr, order });
    ports.tell({ kind: 'clone', round: 0, epoch, choices: lessons.length, ...metrics });
    bar.advance(1, `loss ${metrics.loss.toFixed(3)}`);
  }
  bar.end();
}

/**
 * The episode of the walkthrough, for as long as its commands can be said; none where there is nothing to imitate, or a search did not end
 * in a win. `back`: steps taken back.
 */
async function demonstrated(
  environment: LineEnvironment,
  task: ToolsTask,
  plan: readonly string[],
  search?: Search,
): Promise<{ played: PlayedText[]; back: number }> {
  const episode = await TextEpisode.begin(environment, { task: task.id, seed: 0 });
  let back = 0;
  for (let step = 0; !episode.ended && step < plan.length; step++) {
    if (search !== undefined) back += await lookElsewhere(episode, plan.slice(step), search);
    if (episode.ended || !(await said(episode, plan[step]))) break;
    // Repeats a command that a fault prevented.
    for (let again = 0; again < MOST_AGAIN && !episode.ended && wasLost(episode); again++)
      await said(episode, plan[step]);
  }
  const played = episode.played();
  const isExample = played.steps.length > 0 && (search === undefined || (episode.ended && isWon(played)));
  return { played: isExample ? [played] : [], back: isExample ? back : back + played.steps.length };
}

const MOST_AGAIN = 6;

function wasLost(episode: TextEpisode): boolean {
  return (
    episode
      .played()
      .steps.at(-1)
      ?.info.predictions.some(({ backend }) => backend === 'faults') ?? false
  );
}

/** Share of searches that find at once. */
const AT_ONCE = 0.4;

/** Commands between where a walkthrough sets out for something and where it first names it. */
const APPROACH = 2;

/** Verbs by which plain demonstrations showed what a place holds once they had come to it, such as `open`. */
export function revealingVerbs(shown: readonly PlayedText[]): ReadonlySet<string> {
  const verbs = new Set<string>();
  for (const { steps } of shown) {
    steps.forEach((step, i) => {
      const [came, next] = [steps[i - 1], steps[i + 1]];
      if (came === undefined || next === undefined) return;
      const place = thingsOf(saidIn(step));
      const isSamePlace = place.length === 1 && thingsOf(saidIn(came)).join() === place[0];
      if (isSamePlace && namesUnknown(saidIn(next), step.situation)) verbs.add(verbOf(saidIn(step)));
    });
  }
  return verbs;
}

interface Search {
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
    const before = new Set(episode.situation.turns.map((turn) => turn.said));
    const others = episode.situation.admissible.filter(
      (command) => verbOf(command) === verbOf(way) && command !== way && !before.has(command),
    );
    if (others.length === 0) return 0;
    const look = await tried(episode, others[rng.int(others.length)], way, search.reveals);
    if (!look.isVain) return look.commands.length;
    for (const command of look.commands) await said(episode, command);
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

/** Whether the command could be said. */
async function said(episode: TextEpisode, command: string): Promise<boolean> {
  const choice = episode.situation.admissible.indexOf(command);
  if (choice < 0) return false;
  await episode.step({ choice, logProb: 0, entropy: 0 });
  return true;
}

/** Whether the command is about a numbered thing that nothing has mentioned yet. */
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
