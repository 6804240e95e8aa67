// Calls of tasks' solutions in their places, and what the rules say to them: what probes are made of.

import type { JsonObject } from '../../core/json.js';
import {
  applyOperations,
  type CallSpec,
  initialStateOf,
  type ToolOutcome,
  type ToolsDomain,
  type ToolsTask,
} from '../../env/index.js';
import type { Probe } from './probe.js';

/** A call of a task's solution, and those before it. */
export interface PlacedCall {
  readonly task: ToolsTask;
  readonly before: readonly CallSpec[];
  readonly call: CallSpec;
}

/** Those that probes are made of: all, or the first of some families, where each takes long. */
export function probedTasks({ tasks, rules }: ToolsDomain): readonly ToolsTask[] {
  const most = rules?.probedTasks;
  return most === undefined ? tasks : firstOfEach(tasks, ({ family }) => family, 1).slice(0, most);
}

export function callsOfSolutions(domain: ToolsDomain): PlacedCall[] {
  return probedTasks(domain).flatMap((task) =>
    (task.reference?.calls ?? []).map((call, i, calls): PlacedCall => ({ task, before: calls.slice(0, i), call })),
  );
}

/** What the rules say to a call after those before it; undefined where they do not know one of them. */
export function outcomeOf(domain: ToolsDomain, { task, before }: PlacedCall, call: CallSpec): ToolOutcome | undefined {
  const { rules } = domain;
  if (rules === undefined || ![...before, call].every(({ name }) => rules.tools.has(name))) return undefined;
  const state = before.reduce<JsonObject>(
    (current, each, i) => applyOperations(current, rules.execute(current, { id: `before-${i}`, ...each }).operations),
    initialStateOf(domain, task),
  );
  const named = { id: 'probe', ...call };
  const outcome = rules.execute(state, named);
  const refused = rules.preconditions(state, named).length > 0;
  return refused ? { ...outcome, operations: [], isError: true } : outcome;
}

export function kindOf({ tools }: ToolsDomain, { name }: CallSpec) {
  return tools.find((tool) => tool.name === name)?.kind;
}

export function asProbeCalls(calls: readonly CallSpec[]): Probe['setup'] {
  return calls.map(asProbeCall);
}

export function asProbeCall({ name, arguments: given }: CallSpec): Probe['setup'][number] {
  return { name, arguments: structuredClone(given) as Probe['setup'][number]['arguments'] };
}

export function firstOfEach<T>(items: readonly T[], keyOf: (item: T) => string, count: number): T[] {
  const seen = new Map<string, number>();
  return items.filter((item) => {
    const key = keyOf(item);
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return seen.get(key)! <= count;
  });
}

/** What is made of the first items of each key of which something can be made; of further ones nothing is tried. */
export function firstMade<T, R>(
  items: readonly T[],
  keyOf: (item: T) => string,
  count: number,
  make: (item: T) => R | undefined,
): R[] {
  const made = new Map<string, number>();
  return items.flatMap((item) => {
    const key = keyOf(item);
    const before = made.get(key) ?? 0;
    const one = before < count ? make(item) : undefined;
    if (one === undefined) return [];
    made.set(key, before + 1);
    return [one];
  });
}
