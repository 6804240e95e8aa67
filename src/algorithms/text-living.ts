// A round of an agent of text as it is lived: its tasks, groups of episodes that begin alike, and what was lived on from their steps.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/index.js';
import type { TextPolicy } from '../rl/index.js';
import { forkGroups } from './text-forks.js';
import { drawingPolicy } from './text-lag.js';
import { livedOf, type PlayedText, type PlayOptions, playTexts, type TextStart } from './text-play.js';
import { tasksOfRound } from './text-tasks.js';
import { type TextRound, type TextTraining, tellLost } from './text-training.js';

export interface LivedRound {
  readonly drawn: readonly ToolsTask[];
  /** By task. */
  readonly groups: PlayedText[][];
  /** The same; where the learner asks for it, steps have a value by what was lived on from them. */
  readonly valued: PlayedText[][];
  readonly forked: readonly PlayedText[];
}

/** The stream of a round. */
export function roundRng(seed: number, round: number): Rng {
  return Rng.fromSeed(seed).split('text-groups').split('round', round);
}

/** @param index of the round, from 0 */
export async function liveRound(training: TextTraining, round: TextRound, index: number): Promise<LivedRound> {
  const { settings, parts, progress } = training;
  const rng = roundRng(settings.seed, index);
  const policy = drawingPolicy(training, index);
  const drawn = tasksOfRound({ ...settings, tasks: parts.tasks, round: index, grown: progress.grown });
  const groups = await liveGroups(training, round, policy, drawn, rng);
  return { drawn, groups, ...(await fork(training, round, policy, groups, rng)) };
}

/** `groupSize` episodes from the same start, for each task of the round; fewer where some were lost. */
async function liveGroups(
  { settings, parts, ports }: TextTraining,
  { where }: TextRound,
  policy: TextPolicy,
  tasks: readonly ToolsTask[],
  rng: Rng,
): Promise<PlayedText[][]> {
  const { groupSize } = settings;
  const starts = tasks.flatMap((task, g): TextStart[] => {
    const seed = rng.split('start', g).uint32();
    return Array.from({ length: groupSize }, (_, e) => ({ task: task.id, seed, rng: rng.split('choices', g, e) }));
  });
  const phase = ports.phase(where === 'real' ? 'live' : 'dream', starts.length, 'episodes');
  const played = await playTexts(policy, starts, {
    ...(await playing({ settings, parts, ports }, where)),
    snapshots: parts.algorithm.livesForks === true,
    onEpisode: () => phase.advance(1),
  });
  phase.end();
  tellLost(ports, played);
  return tasks.map((_, g) => livedOf(played.slice(g * groupSize, (g + 1) * groupSize)));
}

/** How episodes of the round are lived. */
async function playing(
  { settings, parts, ports }: Pick<TextTraining, 'settings' | 'parts' | 'ports'>,
  where: TextRound['where'],
): Promise<PlayOptions> {
  return {
    environments: where === 'real' ? parts.environments : await parts.dream!.environments(),
    signal: ports.signal,
    shaping: { weight: settings.progressWeight, gamma: settings.gamma },
    rewards: settings.rewards,
  };
}

/** Where the learner asks for it, what came of living on from the steps of the groups. */
async function fork(
  training: TextTraining,
  { where }: TextRound,
  policy: TextPolicy,
  groups: PlayedText[][],
  rng: Rng,
): Promise<Pick<LivedRound, 'valued' | 'forked'>> {
  const { settings, parts, ports } = training;
  if (!parts.algorithm.livesForks) return { valued: groups, forked: [] };
  const phase = ports.phase('live on from steps', null, 'episodes');
  const { groups: valued, lived } = await forkGroups(policy, groups, rng.split('forks'), {
    ...(await playing(training, where)),
    ...{ forks: settings.forks, gamma: settings.gamma },
    onEpisode: () => phase.advance(1),
  });
  phase.end();
  return { valued, forked: livedOf(lived) };
}
