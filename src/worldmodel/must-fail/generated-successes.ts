// Probes that must succeed, made from any domain: calls of its solutions, and calls that records show to be answered. The
// truth of each comes from the rules, from the record, or from the entries of the state that the call names.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { ExperienceStep } from '../../replay/experience/experience.js';
import { factsTold } from './answer-truth.js';
import {
  asProbeCall,
  asProbeCalls,
  callsOfSolutions,
  firstMade,
  firstOfEach,
  kindOf,
  outcomeOf,
  type PlacedCall,
} from './placed-calls.js';
import type { Probe } from './probe.js';

export interface SuccessOptions {
  readonly perTool?: number;
  /** Calls of the real environment, with its answers. */
  readonly records?: readonly ExperienceStep[];
  readonly signal?: AbortSignal;
}

/**
 * What a simulator that is any good does, `perTool` probes of each tool. A call that the rules do not know or refuse is no
 * probe, nor is a read whose true answer tells nothing: whoever says nothing would give it.
 * @throws the signal's reason, between calls of the rules
 */
export async function generateSuccesses(
  domain: ToolsDomain,
  { perTool = 2, records = [], signal }: SuccessOptions = {},
): Promise<Probe[]> {
  const answered = recordedReads(domain, records);
  const solutions = await firstMade(
    await callsOfSolutions(domain, signal),
    { keyOf: ({ call }) => call.name, count: perTool, signal },
    (each) => solutionProbe(domain, each, answered),
  );
  const known = new Set(solutions.map(({ call }) => canonicalJson(call!)));
  const recorded = answered.map(recordProbe).filter(({ call }) => !known.has(canonicalJson(call!)));
  return firstOfEach([...solutions, ...recorded], ({ call }) => call!.name, perTool);
}

function solutionProbe(domain: ToolsDomain, placed: PlacedCall, answered: readonly RecordedRead[]): Probe | undefined {
  const { task, before, call } = placed;
  const outcome = outcomeOf(domain, placed, call);
  if (outcome?.isError || (outcome === undefined && domain.rules !== undefined)) return undefined;
  const changes = outcome === undefined ? kindOf(domain, call) === 'write' : outcome.operations.length > 0;
  if (outcome !== undefined && !changes && !tellsSomething(outcome.observation, call.arguments)) return undefined;
  const name = `generated: ${call.name} as the solution calls it, call ${before.length + 1} (${task.id})`;
  const probe = {
    name,
    kind: 'possible',
    task: task.id,
    setup: asProbeCalls(before),
    call: asProbeCall(call),
  } as const;
  if (changes) return { ...probe, expect: 'change' };
  const truth = outcome === undefined ? truthWithoutRules(domain, placed, answered) : undefined;
  return { ...probe, expect: 'answer', ...(truth === undefined ? {} : { truth }) };
}

/** What a record says to this very call, or the entries of the state that it names; undefined where neither is there. */
function truthWithoutRules(
  domain: ToolsDomain,
  { task, before, call }: PlacedCall,
  answered: readonly RecordedRead[],
): Probe['truth'] {
  const asked = canonicalJson([call.name, call.arguments]);
  const record = answered.find(({ step }) => canonicalJson([step.call.name, step.call.arguments]) === asked);
  const isUnchanged = !before.some((each) => kindOf(domain, each) === 'write');
  if (record !== undefined && isUnchanged) return { says: record.step.observation, from: 'record' };
  // Changes before it are of a part of the entries; the rest is as it was.
  const entries = entriesAbout(initialStateOf(domain, task), call.arguments);
  return entries && { says: JSON.stringify(entries), from: 'state' };
}

/** Entries of the state's collections that an argument names, and those that name the same; undefined where there is none. */
function entriesAbout(state: JsonObject, given: JsonObject): JsonObject[] | undefined {
  const collections = Object.values(state).filter(isJsonObject);
  const ids = Object.values(given)
    .filter((value) => typeof value === 'string')
    .filter((value) => collections.some((entries) => isJsonObject(entries[value])));
  if (ids.length === 0) return undefined;
  const isAbout = (id: string, entry: Json) => ids.includes(id) || ids.some((named) => hasValue(entry, named));
  return collections.flatMap((entries) =>
    Object.entries(entries)
      .filter(([id, entry]) => isAbout(id, entry))
      .map(([id, entry]): JsonObject => ({ id, entry })),
  );
}

function hasValue(value: Json, wanted: string): boolean {
  if (typeof value !== 'object' || value === null) return value === wanted;
  return Object.values(value).some((part) => hasValue(part as Json, wanted));
}

/** A read that the real environment answered before anything was changed. */
interface RecordedRead {
  readonly step: ExperienceStep;
  readonly task: string | undefined;
}

function recordedReads(domain: ToolsDomain, records: readonly ExperienceStep[]): RecordedRead[] {
  const reads = new Set(domain.tools.filter(({ kind }) => kind === 'read').map(({ name }) => name));
  const tasks = new Set(domain.tasks.map(({ id }) => id));
  return records.flatMap((step): RecordedRead[] => {
    const isUnchanged = step.step === step.history.length && step.history.every((line) => reads.has(nameIn(line)));
    const isRead = reads.has(step.call.name) && !step.isError && isUnchanged;
    if (!isRead || !tellsSomething(step.observation, step.call.arguments)) return [];
    return [{ step, task: tasks.has(step.task) ? step.task : undefined }];
  });
}

/** Lines of a history are `name(arguments)`. */
function nameIn(line: string): string {
  return line.slice(0, line.indexOf('('));
}

function recordProbe({ step, task }: RecordedRead): Probe {
  const { call, observation, episode } = step;
  return {
    name: `recorded: ${call.name}, call ${step.step + 1} of ${episode}`,
    kind: 'possible',
    ...(task === undefined ? {} : { task }),
    setup: [],
    call: asProbeCall(call),
    expect: 'answer',
    truth: { says: observation, from: 'record' },
  };
}

function tellsSomething(answer: string, given: JsonObject): boolean {
  return [...factsTold(answer, given)].some((fact) => !/:(true|false|null)$/.test(fact));
}
