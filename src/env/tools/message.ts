// A conversation between an agent, a user and tools, in one internal form. Calls keep their arguments as an object, and
// beside it the text the model wrote, as malformed calls are worth learning from too. Ids are always there.

import { canonicalJson, type JsonObject } from '../../core/canonical-json.js';

export interface ToolCall {
  /** Unique within an episode. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The arguments as the model wrote them, where they were not this object's JSON (malformed, then repaired). */
  readonly rawArguments?: string;
}

interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
}

/** A call of the user's own tools, with its answer. */
export interface UserCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly answer: string;
  readonly isError?: boolean;
}

interface UserMessage {
  readonly role: 'user';
  readonly content: string;
  /** Calls that the user made before it spoke; hidden from the agent. */
  readonly calls?: readonly UserCall[];
}

export interface AssistantMessage {
  readonly role: 'assistant';
  /** What is said to the user; null or empty in a turn of calls alone. */
  readonly content: string | null;
  /** Thoughts before answer and calls; never shown to the user or to a simulator. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly toolCallId: string;
  readonly name: string;
  readonly content: string;
  readonly isError?: boolean;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A message of the conversation that the user sees: their own, or what the agent said to them. */
export interface SpokenMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/**
 * The conversation as the user sees it: no policy, no calls, no answers of tools, no thoughts. What an agent writes beside
 * its calls was said only if a user's turn followed it, as in some logs.
 */
export function spokenMessages(messages: readonly Message[]): SpokenMessage[] {
  return messages.flatMap((_, i) => spokenAt(messages, i) ?? []);
}

/** The text of one message to or from the user; undefined if it has none. */
export function spokenAt(messages: readonly Message[], at: number): SpokenMessage | undefined {
  const message = messages[at];
  if (message.role === 'user') return { role: 'user', content: message.content };
  if (message.role !== 'assistant' || !message.content?.trim()) return undefined;
  const next = messages.slice(at + 1).find(({ role }) => role !== 'tool');
  if (message.toolCalls?.length && next?.role !== 'user') return undefined;
  return { role: 'assistant', content: message.content };
}

/** The conversation as the agent sees it. */
export function seenByAgent(messages: readonly Message[]): readonly Message[] {
  const hides = (message: Message) => message.role === 'user' && message.calls !== undefined;
  if (!messages.some(hides)) return messages;
  return messages.map((message) => (hides(message) ? { role: 'user', content: message.content! } : message));
}

/** Calls whose tool message reports no error, in order. A call without an answer did not succeed. */
export function successfulCalls(messages: readonly Message[]): ToolCall[] {
  const succeeded = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool' && message.isError !== true) succeeded.add(message.toolCallId);
  }
  return messages.flatMap(callsOf).filter(({ id }) => succeeded.has(id));
}

export function callsOf(message: Message): readonly ToolCall[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []) : [];
}

/** Equal for calls of one tool with equal arguments. */
export function keyOf({ name, arguments: given }: Pick<ToolCall, 'name' | 'arguments'>): string {
  return canonicalJson([name, given]);
}
