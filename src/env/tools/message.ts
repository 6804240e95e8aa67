// A conversation between an agent, a user and tools, in one internal form. Calls keep their arguments as an object, and
// beside it the text the model wrote, as malformed calls are worth learning from too. Ids are always there.

import type { JsonObject } from '../../core/canonical-json.js';

export interface ToolCall {
  /** Unique within an episode. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The arguments as the model wrote them, where they were not this object's JSON (malformed, then repaired). */
  readonly rawArguments?: string;
}

export interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
}

export interface UserMessage {
  readonly role: 'user';
  readonly content: string;
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
