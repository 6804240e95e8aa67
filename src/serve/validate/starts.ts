// How episodes begin that are played for a check.

import type { JsonObject } from '../../core/json.js';
import type { Subject } from './validate-contract.js';

/** How episodes begin that no task is chosen for. */
export function startOf({ options }: Subject): JsonObject {
  return { seed: options.seed };
}

/** The first task of every kind there is, or just a seed. */
export function starts(subject: Subject): readonly JsonObject[] {
  const tasks = subject.tasks.map((task) => ({ ...startOf(subject), ...resetOf(task) }));
  return tasks.length > 0 ? tasks : [startOf(subject)];
}

/** As OpenEnv's Task API chooses a task. */
export function resetOf({ split, index, seed }: JsonObject): JsonObject {
  return { split, index, ...(seed === undefined ? {} : { seed }) };
}
