// What can be read off a conversation: what the user was told, and which calls succeeded.

import type { Message, ToolCall } from './message.js';

/** A message of the conversation that the user sees: their own, or what the agent said to them. */
export interface SpokenMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/**
 * The conversation as the user sees it: no policy, no calls, no answers of tools, no thoughts. What an agent writes beside
 * its calls was said only if a user's turn followed it (environments made with `allowSayAndCall`).
 */
export function spokenMessages(messages: readonly Message[]): SpokenMessage[] {
  return messages.flatMap((message, i): SpokenMessage[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.content }];
    if (message.role !== 'assistant' || !message.content?.trim()) return [];
    if (message.toolCalls?.length && !isAnsweredByUser(messages, i)) return [];
    return [{ role: 'assistant', content: message.content }];
  });
}

/** Calls whose tool message reports no error, in order. A call without an answer did not succeed. */
export function successfulCalls(messages: readonly Message[]): ToolCall[] {
  const succeeded = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool' && message.isError !== true) succeeded.add(message.toolCallId);
  }
  return messages.flatMap(callsOf).filter(({ id }) => succeeded.has(id));
}

function isAnsweredByUser(messages: readonly Message[], at: number): boolean {
  return messages.slice(at + 1).find(({ role }) => role !== 'tool')?.role === 'user';
}

/** The calls of a message; none where it is not the agent's. */
export function callsOf(message: Message): readonly ToolCall[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []) : [];
}
