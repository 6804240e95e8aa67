// How much better each choice was than what else was done from the same start: estimators of advantages over a group of episodes that
// began alike, and the lessons made of them.

import { type Named, Registry } from '../core/registry.js';
import type { TextDecision, TextLesson, TextSituation } from './text/text-policy.js';

/** What an estimator sees of an episode. */
interface GroupEpisode {
  /** Reward of each step. */
  readonly rewards: readonly number[];
  /** Name of the state that each step's choice was made in: equal where the same may follow. */
  readonly states: readonly string[];
  /** What was expected before each step, by a critic; absent without one. */
  readonly values?: readonly number[];
}

export interface GroupOptions {
  /** Divide by the group's standard deviation. Without it: Dr. GRPO (2503.20783), which does not favour nearly settled groups. */
  readonly normalise: boolean;
  /** GiGPO, PPO: discount of rewards one step later, in returns from a step on. */
  readonly gamma: number;
  /** PPO: how far advantages look past the next step (GAE's lambda); 1 unless given. */
  readonly gaeLambda?: number;
}

/** Advantages of the steps of each episode of one group. */
type Estimator = (group: readonly GroupEpisode[], options: GroupOptions) => number[][];

/** Keeps a division by the deviation of nearly equal returns in bounds; verl's value. */
const EPSILON = 1e-6;

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Return minus the group's mean, over its standard deviation (of a sample, as in verl), for every step alike (GRPO, 2402.03300). */
const grpo: Estimator = (group, options) =>
  spread(
    group,
    relative(
      group.map(({ rewards }) => sum(rewards)),
      options.normalise,
    ),
  );

/** Return minus the mean of the others' (RLOO, 2402.14740). A group of one has nothing to be compared with. */
const rloo: Estimator = (group) => {
  const returns = group.map(({ rewards }) => sum(rewards));
  const total = sum(returns);
  const others = group.length - 1;
  return spread(
    group,
    returns.map((own) => (others === 0 ? 0 : own - (total - own) / others)),
  );
};

/**
 * GRPO's advantage of the episode, and that of the step: its discounted return relative to those of all steps of the group that
 * were chosen in the same state (GiGPO, 2505.10978, eq. 6 to 8).
 */
const gigpo: Estimator = (group, options) => {
  const episodes = grpo(group, options);
  const returns = group.map(({ rewards }) => discounted(rewards, options.gamma));
  const steps = returns.map((values) => values.map(() => 0));
  for (const places of anchors(group).values()) {
    const found = relative(
      places.map(([e, t]) => returns[e][t]),
      options.normalise,
    );
    places.forEach(([e, t], i) => {
      steps[e][t] = found[i];
    });
  }
  return episodes.map((values, e) => values.map((value, t) => value + steps[e][t]));
};

/**
 * Generalised advantages of a critic's values (PPO, 1707.06347; GAE, 1506.02438), whatever the rest of the group did. An episode cut
 * short by its clock counts as ended there: nothing comes after it.
 */
const ppo: Estimator = (group, { gamma, gaeLambda = 1 }) =>
  group.map(({ rewards, values = rewards.map(() => 0) }) => {
    const advantages: number[] = [];
    let carried = 0;
    for (let t = rewards.length - 1; t >= 0; t--) {
      const next = t + 1 < rewards.length ? values[t + 1] : 0;
      carried = rewards[t] + gamma * next - values[t] + gamma * gaeLambda * carried;
      advantages[t] = carried;
    }
    return advantages;
  });

/** Steps, as [episode, step], by the state they were chosen in. */
function anchors(group: readonly GroupEpisode[]): Map<string, [number, number][]> {
  const found = new Map<string, [number, number][]>();
  group.forEach(({ states }, e) => {
    states.forEach((state, t) => {
      const list = found.get(state);
      if (list === undefined) found.set(state, [[e, t]]);
      else list.push([e, t]);
    });
  });
  return found;
}

function discounted(rewards: readonly number[], gamma: number): number[] {
  const returns = [...rewards];
  for (let t = returns.length - 2; t >= 0; t--) returns[t] += gamma * returns[t + 1];
  return returns;
}

