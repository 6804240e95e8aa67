// Leaves out seed logs that are incomplete, illogical or badly formatted, as Simia does before it simulates from them
// (2511.01824): what a conversation with tools can never look like, and answers that contradict the domain's rules or one another.

import { canonicalJson, type Json } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { callsOf, type Message, type ToolCall, type ToolMessage } from '../../env/tools/message.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { isRecord } from './entities.js';
import { callFaults, playCalls } from './task-checks.js';

/** Why a seed is left out, by kind. */
type SeedFault =
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
  | 'contradiction';

interface SeedReason {
  readonly code: SeedFault;
  readonly detail: string;
}

interface SeedFilterResult {
  readonly kept: readonly EpisodeRecord[];
  readonly rejected: readonly { readonly episode: EpisodeRecord; readonly reasons: readonly SeedReason[] }[];
}

export async function prefilterEpisodes(
  episodes: Iterable<EpisodeRecord>,
  domain: ToolsDomain,
): Promise<SeedFilterResult> {
  const kept: EpisodeRecord[] = [];
  const rejected: { episode: EpisodeRecord; reasons: readonly SeedReason[] }[] = [];
  for (const episode of episodes) {
    const formal = formFaults(episode.messages, domain);
    const reasons = formal.length > 0 ? formal : await contradictions(episode, domain);
    if (reasons.length > 0) rejected.push({ episode, reasons });
    else kept.push(episode);
  }
  return { kept, rejected };
}

/** Every fault of form; cheap. */
function formFaults(messages: readonly Message[], domain: ToolsDomain): SeedReason[] {
  const faults: SeedReason[] = [];
  const add = (code: SeedFault, detail: string) => faults.push({ code, detail });
  for (const role of ['user', 'assistant'] as const)
    if (!messages.some((message) => message.role === role)) add('incomplete', `it has no ${role}`);
  const empty = messages.findIndex(
    (message) => message.role === 'assistant' && !message.content?.trim() && !message.toolCalls?.length,
  );
  if (empty >= 0) add('malformed', `message ${empty + 1} says and does nothing`);
  const open = new Map<string, string>();
  const used = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'tool') {
      for (const name of open.values()) add('unanswered_call', `${name} is never answered`);
      open.clear();
    } else if (!open.delete(message.toolCallId)) add('malformed', `${message.name} answers a call that was not made`);
    for (const { id, name } of callsOf(message)) {
      if (used.has(id)) add('malformed', `two calls have the id "${id}"`);
      used.add(id);
      open.set(id, name);
    }
  }
  for (const name of open.values()) add('no_end', `it stops before ${name} is answered`);
  for (const call of messages.flatMap(callsOf)) {
    if (!domain.tools.some(({ name }) => name === call.name)) add('unknown_tool', `there is no tool "${call.name}"`);
    else if (call.rawArguments !== undefined)
      add(
        'bad_arguments',
        `${call.name} was called with "${call.rawArguments.slice(0, 100)}", which is no JSON object`,
      );
    else for (const detail of callFaults(domain, [call])) add('bad_arguments', detail);
  }
  const last = messages.at(-1);
  if (last !== undefined && !isEnd(last, messages.at(-2), domain))
    add('no_end', `its last message is of role ${last.role}, and nothing follows`);
  return faults;
}

/** It ends when the agent, or the user after the agent, has spoken, or when a tool has ended it. */
function isEnd(last: Message, before: Message | undefined, { tools }: ToolsDomain): boolean {
  // A call that is left open is a fault of its own.
  if (last.role === 'assistant') return true;
  if (last.role === 'user') return before?.role === 'assistant';
  return last.role === 'tool' && !last.isError && tools.find(({ name }) => name === last.name)?.terminates === true;
}

interface Answered {
  readonly call: ToolCall;
  readonly answer: ToolMessage;
}

/** Answers that cannot be true: by the rules, where there are some, else by one another. */
async function contradictions({ messages, task }: EpisodeRecord, domain: ToolsDomain): Promise<SeedReason[]> {
  const answers = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each]] : [])));
  const answered = messages.flatMap(callsOf).flatMap((call): Answered[] => {
    const answer = answers.get(call.id);
    return answer === undefined ? [] : [{ call, answer }];
  });
  const known = domain.tasks.find(({ id }) => id === task);
  if (domain.rules === undefined || known === undefined) return changedReads(answered, domain);
  const calls = answered.map(({ call }) => call);
  const played = await playCalls({ domain, task: known, responder: rulesResponder(domain, 'rules') }, calls);
  const at = played.answers.findIndex(({ prediction }, i) =>
    contradicts(prediction.observation, answered[i].answer.content),
  );
  const detail = `the rules answer ${calls[at]?.name} (call ${at + 1}) otherwise than the log`;
  return at < 0 ? [] : [{ code: 'contradiction', detail }];
}

function changedReads(answered: readonly Answered[], { tools }: ToolsDomain): SeedReason[] {
  const seen = new Map<string, string>();
  for (const { call, answer } of answered) {
    if (tools.find(({ name }) => name === call.name)?.kind === 'write') seen.clear();
    const key = canonicalJson([call.name, call.arguments]);
    const before = seen.get(key);
    const detail = `${call.name} answers the same call in two ways, and nothing was changed between`;
    if (before !== undefined && contradicts(before, answer.content)) return [{ code: 'contradiction', detail }];
    seen.set(key, answer.content);
  }
  return [];
}

/**
 * Whether two answers cannot both be true: one an error and the other not, or JSON that differs where both say something.
 * Words and further keys may differ, as they do from one version of a system to the next.
 */
export function contradicts(a: string, b: string): boolean {
  if (a === b) return false;
  const [isErrorA, isErrorB] = [a, b].map((text) => /^\s*error\b/i.test(text));
  if (isErrorA || isErrorB) return isErrorA !== isErrorB;
  try {
    return differs(JSON.parse(a), JSON.parse(b));
  } catch {
    return false;
  }
}

function differs(a: Json, b: Json): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length !== b.length || a.some((part, i) => differs(part, b[i]));
  if (isRecord(a) && isRecord(b)) return Object.keys(a).some((key) => Object.hasOwn(b, key) && differs(a[key], b[key]));
  return a !== b;
}
