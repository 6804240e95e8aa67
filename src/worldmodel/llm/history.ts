// The conversation as a simulator may see it: no policy, no thoughts of the agent, and only what came before the call.

import type { JsonObject } from '../../core/canonical-json.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import { estimateTokens } from '../../llm/completion.js';
import { clipped } from './sections.js';

const MAX_CONTENT_CHARS = 4_000;

/** Newest messages within `tokens`, oldest first; of longer ones `chars` characters. */
export function historyOf(
  { messages, call }: Pick<CallQuery, 'messages' | 'call'>,
  tokens: number,
  chars = MAX_CONTENT_CHARS,
): JsonObject[] {
  const entries = messages.flatMap((message) => entryOf(message, call.id, Math.min(chars, MAX_CONTENT_CHARS)));
  let left = tokens;
  let from = entries.length;
  while (from > 0) {
    left -= estimateTokens(JSON.stringify(entries[from - 1]));
    if (left < 0) break;
    from -= 1;
  }
  return entries.slice(from);
}

function entryOf(message: Message, currentCall: string, chars: number): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [];
    case 'user':
      return [{ role: 'user', content: clipped(message.content, chars) }];
    case 'tool': {
      const content = clipped(message.content, chars);
      return [{ role: 'tool', name: message.name, content, error: message.isError === true }];
    }
    case 'assistant': {
      const content = clipped(message.content ?? '', chars);
      const calls = callsUntil(message.toolCalls ?? [], currentCall);
      if (content === '' && calls.length === 0) return [];
      return [{ role: 'assistant', content, calls }];
    }
  }
}

function callsUntil(calls: readonly ToolCall[], current: string): JsonObject[] {
  const at = calls.findIndex(({ id }) => id === current);
  return (at < 0 ? calls : calls.slice(0, at)).map(({ name, arguments: given }) => ({ name, arguments: given }));
}
