// Calls of tasks' solutions in their places, and what the rules say to them: what probes are made of.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, ToolOutcome, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
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

/**
 * Between calls of the real environment, which may hold the thread for seconds: whoever stops the job is heard.
 * @throws the signal's reason
 */
export async function takeTurn(signal?: AbortSignal): Promise<void> {
  await nextTurn();
  signal?.throwIfAborted();
}

export async function callsOfSolutions(domain: ToolsDomain, signal?: AbortSignal): Promise<PlacedCall[]> {
  const placed: PlacedCall[] = [];
  for (const task of probedTasks(domain)) {
    await takeTurn(signal);
    const calls = task.reference?.calls ?? [];
    placed.push(...calls.map((call, i): PlacedCall => ({ task, before: calls.slice(0, i), call })));
  }
  return placed;
}

/** What the rules say to a call after those before it; undefined where they do not know one of them. */
export function outcomeOf(domain: ToolsDomain, { task, before }: PlacedCall, call: CallSpec): ToolOutcome | undefined {
  const { rules } = domain;
  if (rules === undefined || ![...before, call].every(({ name }) => rules.tools.has(name))) return undefined;
  const outcome = answered(domain, task, [...before, call]);
  const refused = rules.preconditions(stateAfter(domain, task, before), { id: 'probe', ...call }).length > 0;
  return refused ? { ...outcome, operations: [], isError: true } : outcome;
}

// Probes of a task share their first calls, and a real environment takes seconds for each.
const answers = new WeakMap<ToolsDomain, Map<string, ToolOutcome>>();

/** What the rules say to the last of some calls. */
function answered(domain: ToolsDomain, task: ToolsTask, calls: readonly CallSpec[]): ToolOutcome {
  const known = answers.get(domain) ?? new Map<string, ToolOutcome>();
  answers.set(domain, known);
  const key = canonicalJson([task.id, ...calls.map((call) => [call.name, call.arguments])]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const state = stateAfter(domain, task, calls.slice(0, -1));
  const outcome = domain.rules!.execute(state, { id: `probe-${calls.length}`, ...calls.at(-1)! });
  known.set(key, outcome);
  return outcome;
}

function stateAfter(domain: ToolsDomain, task: ToolsTask, calls: readonly CallSpec[]): JsonObject {
  return calls.reduce<JsonObject>(
    (state, _, i) => applyOperations(state, answered(domain, task, calls.slice(0, i + 1)).operations),
    initialStateOf(domain, task),
  );
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
export async function firstMade<T, R>(
  items: readonly T[],
  { keyOf, count, signal }: { keyOf: (item: T) => string; count: number; signal?: AbortSignal },
  make: (item: T) => R | undefined,
): Promise<R[]> {
  const made = new Map<string, number>();
  const all: R[] = [];
  for (const item of items) {
    const key = keyOf(item);
    const before = made.get(key) ?? 0;
    if (before >= count) continue;
    await takeTurn(signal);
    const one = make(item);
    if (one === undefined) continue;
    made.set(key, before + 1);
    all.push(one);
  }
  return all;
}
