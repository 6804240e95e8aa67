// Recorded calls as tries of actions: the facts around each, as far as the state is known.

import type { JsonObject } from '../../core/json.js';
import { applyOperations, type FactTable, initialStateOf, type ToolsDomain } from '../../env/index.js';
import type { ExperienceStep } from '../../replay/index.js';
import { takenAction } from '../../worldmodel/index.js';
import type { Transition } from './tries.js';

/** @param steps  in order of episodes; calls after the first one of an episode whose changes are not known are left out */
export function recordedTries(steps: readonly ExperienceStep[], domain: ToolsDomain): Transition[] {
  const scene = domain.rules?.scene?.bind(domain.rules);
  if (scene === undefined) return [];
  const tasks = new Map(domain.tasks.map((task) => [task.id, task]));
  let episode: string | undefined;
  let state: JsonObject | undefined;
  return steps.flatMap(({ episode: own, task, call, operations, observation, isError }): Transition[] => {
    if (own !== episode) {
      const known = tasks.get(task);
      state = known && initialStateOf(domain, known);
      episode = own;
    }
    if (state === undefined || operations === undefined) {
      state = undefined;
      return [];
    }
    const before = state;
    state = applyOperations(before, operations);
    const [was, is] = [before, state].map(({ facts }) => facts as FactTable);
    const there = scene(before);
    const action = takenAction(call, there);
    return [{ scene: there, before: was, after: is, action, accepted: !isError, observation }];
  });
}
