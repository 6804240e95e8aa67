// What an agent of text is worth: an episode of each task of other splits, lived in the real environment.

import { Rng } from '../core/rng.js';
import { livedOf, type PlayedText, playTexts, type TextStart } from './text-play.js';
import { countersOf, type TextEvaluation, type TextTraining, tellLost } from './text-training.js';

/** The same starts and streams each time, so that evaluations differ by the policy alone. */
export async function evaluate(
  { settings, parts, progress, ports }: TextTraining,
  after: TextEvaluation['after'],
): Promise<void> {
  const { evalTasks, evalEnvironments: environments, learner } = parts;
  const rng = Rng.fromSeed(settings.seed).split('text-evaluation');
  const starts = evalTasks.map((task, i): TextStart => {
    const seed = rng.split('start', i).uint32();
    return { task: task.id, seed, ...(settings.evalChoice === 'sample' && { rng: rng.split('choices', i) }) };
  });
  const phase = ports.phase('evaluate', starts.length, 'episodes');
  const onEpisode = () => phase.advance(1);
  const all = await playTexts(learner.policy, starts, { environments, signal: ports.signal, onEpisode });
  tellLost(ports, all);
  const played = livedOf(all);
  const { round, realSteps, dreamtSteps } = progress;
  const wins = played.filter(isWon).length;
  const meanLength = stepsOf([played]) / played.length;
  const evaluation = { after, round, realSteps, dreamtSteps, episodes: played.length, wins, meanLength };
  progress.evaluations.push(evaluation);
  phase.end(`${wins} of ${played.length} won`);
  ports.tell({ kind: 'eval', ...countersOf(progress), ...evaluation });
}

export function isWon({ reward }: Pick<PlayedText, 'reward'>): boolean {
  return reward !== null && reward >= 1;
}

export function stepsOf(groups: readonly (readonly PlayedText[])[]): number {
  return groups.flat().reduce((sum, { steps }) => sum + steps.length, 0);
}
