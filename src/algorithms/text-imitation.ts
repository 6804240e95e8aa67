// The cold start of an agent of text: passes over what walkthroughs say in each situation on their way, lived in the real environment.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import type { LineEnvironment, ToolsTask } from '../env/index.js';
import type { TextLesson } from '../rl/index.js';
import { isWon } from './text-evaluation.js';
import type { TextExpert } from './text-experts.js';
import { type PlayedText, TextEpisode } from './text-play.js';
import { evenly, type TextTraining } from './text-training.js';

/** @throws TEXT_TASKS_MISSING where nothing can be imitated; what environments and learners throw */
export async function imitate({ settings, parts, progress, ports }: TextTraining, rng: Rng): Promise<void> {
  const { tasks, epochs, lr } = settings.clone;
  const chosen = evenly(parts.tasks, tasks);
  const phase = ports.phase('walkthroughs', chosen.length, 'tasks');
  const shown: PlayedText[] = [];
  for (const task of chosen) {
    ports.signal.throwIfAborted();
    shown.push(...(await demonstrated(parts.environments[0], task, parts.expert)));
    phase.advance(1);
  }
  const lessons = shown.flatMap(({ steps }) =>
    steps.map(({ situation, choice }): TextLesson => ({ situation, choice })),
  );
  phase.end(`${lessons.length} choices`);
  if (lessons.length === 0) {
    const problem =
      'none of those chosen for cloning has a reference whose commands can be said (train.cloneTasks=0: no cloning)';
    throw reverieError('TEXT_TASKS_MISSING', {
      domain: parts.environments[0].tools.domain.id,
      purpose: 'to imitate',
      problem,
    });
  }
  await parts.dream?.remember?.(shown);
  progress.clonedSteps = lessons.length;
  progress.realSteps += lessons.length;
  const bar = ports.phase('imitate', epochs, 'epochs');
  for (let epoch = 0; epoch < epochs; epoch++) {
    ports.signal.throwIfAborted();
    const order = rng.split(epoch).permutation(lessons.length);
    const metrics = await parts.learner.update(lessons, { lr, order });
    ports.tell({ kind: 'clone', round: 0, epoch, choices: lessons.length, ...metrics });
    bar.advance(1, `loss ${metrics.loss.toFixed(3)}`);
  }
  bar.end();
}

/** The episode of what the expert says, for as long as it can be said; none where there is nothing to imitate. */
async function demonstrated(
  environment: LineEnvironment,
  task: ToolsTask,
  { mustWin, next }: TextExpert,
): Promise<PlayedText[]> {
  const episode = await TextEpisode.begin(environment, { task: task.id, seed: 0 });
  for (let step = 0; !episode.ended; step++) {
    const choice = episode.situation.admissible.indexOf((await next(environment, task, step)) ?? '');
    if (choice < 0) break;
    await episode.step({ choice, logProb: 0, entropy: 0 });
  }
  const played = episode.played();
  const isExample = played.steps.length > 0 && (!mustWin || (episode.ended && isWon(played)));
  return isExample ? [played] : [];
}
