// What is watched of a round of an agent of text: how much returns differ, how decided it is, how often it repeats itself.

import type { WatchedRound } from '../rl/group/echo-trap.js';
import { spreadOf } from '../rl/group/group-lessons.js';
import { isWon } from './text-evaluation.js';
import type { PlayedText } from './text-play.js';

export function watchedRound(groups: readonly (readonly PlayedText[])[]): WatchedRound {
  const episodes = groups.flat();
  const steps = episodes.flatMap((episode) => episode.steps);
  const repeated = episodes.reduce((sum, episode) => sum + repeatedIn(episode), 0);
  return {
    spread: mean(groups.map(spreadOf)),
    entropy: mean(steps.map(({ entropy }) => entropy)),
    repetition: repeated / Math.max(steps.length, 1),
    success: episodes.filter(isWon).length / Math.max(episodes.length, 1),
  };
}

/** Commands that were said before in the episode. */
function repeatedIn({ steps }: PlayedText): number {
  return steps.length - new Set(steps.map(({ situation, choice }) => situation.admissible[choice])).size;
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1);
}
