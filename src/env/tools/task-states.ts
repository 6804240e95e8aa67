// The states tasks begin with and are meant to end in; each is made once a task and shared.

import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../state/operations.js';
import type { ToolsDomain, ToolsTask } from './domain.js';

type PerTask = WeakMap<ToolsTask, JsonObject>;

const initial = new WeakMap<JsonObject, PerTask>();
const reference = new WeakMap<JsonObject, WeakMap<object, PerTask>>();

/**
 * The state the task begins with: the domain's, changed by the task's own operations. The same object every time.
 * @throws OPERATION_INVALID if these do not apply
 */
export function initialStateOf(domain: ToolsDomain, task: ToolsTask): JsonObject {
  if (!task.initialOperations?.length) return domain.initialState;
  const states = at(initial, domain.initialState, () => new WeakMap());
  return at(states, task, () => applyOperations(domain.initialState, task.initialOperations ?? []));
}

/** The state after the task's reference calls, by the domain's rules; undefined where these do not know all of them. */
export function referenceStateOf(domain: ToolsDomain, task: ToolsTask): JsonObject | undefined {
  const { rules } = domain;
  const calls = task.reference?.calls;
  if (rules === undefined || calls === undefined) return undefined;
  if (calls.some(({ name }) => !rules.tools.has(name))) return undefined;
  const ofRules = at(reference, domain.initialState, () => new WeakMap<object, PerTask>());
  const states = at(ofRules, rules, () => new WeakMap());
  return at(states, task, () =>
    calls.reduce(
      (state, call, i) => {
        const { operations } = rules.execute(state, { ...call, id: `reference-${i}` });
        return applyOperations(state, operations);
      },
      initialStateOf(domain, task),
    ),
  );
}

function at<K extends object, V>(map: WeakMap<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
