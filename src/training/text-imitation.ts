// The cold start of an agent of text: passes over what walkthroughs say in each situation on their way, lived in the real environment.

import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';
import type { TextLesson } from '../rl/text/text-policy.js';
import { isWon } from './text-evaluation.js';
import type { TextExpert } from './text-experts.js';
import { livedOrLost, type PlayedText, TextEpisode } from './text-play.js';
import { lookElsewhere, revealingVerbs, type Search } from './text-searches.js';
import { evenly, type TextTraining } from './text-training.js';

/** What is to be imitated. */
export interface Demonstrated {
  readonly shown: readonly PlayedText[];
  /** Steps that were lived beside those shown. */
  readonly taken: number;
}

/** Lives what is to be imitated; nothing where the settings have no tasks for it. @throws what environments throw */
export async function demonstrate({ settings, parts, ports }: TextTraining, rng: Rng): Promise<Demonstrated> {
  const { clone } = settings;
  if (clone.tasks === 0) return { shown: [], taken: 0 };
  return demonstrations(parts, evenly(parts.tasks, clone.tasks), clone, rng, ports);
}

/** @throws DOMAIN_UNFIT where nothing can be imitated; what learners throw */
export async function imitate(training: TextTraining, { shown, taken }: Demonstrated, rng: Rng): Promise<void> {
  const { parts, progress } = training;
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
  await passes(training, lessons, rng);
}

/** So many passes over what is to be imitated, each in an order of its own. */
async function passes(
  { settings: { clone }, parts, ports }: TextTraining,
  lessons: readonly TextLesson[],
  rng: Rng,
): Promise<void> {
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

/** All that is imitated, and how many further steps it took: each task as the expert goes about it, then, with detours, with searches. */
async function demonstrations(
  { environments: [environment], expert }: TextTraining['parts'],
  tasks: readonly ToolsTask[],
  { detours = 0 }: TextTraining['settings']['clone'],
  rng: Rng,
  ports: TextTraining['ports'],
): Promise<Demonstrated> {
  const searches = detours > 0 && expert.plan !== undefined;
  const phase = ports.phase('walkthroughs', tasks.length * (searches ? 2 : 1), 'tasks');
  const shown: PlayedText[] = [];
  let taken = 0;
  const show = async (task: ToolsTask, search?: Search) => {
    ports.signal.throwIfAborted();
    // What is drawn is drawn again by another try.
    const from = search?.rng.state();
    const again = () => search && { ...search, rng: Rng.fromState(from!) };
    const found = await livedOrLost(() => demonstrated(environment, task, expert, again()));
    if ('lost' in found) ports.warn(`The walkthrough of "${task.id}" was lost, and is left out: ${found.lost.message}`);
    else {
      taken += found.lived.back;
      shown.push(...found.lived.played);
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

/** The episode of what the expert says, for as long as it can be said; none where there is nothing to imitate. `back`: steps taken back. */
async function demonstrated(
  environment: LineEnvironment,
  task: ToolsTask,
  { mustWin, next, plan }: TextExpert,
  search?: Search,
): Promise<{ played: PlayedText[]; back: number }> {
  const episode = await TextEpisode.begin(environment, { task: task.id, seed: 0 });
  const planned = plan?.(task) ?? [];
  let back = 0;
  for (let step = 0; !episode.ended; step++) {
    if (search !== undefined) back += await lookElsewhere(episode, planned.slice(step), search);
    if (episode.ended) break;
    const said = await next(environment, task, step);
    const { admissible, schema } = episode.situation;
    const choice = schema === undefined ? admissible.indexOf(said ?? '') : 0;
    if (said === undefined || choice < 0) break;
    await episode.step({ choice, logProb: 0, entropy: 0, ...(schema && { written: { text: said } }) });
  }
  const played = episode.played();
  const isWhole = episode.ended && isWon(played);
  const isExample = played.steps.length > 0 && (isWhole || !(mustWin || search !== undefined));
  return { played: isExample ? [played] : [], back: isExample ? back : back + played.steps.length };
}
