// A round of an agent of text as it is run: its tasks, and groups of episodes that begin alike.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';
import { livedOf, type PlayedText, playTexts, type TextStart } from './text-play.js';
import { tasksOfRound } from './text-tasks.js';
import { type TextRound, type TextTraining, tellLost } from './text-training.js';

export interface LivedRound {
  readonly drawn: readonly ToolsTask[];
  /** By task. */
  readonly groups: PlayedText[][];
}

/** The stream of a round. */
export function roundRng(seed: number, round: number): Rng {
  return Rng.fromSeed(seed).split('text-groups').split('round', round);
}

/**
 * `groupSize` episodes from the same start, for each task of the round; fewer where some were lost.
 * @param index of the round, from 0
 */
export async function liveRound(
  { settings, parts, progress, ports }: TextTraining,
  { where }: TextRound,
  index: number,
): Promise<LivedRound> {
  const rng = roundRng(settings.seed, index);
  const drawn = tasksOfRound({ ...settings, tasks: parts.tasks, round: index, grown: progress.grown });
  const { groupSize } = settings;
  const starts = drawn.flatMap((task, g): TextStart[] => {
    const seed = rng.split('start', g).uint32();
    return Array.from({ length: groupSize }, (_, e) => ({ task: task.id, seed, rng: rng.split('choices', g, e) }));
  });
  const phase = ports.phase(where === 'real' ? 'live' : 'dream', starts.length, 'episodes');
  const played = await playTexts(parts.learner.policy, starts, {
    environments: where === 'real' ? parts.environments : await parts.dream!.environments(),
    signal: ports.signal,
    shaping: { weight: settings.progressWeight, gamma: settings.gamma },
    rewards: settings.rewards,
    onEpisode: () => phase.advance(1),
  });
  phase.end();
  tellLost(ports, played);
  return { drawn, groups: drawn.map((_, g) => livedOf(played.slice(g * groupSize, (g + 1) * groupSize))) };
}
