// Text that looks like what a chat template writes between turns. Whoever gets such a token into a user's or a tool's text
// would speak as someone else once the conversation is one text: formats that are text escape it, all of them count it.

import type { Message } from '../../../env/index.js';

const SPECIAL =
  /<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|<\/?(?:tool_call|tool_response|tools|think|s)>|\[\/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<(?:start|end)_of_turn>/gi;

export function hasSpecialTokens(message: Message): boolean {
  const parts = [message.content ?? ''];
  if (message.role === 'assistant') {
    parts.push(message.reasoning ?? '', ...(message.toolCalls ?? []).map((call) => JSON.stringify(call.arguments)));
  }
  return message.role !== 'system' && parts.some((part) => part.search(SPECIAL) >= 0);
}

/** The text with such tokens made harmless: their first character as a character reference. */
export function escapeText(text: string): string {
  return text.replace(SPECIAL, (token) => (token[0] === '<' ? `&lt;${token.slice(1)}` : `&#91;${token.slice(1)}`));
}

/** JSON with such tokens made harmless, losing nothing: their first character as a JSON escape. */
export function escapeJson(json: string): string {
  return json.replace(SPECIAL, (token) => (token[0] === '<' ? `\\u003c${token.slice(1)}` : `\\u005b${token.slice(1)}`));
}
