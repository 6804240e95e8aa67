// What steps were worth by living on from them: from each step of a group the policy of the moment goes on again and again, and the mean
// of what follows is the value of the situation that the step was chosen in (VinePPO, Kazemnejad et al. 2024, 2410.01679, section 4). In a
// dream this costs no real step. Groups whose episodes came to the same say nothing, and are passed over.

import type { Rng } from '../core/rng.js';
import { spreadOf, type TextPolicy } from '../rl/index.js';
import { livedOf, type PlayedText, type PlayOptions, playTexts, type TextStart, type TextStep } from './text-play.js';

export interface ForkOptions extends Omit<PlayOptions, 'snapshots'> {
  /** Episodes lived on from each step. */
  readonly forks: number;
  /** Discount of a reward one step later. */
  readonly gamma: number;
}

export interface ForkedGroups {
  /** The same groups; steps of those that were lived on from have a value. */
  readonly groups: PlayedText[][];
  /** Everything lived for it. */
  readonly lived: readonly PlayedText[];
}

/**
 * @param groups lived with `snapshots`
 * @param rng    of the round
 * @throws what `playTexts` throws
 */
export async function forkGroups(
  policy: TextPolicy,
  groups: readonly PlayedText[][],
  rng: Rng,
  { forks, gamma, ...options }: ForkOptions,
): Promise<ForkedGroups> {
  const points = groups.flatMap((group, g) => (spreadOf(group) === 0 ? [] : pointsOf(group, g)));
  const starts = points.flatMap(({ key, task, step }) =>
    Array.from({ length: forks }, (_, k): TextStart => {
      const own = rng.split('fork', key, k);
      return { task, from: step, seed: own.uint32(), rng: own.split('choices') };
    }),
  );
  const lived = await playTexts(policy, starts, options);
  const values = new Map(points.map(({ key }, i) => [key, meanReturn(lived.slice(i * forks, (i + 1) * forks), gamma)]));
  const valued = groups.map((group, g) =>
    group.flatMap((episode) => {
      const steps = episode.steps.map((step, t) => ({ ...step, value: values.get(keyOf(g, t, step)) ?? 0 }));
      // What a step is worth that could not be lived on from, nobody knows.
      return steps.some(({ value }) => Number.isNaN(value)) ? [] : [{ ...episode, steps }];
    }),
  );
  return { groups: valued, lived };
}

interface ForkPoint {
  readonly key: string;
  readonly task: string;
  readonly step: TextStep;
}

/** Situations that several episodes of the group went through alike, with all that was said before them, are one. */
function pointsOf(group: readonly PlayedText[], g: number): ForkPoint[] {
  const found = new Map<string, ForkPoint>();
  for (const { task, steps } of group) {
    for (const [t, step] of steps.entries()) {
      const key = keyOf(g, t, step);
      if (!found.has(key)) found.set(key, { key, task, step });
    }
  }
  return [...found.values()];
}

function keyOf(group: number, t: number, { state, situation }: TextStep): string {
  return JSON.stringify([group, t, state, situation.turns.map(({ said }) => said)]);
}

/** NaN where all were lost. */
function meanReturn(episodes: readonly PlayedText[], gamma: number): number {
  const returns = livedOf(episodes).map(({ steps }) =>
    steps.reduceRight((later, { reward }) => reward + gamma * later, 0),
  );
  return returns.reduce((a, b) => a + b, 0) / returns.length;
}
