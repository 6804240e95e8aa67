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

export function callsOfSolutions({ tasks }: ToolsDomain): PlacedCall[] {
  return tasks.flatMap((task) =>
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
