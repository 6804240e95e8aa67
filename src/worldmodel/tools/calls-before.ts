// The calls of an episode before the one at hand, as retrieval compares them.

import type { CallQuery } from '../../env/tools/tools-family.js';
import { callText, MAX_HISTORY } from '../../replay/experience/terms.js';

/** The last eight, oldest first, each `name(arguments)`. */
export function callsBefore({ messages, call }: Pick<CallQuery, 'messages' | 'call'>): string[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const at = calls.findIndex(({ id }) => id === call.id);
  const before = at < 0 ? calls : calls.slice(0, at);
  return before.slice(-MAX_HISTORY).map(callText);
}