/** Values minus their mean, over their sample's standard deviation; all 0 where there is one value, or all are equal. */
function relative(values: readonly number[], normalise: boolean): number[] {
  if (values.every((value) => value === values[0])) return values.map(() => 0);
  const mean = sum(values) / values.length;
  const centred = values.map((value) => value - mean);
  if (!normalise) return centred;
  const deviation = Math.sqrt(sum(centred.map((value) => value * value)) / (values.length - 1));
  return centred.map((value) => value / (deviation + EPSILON));
}

function spread(group: readonly GroupEpisode[], values: readonly number[]): number[][] {
  return group.map(({ rewards }, e) => rewards.map(() => values[e]));
}

/** They differ in how advantages are made, and share everything else. */
export interface EstimatorEntry extends Named {
  readonly estimate: Estimator;
  /** It compares with what a critic expects, which the network then has; its advantages are standardised over a round. */
  readonly hasCritic?: boolean;
}

export const groupEstimators = new Registry<EstimatorEntry>('group learner', [
  { name: 'grpo', summary: 'Returns relative to the group (2402.03300).', estimate: grpo },
  {
    name: 'gigpo',
    summary: 'As grpo, and steps relative to others that were chosen in the same state (2505.10978).',
    estimate: gigpo,
  },
  { name: 'rloo', summary: 'Returns less the mean of the others (2402.14740).', estimate: rloo },
  {
    name: 'ppo',
    summary: 'Generalised advantages of the values of a critic (1707.06347).',
    estimate: ppo,
    hasCritic: true,
  },
]);

/** An episode as it went. */
export interface PlayedEpisode {
  readonly steps: readonly (TextDecision & {
    readonly situation: TextSituation;
    readonly state: string;
    readonly reward: number;
  })[];
  /** null: it could not be judged, and teaches nothing. */
  readonly reward: number | null;
}

type Group = readonly PlayedEpisode[];
type Comparison = Pick<EstimatorEntry, 'estimate' | 'hasCritic'>;

/** Lessons of all groups that have something to say, in order (the filter of DAPO's dynamic sampling, without drawing again); `silent` had not. */
export function groupLessons(groups: readonly Group[], learner: Comparison, options: GroupOptions) {
  const taught = groups.map((group) => lessonsOf(group, learner, options));
  const lessons = balanced(taught.flat());
  return {
    lessons: learner.hasCritic ? standardised(lessons) : lessons,
    silent: taught.filter(({ length }) => length === 0).length,
  };
}

type Weighted = TextLesson & { readonly weight: number };

/** None where no choice was better than another. */
function lessonsOf(group: Group, { estimate, hasCritic }: Comparison, options: GroupOptions): Weighted[] {
  const judged = group.filter(({ reward }) => reward !== null);
  const advantages = estimate(
    judged.map(({ steps }) => ({
      rewards: steps.map(({ reward }) => reward),
      states: steps.map(({ state }) => state),
      ...(hasCritic && { values: steps.map(({ value = 0 }) => value) }),
    })),
    options,
  );
  if (advantages.every((values) => values.every((value) => value === 0))) return [];
  return judged.flatMap(({ steps }, e) =>
    steps.map(({ situation, choice, logProb, value = 0 }, t): Weighted => {
      const advantage = advantages[e][t];
      const target = hasCritic ? { target: value + advantage } : {};
      return { situation, choice, logProb, advantage, weight: 1 / steps.length, ...target };
    }),
  );
}

/** Weights of mean 1: each episode counts alike, however long. */
function balanced(lessons: readonly Weighted[]): TextLesson[] {
  const mean = lessons.reduce((sum, { weight }) => sum + weight, 0) / lessons.length;
  return lessons.map((lesson) => ({ ...lesson, weight: lesson.weight / mean }));
}

/** Advantages of mean 0 and deviation 1. */
function standardised(lessons: readonly TextLesson[]): TextLesson[] {
  const values = lessons.map(({ advantage = 0 }) => advantage);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  return lessons.map((lesson, i) => ({ ...lesson, advantage: (values[i] - mean) / (deviation + 1e-8) }));
}
