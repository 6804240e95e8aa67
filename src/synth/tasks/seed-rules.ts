// What is wrong with a seed log by rule: what a conversation with tools can never look like, and answers that contradict
// the domain's rules or one another.

import { canonicalJson, type Json } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { Message, ToolCall, ToolMessage } from '../../env/tools/message.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { isRecord } from './entities.js';
import { callFaults, playCalls } from './task-play.js';

/** Why a seed is left out, by kind. */
export type SeedFault =
  /** Nobody wishes anything, or nobody acts. */
  | 'incomplete'
  /** A turn that says and does nothing; ids used twice; an answer to no call. */
  | 'malformed'
  | 'unknown_tool'
  | 'bad_arguments'
  | 'unanswered_call'
  /** It stops in the middle. */
  | 'no_end'
  /** An answer that the rules, or an earlier answer, contradict. */
  | 'contradiction'
  /** A language model found it senseless. */
  | 'opinion';

export interface SeedReason {
  readonly code: SeedFault;
  readonly detail: string;
}

/** Every fault of form; cheap. */
export function formFaults({ messages }: EpisodeRecord, domain: ToolsDomain): SeedReason[] {
  return [
    ...partFaults(messages),
    ...answerFaults(messages),
    ...argumentFaults(messages, domain),
    ...endFaults(messages, domain),
  ];
}

/** Answers that cannot be true: by the rules, where there are some, else by one another. */
export async function contradictions(
  { messages, task }: EpisodeRecord,
  domain: ToolsDomain,
  replay: boolean,
): Promise<SeedReason[]> {
  const answered = answeredCalls(messages);
  const known = domain.tasks.find(({ id }) => id === task);
  if (replay && domain.rules !== undefined && known !== undefined) {
    const calls = answered.map(({ call }) => call);
    const { answers } = await playCalls({ domain, task: known, responder: rulesResponder(domain, 'rules') }, calls);
    const at = answers.findIndex(({ prediction }, i) =>
      contradicts(prediction.observation, answered[i].answer.content),
    );
    return at < 0 ? [] : [contradiction(`the rules answer ${calls[at].name} (call ${at + 1}) otherwise than the log`)];
  }
  return changedReads(answered, domain);
}

interface Answered {
  readonly call: ToolCall;
  readonly answer: ToolMessage;
}

function answeredCalls(messages: readonly Message[]): Answered[] {
  const answers = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])),
  );
  return callsOf(messages).flatMap((call) => {
    const answer = answers.get(call.id);
    return answer === undefined ? [] : [{ call, answer }];
  });
}

function callsOf(messages: readonly Message[]): ToolCall[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
}

function partFaults(messages: readonly Message[]): SeedReason[] {
  const faults: SeedReason[] = [];
  for (const role of ['user', 'assistant'] as const)
    if (!messages.some((message) => message.role === role))
      faults.push({ code: 'incomplete', detail: `it has no ${role}` });
  const empty = messages.findIndex(
    (message) => message.role === 'assistant' && !message.content?.trim() && !message.toolCalls?.length,
  );
  if (empty >= 0) faults.push({ code: 'malformed', detail: `message ${empty + 1} says and does nothing` });
  return faults;
}

function answerFaults(messages: readonly Message[]): SeedReason[] {
  const faults: SeedReason[] = [];
  const open = new Map<string, string>();
  const used = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId))
        faults.push({ code: 'malformed', detail: `${message.name} answers a call that was not made` });
    } else if (open.size > 0) {
      for (const name of open.values()) faults.push({ code: 'unanswered_call', detail: `${name} is never answered` });
      open.clear();
    }
    for (const { id, name } of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      if (used.has(id)) faults.push({ code: 'malformed', detail: `two calls have the id "${id}"` });
      used.add(id);
      open.set(id, name);
    }
  }
  for (const name of open.values()) faults.push({ code: 'no_end', detail: `it stops before ${name} is answered` });
  return faults;
}

function argumentFaults(messages: readonly Message[], domain: ToolsDomain): SeedReason[] {
  const known = new Set(domain.tools.map(({ name }) => name));
  return callsOf(messages).flatMap((call): SeedReason[] => {
    if (!known.has(call.name)) return [{ code: 'unknown_tool', detail: `there is no tool "${call.name}"` }];
    if (call.rawArguments !== undefined)
      return [
        {
          code: 'bad_arguments',
          detail: `${call.name} was called with "${call.rawArguments.slice(0, 100)}", which is no JSON object`,
        },
      ];
    return callFaults(domain, [call]).map((detail) => ({ code: 'bad_arguments', detail }));
  });
}

/** It ends when the agent, or the user after the agent, has spoken, or when a tool has ended it. */
function endFaults(messages: readonly Message[], { tools }: ToolsDomain): SeedReason[] {
  const last = messages.at(-1);
  const before = messages.at(-2);
  if (last === undefined) return [];
  if (last.role === 'assistant' && !last.toolCalls?.length) return [];
  if (last.role === 'user' && before?.role === 'assistant') return [];
  if (last.role === 'tool' && !last.isError && tools.find(({ name }) => name === last.name)?.terminates) return [];
  if (last.role === 'assistant') return [];
  return [{ code: 'no_end', detail: `its last message is of role ${last.role}, and nothing follows` }];
}

function changedReads(answered: readonly Answered[], { tools }: ToolsDomain): SeedReason[] {
  const isRead = (name: string) => tools.find((tool) => tool.name === name)?.kind !== 'write';
  const seen = new Map<string, string>();
  for (const { call, answer } of answered) {
    if (!isRead(call.name)) seen.clear();
    const key = canonicalJson([call.name, call.arguments]);
    const before = seen.get(key);
    if (before !== undefined && contradicts(before, answer.content))
      return [contradiction(`${call.name} answers the same call in two ways, and nothing was changed between`)];
    seen.set(key, answer.content);
  }
  return [];
}

function contradiction(detail: string): SeedReason {
  return { code: 'contradiction', detail };
}

/**
 * Whether two answers cannot both be true: one an error and the other not, or JSON that differs where both say something.
 * Words and further keys may differ, as they do from one version of a system to the next.
 */
export function contradicts(a: string, b: string): boolean {
  if (a === b) return false;
  if (isErrorText(a) || isErrorText(b)) return isErrorText(a) !== isErrorText(b);
  try {
    return differs(JSON.parse(a), JSON.parse(b));
  } catch {
    return false;
  }
}

function isErrorText(text: string): boolean {
  return /^\s*error\b/i.test(text);
}

function differs(a: Json, b: Json): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length !== b.length || a.some((part, i) => differs(part, b[i]));
  if (isRecord(a) && isRecord(b)) return Object.keys(a).some((key) => Object.hasOwn(b, key) && differs(a[key], b[key]));
  return a !== b;
}
