// Episodes to imitate, as they are kept: without what can be said from the steps before.

import type { TextLesson, TextSituation } from '../rl/index.js';
import type { PlayedText } from './text-play.js';

/** An episode to imitate, as it is kept: what was seen and could be said at each step, and what was. */
export interface WonText {
  readonly task: string;
  readonly goal: string;
  /** Where steps were written under a JSON Schema. */
  readonly schema?: TextSituation['schema'];
  readonly steps: readonly {
    readonly text: string;
    readonly admissible: readonly string[];
    readonly readings?: readonly string[];
    readonly shown?: TextSituation['shown'];
    readonly choice: number;
  }[];
}

/** Where episodes to imitate are kept, under a name each time. */
export interface WonTexts {
  keep(name: string, won: readonly WonText[]): Promise<void>;
  /** All under these names, in order; none under one that nothing was kept under. */
  kept(names: readonly string[]): Promise<WonText[]>;
}

export const DEMONSTRATIONS = 'demonstrations';

export function wonText({ task, steps }: PlayedText): WonText {
  return {
    task,
    goal: steps[0].situation.goal,
    ...(steps[0].situation.schema && { schema: steps[0].situation.schema }),
    steps: steps.map(({ situation: { text, admissible, readings, shown }, choice }) => {
      return { text, admissible, ...(readings && { readings }), ...(shown && { shown }), choice };
    }),
  };
}

/** Its choices, each to be imitated. */
export function lessonsOf({ goal, schema, steps }: WonText): TextLesson[] {
  const opening = steps[0]?.text;
  return steps.map(({ text, admissible, readings, shown, choice }, t) => {
    const turns = steps.slice(0, t).map((step, k) => ({ said: step.admissible[step.choice], seen: steps[k + 1].text }));
    const told = { ...(schema && { schema }), ...(readings && { readings }), ...(shown && { shown }) };
    return { situation: { goal, text, opening, turns, admissible, ...told }, choice };
  });
}
