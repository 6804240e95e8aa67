// Leaves out seed logs that are incomplete or badly formatted, as Simia does before it simulates from them (2511.01824): those that a
// filter of datasets would change, and those that stop in the middle.

import type { ToolsDomain } from '../../env/tools/domain.js';
import { callsOf, type Message } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { schemaFilter, structureFilter } from '../quality/form-filters.js';

/** Why a log is no seed; undefined where it is one. */
export function seedFault(episode: EpisodeRecord, domain: ToolsDomain): string | undefined {
  const { messages } = episode;
  if (!messages.some(({ role }) => role === 'user')) return 'no user';
  for (const { judge } of [structureFilter(), schemaFilter(domain)]) {
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
