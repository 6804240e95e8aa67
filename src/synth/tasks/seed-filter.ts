// Leaves out seed logs that are incomplete, illogical or badly formatted, as Simia does before it simulates from them
// (2511.01824): those that a filter of datasets would change, that stop in the middle, and whose answers contradict the domain's rules
// or one another.

import { canonicalJson, isJsonObject, type Json } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { callsOf, type Message, type ToolCall, type ToolMessage } from '../../env/tools/message.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Filter } from '../quality/filter.js';
import { schemaFilter, structureFilter } from '../quality/form-filters.js';
import { playCalls } from './task-checks.js';

interface SeedFilterResult {
  readonly kept: readonly EpisodeRecord[];
  /** Each with one sentence why. */
  readonly rejected: readonly { readonly episode: EpisodeRecord; readonly reason: string }[];
}

export async function prefilterEpisodes(
  episodes: Iterable<EpisodeRecord>,
  domain: ToolsDomain,
): Promise<SeedFilterResult> {
  const filters = [structureFilter(), schemaFilter(domain)];
  const kept: EpisodeRecord[] = [];
  const rejected: { episode: EpisodeRecord; reason: string }[] = [];
  for (const episode of episodes) {
    const reason = formFault(episode, filters, domain) ?? (await contradiction(episode, domain));
    if (reason === undefined) kept.push(episode);
    else rejected.push({ episode, reason });
  }
  return { kept, rejected };
}

function formFault(episode: EpisodeRecord, filters: readonly Filter[], domain: ToolsDomain): string | undefined {
  const { messages } = episode;
  if (!messages.some(({ role }) => role === 'user')) return 'no user';
  for (const { judge } of filters) {
    const judgement = judge(episode, { domain, taskOf: () => undefined });
    if ('repaired' in judgement) return judgement.note;
    if (!judgement.keep) return judgement.reason;
  }
  return isEnd(messages.at(-1)!, messages.at(-2), domain) ? undefined : 'it stops in the middle';
}

/** It ends when the agent, or the user after the agent, has spoken, or when a tool has ended it. */
function isEnd(last: Message, before: Message | undefined, { tools }: ToolsDomain): boolean {
  if (last.role === 'assistant') return callsOf(last).length === 0;
  if (last.role === 'user') return before?.role === 'assistant';
  return last.role === 'tool' && !last.isError && tools.find(({ name }) => name === last.name)?.terminates === true;
}

interface Answered {
  readonly call: ToolCall;
  readonly answer: ToolMessage;
}

/** An answer that cannot be true: by the rules, where there are some, else by one another. */
async function contradiction({ messages, task }: EpisodeRecord, domain: ToolsDomain): Promise<string | undefined> {
  const answers = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each]] : [])));
  const answered = messages.flatMap(callsOf).flatMap((call): Answered[] => {
    const answer = answers.get(call.id);
    return answer === undefined ? [] : [{ call, answer }];
  });
  const known = domain.tasks.find(({ id }) => id === task);
  if (domain.rules === undefined || known === undefined) return changedRead(answered, domain);
  const calls = answered.map(({ call }) => call);
  const played = await playCalls({ domain, task: known, responder: rulesResponder(domain, 'rules') }, calls);
  const at = played.answers.findIndex(({ prediction }, i) =>
    contradicts(prediction.observation, answered[i].answer.content),
  );
  return at < 0 ? undefined : `the rules answer ${calls[at].name} (call ${at + 1}) otherwise than the log`;
}

function changedRead(answered: readonly Answered[], { tools }: ToolsDomain): string | undefined {
  const seen = new Map<string, string>();
  for (const { call, answer } of answered) {
    if (tools.find(({ name }) => name === call.name)?.kind === 'write') seen.clear();
    const key = canonicalJson([call.name, call.arguments]);
    const before = seen.get(key);
    if (before !== undefined && contradicts(before, answer.content))
      return `${call.name} answers the same call in two ways, and nothing was changed between`;
    seen.set(key, answer.content);
  }
  return undefined;
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
  if (isJsonObject(a) && isJsonObject(b))
    return Object.keys(a).some((key) => Object.hasOwn(b, key) && differs(a[key], b[key]));
  return a !== b;
}
