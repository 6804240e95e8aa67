// A value model of recorded choices (VEM, Song et al. 2025, 2502.18906): what they came to is regressed on.

import type { Rng } from '../core/rng.js';
import type { TextValueModel, ValueLesson } from '../rl/text/text-learner.js';
import type { TextSituation } from '../rl/text/text-policy.js';

/** A recorded choice, in an episode of these. */
interface ValuedStep {
  readonly situation: TextSituation;
  readonly choice: number;
  readonly reward: number;
  /** Hash of the state that the choice was made in. */
  readonly state: string;
}

/** Steps in their order. One of which the choice is not known ends what follows from earlier ones no less: its reward counts. */
export interface ValuedEpisode {
  readonly steps: readonly (ValuedStep | { readonly reward: number })[];
  readonly won: boolean;
}

interface ValueFitSettings {
  readonly epochs: number;
  readonly lr: number;
  /** Discount of a reward one step later. */
  readonly gamma: number;
}

/** Discounted rewards from each step on. */
export function returnsOf(rewards: readonly number[], gamma: number): number[] {
  const returns = [...rewards];
  for (let t = returns.length - 2; t >= 0; t--) returns[t] += gamma * returns[t + 1];
  return returns;
}

export function isKnown(step: ValuedEpisode['steps'][number]): step is ValuedStep {
  return 'situation' in step;
}

/** Passes over all recorded choices, each in an order of its own. @throws NON_FINITE_VALUE */
export async function fitValues(
  model: Pick<TextValueModel, 'update'>,
  episodes: readonly ValuedEpisode[],
  { epochs, lr, gamma }: ValueFitSettings,
  rng: Rng,
  onEpoch: (error: number) => void = () => {},
): Promise<void> {
  const lessons = episodes.flatMap(({ steps }) => {
    const rewards = steps.map(({ reward }) => reward);
    const returns = returnsOf(rewards, gamma);
    return steps.flatMap((step, t): ValueLesson[] =>
      isKnown(step) ? [{ situation: step.situation, choice: step.choice, target: returns[t] }] : [],
    );
  });
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = rng.split(epoch).permutation(lessons.length);
    onEpoch((await model.update(lessons, { lr, order })).error);
  }
}

/** What the model says of each recorded choice, by episode and step; undefined where the choice is not known. */
export async function recordedValues(
  model: Pick<TextValueModel, 'values'>,
  episodes: readonly ValuedEpisode[],
): Promise<(number | undefined)[][]> {
  const known = episodes.flatMap(({ steps }) => steps.filter(isKnown));
  const values = await model.values(known.map(({ situation }) => situation));
  let next = 0;
  return episodes.map(({ steps }) => steps.map((step) => (isKnown(step) ? values[next++][step.choice] : undefined)));
}
