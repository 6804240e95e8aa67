// Recorded calls as tries of actions: the facts around each, as far as the state is known, and what the world offered to do there.

import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { FactTable, Scene, ToolsDomain } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/task-states.js';
import { admissibleIn } from '../../env/tools/text-environment.js';
import type { ExperienceStep } from '../../replay/experience/experience.js';
import { type TakenAction, takenAction } from '../../worldmodel/taken-action.js';
import { induceOperators } from './induce-operators.js';
import type { Transition } from './tries.js';

/** @param steps  in order of episodes; calls after the first one of an episode whose changes are not known are left out */
export function recordedTries(steps: readonly ExperienceStep[], domain: ToolsDomain): Transition[] {
  const scene = domain.rules?.scene?.bind(domain.rules);
  if (scene === undefined) return [];
  const tasks = new Map(domain.tasks.map((task) => [task.id, task]));
  let episode: string | undefined;
  let state: JsonObject | undefined;
  let told: JsonObject | undefined;
  const offers = offersOf(domain);
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
    const offered = before === told ? undefined : offers(there, before);
    told = before;
    return [
      { scene: there, before: was, after: is, action, accepted: !isError, observation, ...(offered && { offered }) },
    ];
  });
}

/** Operators from recorded steps: see `recordedTries`. */
export function induceRecorded(steps: readonly ExperienceStep[], domain: ToolsDomain) {
  return induceOperators(recordedTries(steps, domain));
}

/** What a world offered to do in a state; a command is read once for all states of a scene. */
function offersOf(domain: ToolsDomain): (scene: Scene, state: JsonObject) => TakenAction[] | undefined {
  const read = new WeakMap<Scene, Map<string, TakenAction>>();
  return (scene, state) => {
    const offered = admissibleIn(domain, state);
    if (offered === undefined) return undefined;
    const known = read.get(scene) ?? new Map<string, TakenAction>();
    read.set(scene, known);
    return offered.lines.map((line) => {
      const action = known.get(line) ?? takenAction(offered.callOf(line), scene);
      known.set(line, action);
      return action;
    });
  };
}
