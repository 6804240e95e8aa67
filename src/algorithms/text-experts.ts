// Who is imitated first: the solution of a game, command by command, or an agent of tools that knows it and asks for what it was not told.

import type { Awaitable } from '../core/environment.js';
import type { TextEnvironment, ToolsTask } from '../env/index.js';
import { choiceText, chosenOf, ReferenceAgent } from '../synth/index.js';

export interface TextExpert {
  /** Whether an episode that it did not win is no example at all. */
  readonly mustWin: boolean;
  /** What it would say now; undefined where it has nothing more to say. `step` counts from 0. */
  next(environment: TextEnvironment, task: ToolsTask, step: number): Awaitable<string | undefined>;
}

export const walkthroughs: TextExpert = {
  mustWin: false,
  next: (_, task, step) => task.reference?.calls[step]?.arguments.text as string | undefined,
};

const reference = new ReferenceAgent();

export const solutions: TextExpert = {
  mustWin: true,
  next({ tools }, task, step) {
    const { messages, domain, seed } = tools;
    const { action } = reference.act({ messages, tools: domain.tools, task, seed, step });
    return choiceText(chosenOf(action));
  },
};
