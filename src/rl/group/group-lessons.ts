// Groups of episodes as lessons: what each choice was worth beside the others of its group.

import type { TextDecision, TextLesson, TextSituation } from '../text/text-policy.js';
import type { Estimator, GroupOptions } from './advantages.js';

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

export interface GroupLessons {
  readonly lessons: readonly TextLesson[];
  /** Groups that were left out, as no choice of theirs was better than another. */
  readonly silent: number;
}

/** Lessons of all groups that have something to say, in order (the filter of DAPO's dynamic sampling, without drawing again). */
export function groupLessons(
  groups: readonly (readonly LivedEpisode[])[],
  estimate: Estimator,
  options: GroupOptions,
): GroupLessons {
  let silent = 0;
  const lessons = groups.flatMap((group) => {
    const judged = group.filter(({ reward }) => reward !== null);
    const advantages = estimate(
      judged.map(({ steps }) => ({
        rewards: steps.map(({ reward }) => reward),
        states: steps.map(({ state }) => state),
      })),
      options,
    );
    if (advantages.every((values) => values.every((value) => value === 0))) {
      silent += 1;
      return [];
    }
    return judged.flatMap(({ steps }, e) =>
      steps.map(({ situation, choice, logProb }, t): Weighted => {
        return { situation, choice, logProb, advantage: advantages[e][t], weight: 1 / steps.length };
      }),
    );
  });
  return {
    lessons: options.average === 'step' ? lessons.map((lesson) => ({ ...lesson, weight: 1 })) : balanced(lessons),
    silent,
  };
}

type Weighted = TextLesson & { readonly weight: number };

/** Weights of mean 1. */
function balanced(lessons: readonly Weighted[]): TextLesson[] {
  const mean = lessons.reduce((sum, { weight }) => sum + weight, 0) / lessons.length;
  return lessons.map((lesson) => ({ ...lesson, weight: lesson.weight / mean }));
}
