// Conversations as chat messages: as OpenAI's API has them, and as chat templates (and TRL) want them.

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { AssistantMessage, Message, ToolCall } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';

export interface ToolDefinition extends JsonObject {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject };
}

export function toolDefinitions(domain: ToolsDomain): ToolDefinition[] {
  return domain.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

/** OpenAI's form: arguments are a JSON text, answers name the call they answer; no thoughts. */
export function openAiMessage(message: Message): JsonObject {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = callsOf(message);
  const content = message.content || null;
  return { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls.map(openAiCall) }) };
}

export function openAiCall({ id, name, arguments: values }: ToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(values) } };
}

/** The form of chat templates (TRL): arguments are objects, answers name their tool, thoughts are `reasoning_content`. */
export function templateMessage(message: Message): JsonObject {
  if (message.role === 'tool') return { role: 'tool', name: message.name, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = callsOf(message).map(({ name, arguments: values }) => ({
    type: 'function',
    function: { name, arguments: values },
  }));
  return {
    role: 'assistant',
    content: message.content ?? '',
    ...(message.reasoning && { reasoning_content: message.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Whether a call has a number that is no whole one, or too large for one: these are not the same in every reader of JSON. */
export function hasFractions(messages: readonly Message[]): boolean {
  return messages.some(
    (message) => message.role === 'assistant' && callsOf(message).some((call) => hasFraction(call.arguments)),
  );
}

function hasFraction(value: Json): boolean {
  if (typeof value === 'number') return !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasFraction);
}

export function callsOf(message: AssistantMessage): readonly ToolCall[] {
  return message.toolCalls ?? [];
}

/** How many messages there are up to and including the agent's last; 0 if it never acts. */
export function lengthToLastTurn(messages: readonly Message[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant') + 1;
}

/** How many messages come before the agent first acts. */
export function lengthOfStart(messages: readonly Message[]): number {
  const first = messages.findIndex((message) => message.role === 'assistant');
  return first < 0 ? messages.length : first;
}

/**
 * The messages to learn from, for formats that learn from every turn of the agent: up to its last one, and not past one
 * that is masked. Empty where nothing is left.
 */
export function unmaskedMessages(record: EpisodeRecord, adapt: (reason: string) => void): readonly Message[] {
  const masked = record.masked?.[0] ?? record.messages.length;
  if (masked < record.messages.length) adapt('cut before a masked turn');
  return toLastTurn(record.messages.slice(0, masked), adapt);
}

export function toLastTurn(messages: readonly Message[], adapt: (reason: string) => void): readonly Message[] {
  const length = lengthToLastTurn(messages);
  if (length === 0) adapt('left out: no turn to learn from');
  else if (length < messages.length) adapt("messages after the agent's last turn left out");
  return messages.slice(0, length);
}
