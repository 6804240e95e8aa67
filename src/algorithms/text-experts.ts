// Who is imitated first: the solution of a game, command by command, or an agent of tools that knows it and asks for what it was not told.

import type { Awaitable } from '../core/environment.js';
import type { CallSpec, LineEnvironment, ToolsTask } from '../env/index.js';
import { type ActionForms, chosenOf, ReferenceAgent } from '../synth/index.js';

export interface TextExpert {
  /** Whether an episode that it did not win is no example at all. */
  readonly mustWin: boolean;
  /** What it would say now; undefined where it has nothing more to say. `step` counts from 0. */
  next(environment: LineEnvironment, task: ToolsTask, step: number): Awaitable<string | undefined>;
  /** All that it will say, whatever it sees; absent: that depends on what it sees. */
  plan?(task: ToolsTask): readonly string[];
}

/** @param lineOf  how a call of a solution is written among those that are listed */
export function walkthroughs(lineOf: (call: CallSpec) => string): TextExpert {
  const plan = (task: ToolsTask) => task.reference?.calls.map(lineOf) ?? [];
  return { mustWin: false, next: (_, task, step) => plan(task)[step], plan };
}

const reference = new ReferenceAgent();

/** @param forms how actions are told as texts */
export function solutions(forms: Pick<ActionForms, 'textOf'>): TextExpert {
  return {
    mustWin: true,
    next({ tools }, task, step) {
      const { messages, domain, seed } = tools;
      const { action } = reference.act({ messages, tools: domain.tools, task, seed, step });
      return forms.textOf(chosenOf(action));
    },
  };
}
