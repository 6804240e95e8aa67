// Groups of episodes as lessons: what each choice was worth beside the others of its group, or beside what a critic expected.

import type { TextDecision, TextLesson, TextSituation } from '../text/text-policy.js';
import type { GroupOptions } from './advantages.js';
import type { EstimatorEntry } from './estimators.js';

/** An episode as it was lived. */
export interface LivedEpisode {
  readonly steps: readonly (TextDecision & {
    readonly situation: TextSituation;
    readonly state: string;
    readonly reward: number;
  })[];
  /** null: nobody could judge it, and it teaches nothing. */
  readonly reward: number | null;
}

type Group = readonly LivedEpisode[];
type Learner = Pick<EstimatorEntry, 'estimate' | 'hasCritic'>;

export interface GroupLessons {
  readonly lessons: readonly TextLesson[];
  /** Groups that were left out, as no choice of theirs was better than another. */
  readonly silent: number;
  /** Groups that were left out, as their returns differed least. */
  readonly filtered: number;
}

/** Lessons of all groups that have something to say, in order (the filter of DAPO's dynamic sampling, without drawing again). */
export function groupLessons(groups: readonly Group[], learner: Learner, options: GroupOptions): GroupLessons {
  const taught = groups.map((group) => lessonsOf(group, learner, options));
  const speaking = groups.flatMap((group, i) => (taught[i].length === 0 ? [] : [{ spread: spreadOf(group), i }]));
  const kept = mostSpread(speaking, options.keptGroups ?? 1);
  const lessons = kept.flatMap((i) => taught[i]);
  const weighed = options.average === 'step' ? lessons.map((lesson) => ({ ...lesson, weight: 1 })) : balanced(lessons);
  return {
    lessons: learner.hasCritic ? standardised(weighed) : weighed,
    silent: groups.length - speaking.length,
    filtered: speaking.length - kept.length,
  };
}

/** Standard deviation of a group's returns. */
export function spreadOf(group: Group): number {
  const returns = group.flatMap(({ reward, steps }) =>
    reward === null ? [] : [steps.reduce((sum, step) => sum + step.reward, 0)],
  );
  const mean = returns.reduce((a, b) => a + b, 0) / Math.max(returns.length, 1);
  const squares = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / Math.max(returns.length, 1));
}

type Weighted = TextLesson & { readonly weight: number };

/** None where no choice was better than another. */
function lessonsOf(group: Group, { estimate, hasCritic }: Learner, options: GroupOptions): Weighted[] {
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
    steps.map(({ situation, choice, logProb, terms, written: own, value = 0 }, t): Weighted => {
      const advantage = advantages[e][t];
      const target = hasCritic ? { target: value + advantage } : {};
      const written = { ...(terms && { terms }), ...(own?.tokens && { tokens: own.tokens }) };
      return { situation, choice, logProb, ...written, advantage, weight: 1 / steps.length, ...target };
    }),
  );
}

/** Places of the groups with the largest spread, in their order. */
function mostSpread(groups: readonly { readonly spread: number; readonly i: number }[], share: number): number[] {
  const count = Math.ceil(share * groups.length);
  const sorted = [...groups].sort((a, b) => b.spread - a.spread || a.i - b.i);
  return sorted
    .slice(0, count)
    .map(({ i }) => i)
    .sort((a, b) => a - b);
}

/** Weights of mean 1. */
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
