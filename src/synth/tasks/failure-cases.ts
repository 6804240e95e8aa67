// Ways to fail a task, made from its reference solution: what a verifier that can be trusted must refuse.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { Entities, isRecord } from './entities.js';
import type { Played } from './task-play.js';
import { wishOf } from './task-text.js';

export interface FailureCase {
  readonly name: string;
  readonly calls: readonly CallSpec[];
  readonly say?: string;
}

/**
 * Doing nothing, saying nothing; and where a change is demanded: claiming without doing, one write left out, one write on
 * another entity, one argument that the user named swapped. At most `most`, in this order.
 */
export function failureCases(
  { tools }: ToolsDomain,
  task: ToolsTask,
  reference: Played,
  { demandsChange, most }: { demandsChange: boolean; most: number },
): FailureCase[] {
  const calls = task.reference?.calls ?? [];
  const say = task.reference?.say;
  const mustTell = (task.verifier.communicate ?? []).length > 0;
  const writes = reference.answers.flatMap(({ prediction }, i) => (prediction.operations.length > 0 ? [i] : []));
  const reads = calls.filter((_, i) => !writes.includes(i));
  const cases: FailureCase[] = [];
  if (demandsChange || mustTell) cases.push({ name: 'does nothing', calls: [] });
  if (mustTell) cases.push({ name: 'tells nothing', calls });
  if (demandsChange) {
    cases.push({ name: 'claims without doing', calls: reads, say: say ?? 'Done.' });
    if (writes.length > 1) cases.push(...writes.map((i) => dropped(calls, i, say)));
    for (const i of writes) cases.push(...elsewhere(reference, calls, i, say));
    for (const i of writes) cases.push(...swapped(tools, task, calls, i, say));
  }
  return cases.slice(0, most);
}

function dropped(calls: readonly CallSpec[], at: number, say?: string): FailureCase {
  return { name: `leaves out ${calls[at].name} (call ${at + 1})`, calls: calls.filter((_, i) => i !== at), say };
}

/** The write made on another entity of the same collection; one for each argument that names one. */
function elsewhere(reference: Played, calls: readonly CallSpec[], at: number, say?: string): FailureCase[] {
  const entities = new Entities(reference.end.initialState);
  return Object.entries(calls[at].arguments).flatMap(([key, value]) => {
    const entity = typeof value === 'string' ? entities.find(value) : undefined;
    if (entity === undefined) return [];
    const others = [...entities.collections.get(entity.collection)!.keys()];
    const other = others[(others.indexOf(entity.id) + 1) % others.length];
    if (other === entity.id) return [];
    return [{ name: `${calls[at].name} with ${key} ${other}`, calls: withArgument(calls, at, key, other), say }];
  });
}

/** Arguments whose value the user names: another value is another wish. */
function swapped(
  tools: ToolsDomain['tools'],
  task: ToolsTask,
  calls: readonly CallSpec[],
  at: number,
  say?: string,
): FailureCase[] {
  const tool = tools.find(({ name }) => name === calls[at].name);
  const properties = (tool?.parameters.properties ?? {}) as JsonObject;
  const wish = spoken(wishOf(task));
  return Object.entries(calls[at].arguments).flatMap(([key, value]) => {
    const other = otherValue(value, properties[key]);
    if (other === undefined || !isNamed(wish, value)) return [];
    const name = `${calls[at].name} with ${key} ${JSON.stringify(other)}`;
    return [{ name, calls: withArgument(calls, at, key, other), say }];
  });
}

/** Another value that the schema allows, where that is easily found. */
export function otherValue(value: Json, schema: Json | undefined): Json | undefined {
  const choices = isRecord(schema ?? null) ? (schema as JsonObject).enum : undefined;
  if (Array.isArray(choices)) return choices.find((choice) => choice !== value);
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  return undefined;
}

function withArgument(calls: readonly CallSpec[], at: number, key: string, value: Json): CallSpec[] {
  return calls.map((call, i) => (i === at ? { ...call, arguments: { ...call.arguments, [key]: value } } : call));
}

function isNamed(wish: string, value: Json): boolean {
  if (typeof value === 'number') return new RegExp(`(?<![\\d.])${value}(?![\\d]|\\.\\d)`).test(wish);
  return typeof value === 'string' && value.length > 0 && wish.includes(spoken(value));
}

function spoken(text: string): string {
  return text.toLowerCase().replaceAll('_', ' ');
}
