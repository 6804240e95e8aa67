// Learning from a value model alone (VEM, Song et al. 2025, 2502.18906): what recorded choices came to is regressed on; then, in recorded
// situations, the policy of the moment draws choices, and the model says what each is worth. No environment is stepped, and nothing is
// said of what would be seen next. A situation with its draws is a group of episodes of one step, so that the estimators are the same.

import type { Rng } from '../core/rng.js';
import { groupLessons, type LivedEpisode } from '../rl/group/group-lessons.js';
import type { TextLesson, TextSituation } from '../rl/text/text-policy.js';
import type { TextValueModel, ValueLesson } from '../rl/text/value-model.js';
import type { TextTraining } from './text-training.js';

/** A recorded choice, in an episode of these. */
export interface ValuedStep {
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

export interface ValueFitSettings {
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

/** Of a round, unless given. */
const SITUATIONS = 64;

export interface ValuedRound {
  readonly lessons: readonly TextLesson[];
  /** Of an event. */
  readonly figures: Readonly<Record<string, unknown>>;
  readonly choices: number;
}

/** Draws in recorded situations, each worth what the model says. */
export async function valuedRound({ settings, parts }: TextTraining, rng: Rng): Promise<ValuedRound> {
  const { groupSize, situationsPerRound = SITUATIONS } = settings;
  const all = await parts.values!.situations();
  const drawn = rng.split('situations').permutation(all.length).slice(0, situationsPerRound);
  const situations = Array.from(drawn, (i) => all[i]);
  const choices = rng.split('choices');
  const asked = situations.flatMap((situation) => Array.from({ length: groupSize }, () => situation));
  const draws = asked.map((_, i) => choices.split(i).uniform());
  const decisions = await parts.learner.policy.decide(asked, draws);
  const values = await parts.values!.values(situations);
  const groups = situations.map((situation, g) =>
    decisions.slice(g * groupSize, (g + 1) * groupSize).map((decision): LivedEpisode => {
      const reward = values[g][decision.choice];
      return { steps: [{ ...decision, situation, state: String(g), reward }], reward };
    }),
  );
  const { lessons, silent, filtered } = groupLessons(groups, parts.algorithm, settings);
  const mean = (of: (step: LivedEpisode['steps'][number]) => number) =>
    groups.flat().reduce((sum, { steps: [step] }) => sum + of(step), 0) / asked.length;
  const figures = {
    ...{ groups: groups.length, silentGroups: silent, filteredGroups: filtered, choices: asked.length },
    ...{ meanValue: mean(({ reward }) => reward), livedEntropy: mean(({ entropy }) => entropy) },
  };
  return { lessons, figures, choices: asked.length };
}
