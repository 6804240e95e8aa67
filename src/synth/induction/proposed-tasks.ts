// Tasks and verifiers proposed from logs: what the user said becomes the user, what the agent did the reference, and what had
// changed at the end the verifier. Each is tested on the induced rules: its reference must pass and inaction must fail.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { DeclaredRules } from '../../env/tools/declared-rules.js';
import type { ToolsDomain, ToolsTask, VerifierSpec } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { Induction } from './induce.js';
import { isChange, listed, type ObservedCall, type ObservedLog, type Records, same } from './observed.js';

export interface ProposedTask {
  readonly task: ToolsTask;
  /** Why it can not be used as it stands; empty if it was tried and holds. */
  readonly problems: readonly string[];
}

type Tools = Pick<ToolsDomain, 'tools'>;

/** Of a log that is known to have failed there is none. */
export function proposeTasks(induction: Induction, domain: Tools): ProposedTask[] {
  return induction.logs.flatMap((log, i): ProposedTask[] => {
    if (log.reward !== null && log.reward < 1) return [];
    const task = taskOf(log, induction, i, domain);
    return task === undefined ? [] : [{ task, problems: problemsOf(task, induction, domain) }];
  });
}

function taskOf(log: ObservedLog, { beliefs, sha256 }: Induction, at: number, domain: Tools): ToolsTask | undefined {
  const said = log.messages.filter(({ role }) => role === 'user').map(({ content }) => content ?? '');
  if (said.length === 0) return undefined;
  const [opening, ...later] = said;
  const id = log.name.replaceAll(' ', '-');
  const say = lastSaid(log.messages);
  const script = later.map((line, i) => ({ say: line, ...(i === later.length - 1 ? { done: true } : {}) }));
  const calls = log.calls.filter(({ isError }) => !isError).map(callOf);
  // What it begins with otherwise than all are taken to; what only it knows of is no change.
  const changes = changesOf(beliefs.initial, beliefs.starts[at]).flatMap(({ path, equals, isNew }): Operation[] =>
    isNew ? [] : [{ op: 'replace', path, value: equals }],
  );
  return {
    id,
    family: id,
    split: 'train',
    user: { opening, goal: said.join('\n'), ...(script.length === 0 ? {} : { script }) },
    ...(changes.length === 0 ? {} : { initialOperations: changes }),
    verifier: verifierOf(log, beliefs.starts[at], beliefs.ends[at], domain),
    reference: { calls, ...(say === undefined ? {} : { say }) },
    origin: { seeds: [log.name], strategy: 'from-log', modelVersion: sha256.slice(0, 16) },
  };
}

function callOf({ tool, arguments: given }: ObservedCall) {
  return { name: tool.name, arguments: given };
}

function verifierOf(log: ObservedLog, start: Records, end: Records, { tools }: Tools): VerifierSpec {
  const assert = changesOf(start, end).map(({ path, equals }) => ({ path, equals }));
  const done = log.calls.filter(({ isError }) => !isError);
  const made = new Set(done.map(({ tool }) => tool.name));
  const isFinal = (call: ObservedCall) => call.tool.terminates === true || (isChange(call) && assert.length === 0);
  const called = done.filter(isFinal).map(callOf);
  const notCalled = tools.filter(({ kind, terminates, name }) => (kind === 'write' || terminates) && !made.has(name));
  const communicate = toldValues(log);
  const decides = assert.length + called.length + communicate.length > 0;
  return {
    ...(assert.length === 0 ? {} : { assert }),
    ...(communicate.length === 0 ? {} : { communicate }),
    ...(called.length === 0 && decides ? {} : { called: decides ? called : done.map(callOf) }),
    ...(notCalled.length === 0 ? {} : { notCalled: notCalled.map(({ name }) => name) }),
  };
}

interface StateChange {
  readonly path: string;
  readonly equals: Json;
  /** Whether there was nothing there before. */
  readonly isNew: boolean;
}

function changesOf(before: Records, after: Records): StateChange[] {
  return listed(after).flatMap(({ collection, key, fields }): StateChange[] => {
    const path = `/${collection}/${key}`;
    const was = before[collection]?.[key];
    if (was === undefined) return [{ path, equals: fields, isNew: true }];
    const changed = Object.keys(fields).filter((field) => !same(was[field] ?? null, fields[field]));
    return changed.map((field) => ({ path: `${path}/${field}`, equals: fields[field], isNew: !(field in was) }));
  });
}

/** Numbers and ids of answers that the agent told the user, who had not said them. */
function toldValues({ messages, calls }: ObservedLog): string[] {
  const told = lastSaid(messages) ?? '';
  const known = messages.flatMap(({ role, content }) => (role === 'user' ? [content ?? ''] : [])).join('\n');
  const values = calls.flatMap(({ answer }) => (answer === undefined ? [] : scalars(answer as Json)));
  const worth = [...new Set(values)].filter((value) => /\d/.test(value) && value.length > 1);
  return worth.filter((value) => hasWord(told, value) && !hasWord(known, value));
}

function scalars(value: Json): string[] {
  if (typeof value === 'object' && value !== null) return (Object.values(value) as Json[]).flatMap(scalars);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}

function hasWord(text: string, word: string): boolean {
  return text.split(/[^\p{L}\p{N}_-]+/u).includes(word);
}

function lastSaid(messages: readonly Message[]): string | undefined {
  return messages.findLast(({ role, content }) => role === 'assistant' && (content ?? '') !== '')?.content ?? undefined;
}

function problemsOf(task: ToolsTask, { state, schema, rules }: Induction, { tools }: Tools): string[] {
  const domain: ToolsDomain = {
    ...{ id: 'proposed', version: '', policy: '', tools, stateSchema: schema, initialState: state, tasks: [task] },
    close: () => {},
  };
  const initialState = applyOperations(state, task.initialOperations ?? []);
  const idle = verifyEpisode(domain, task, { initialState, finalState: initialState, messages: [] });
  const played = play(rules, initialState, task);
  if ('unknown' in played) return [`its reference cannot be played: ${played.unknown}`];
  const done = verifyEpisode(domain, task, { initialState, ...played });
  const failed = done.checks.filter(({ passed }) => passed !== true).map(({ name, reason }) => `${name}: ${reason}`);
  return [
    ...(idle.reward === 1 ? ['doing nothing passes its verifier'] : []),
    ...failed.map((reason) => `its reference fails its verifier: ${reason}`),
  ];
}

function play(rules: DeclaredRules, start: JsonObject, { reference }: ToolsTask) {
  let finalState = start;
  const messages: Message[] = [];
  for (const [i, call] of (reference?.calls ?? []).entries()) {
    if (!rules.tools.has(call.name)) return { unknown: `${call.name} (call ${i + 1}): no rules were found for it` };
    const outcome = rules.execute(finalState, call);
    finalState = applyOperations(finalState, outcome.operations);
    const toolCall = { id: `call-${i}`, ...call };
    const { observation: content, isError } = outcome;
    messages.push({ role: 'assistant', content: null, toolCalls: [toolCall] });
    messages.push({ role: 'tool', toolCallId: toolCall.id, name: call.name, content, isError });
  }
  if (reference?.say !== undefined) messages.push({ role: 'assistant', content: reference.say });
  return { finalState, messages };
}
