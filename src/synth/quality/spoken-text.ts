// What of an episode is its own: what the user said and what the agent said and called. The policy and the tools' answers
// are the domain's, alike in all episodes.

import { canonicalJson } from '../../core/canonical-json.js';
import type { Message } from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';

/** User's and agent's text, and the agent's calls with their arguments, in order. */
export function spokenText(record: EpisodeRecord): string {
  return record.messages.map(partOf).join('\n');
}

function partOf(message: Message): string {
  if (message.role === 'user') return message.content;
  if (message.role !== 'assistant') return '';
  const calls = message.toolCalls?.map((call) => `${call.name} ${canonicalJson(call.arguments)}`) ?? [];
  return [message.content ?? '', ...calls].join('\n');
}
