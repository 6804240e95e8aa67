// A value model of recorded choices (VEM, Song et al. 2025, 2502.18906): what they came to is regressed on.

import type { Rng } from '../core/rng.js';
import type { TextValueModel, ValueLesson } from '../rl/text/scored-learner.js';
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
  /** Steps after which the model's own word stands in for what followed; Infinity: never (Monte Carlo). */
  readonly nStep: number;
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
  model: TextValueModel,
  episodes: readonly ValuedEpisode[],
  { epochs, lr, gamma, nStep }: ValueFitSettings,
  rng: Rng,
  onEpoch: (error: number) => void = () => {},
): Promise<void> {
  for (let epoch = 0; epoch < epochs; epoch++) {
    // Before the first pass the model knows nothing that could stand in for what followed.
    const steps = epoch === 0 ? Number.POSITIVE_INFINITY : nStep;
    const lessons = await valueLessons(model, episodes, gamma, steps);
    const order = rng.split(epoch).permutation(lessons.length);
    onEpoch((await model.update(lessons, { lr, order })).error);
  }
}

async function valueLessons(
  model: TextValueModel,
  episodes: readonly ValuedEpisode[],
  gamma: number,
  nStep: number,
): Promise<ValueLesson[]> {
  const worth = nStep === Number.POSITIVE_INFINITY ? undefined : await recordedValues(model, episodes);
  return episodes.flatMap(({ steps }, e) => {
    const rewards = steps.map(({ reward }) => reward);
    const returns = returnsOf(rewards, gamma);
    return steps.flatMap((step, t): ValueLesson[] => {
      if (!isKnown(step)) return [];
      const { situation, choice } = step;
      const later = worth?.[e][t + nStep];
      if (later === undefined) return [{ situation, choice, target: returns[t] }];
      const near = rewards.slice(t, t + nStep).reduce((sum, reward, i) => sum + gamma ** i * reward, 0);
      return [{ situation, choice, target: near + gamma ** nStep * later }];
    });
  });
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
