// Who is imitated first: the solution of a game, command by command.

import type { Awaitable } from '../core/environment.js';
import type { CallSpec, ToolsTask } from '../env/tools/domain.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';

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
