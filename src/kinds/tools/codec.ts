// Turns of a conversation between memory and JSON.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { ValueCodec } from '../../core/kind.js';
import type { Message } from '../../env/tools/message.js';
import type { ToolsAction, ToolsObservation } from '../../env/tools/tools-family.js';

const call = z.strictObject({
  id: z.string().optional(),
  name: z.string(),
  arguments: z.record(z.string(), z.json()),
});
const turn = z.strictObject({
  content: z.string().nullable().default(null),
  reasoning: z.string().optional(),
  tool_calls: z.array(call).optional(),
});

/**
 * Observations are `{messages: [{role, content, tool_call_id?, name?, is_error?}]}`, those that are new; an action is a turn
 * `{content, tool_calls: [{id?, name, arguments}]}`.
 */
export const toolsCodec: ValueCodec = {
  encodeObservation: (observation) => ({ messages: (observation as ToolsObservation).messages.map(encodeMessage) }),
  decodeAction,
};

/** A message of the conversation. Thoughts of an agent are its own and not told. */
function encodeMessage(message: Message): Record<string, unknown> {
  const { role, content } = message;
  if (role === 'tool') {
    const { toolCallId, name, isError = false } = message;
    return { role, tool_call_id: toolCallId, name, content, is_error: isError };
  }
  if (role !== 'assistant' || message.toolCalls === undefined) return { role, content };
  const calls = message.toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
  return { role, content, tool_calls: calls };
}

function decodeAction(action: unknown): ToolsAction {
  const read = turn.safeParse(action);
  if (!read.success) {
    const [{ path, message }] = read.error.issues;
    throw reverieError('REQUEST_INVALID', { problem: `${['action', ...path].join('.')}: ${message}` });
  }
  const { content, reasoning, tool_calls: calls } = read.data;
  const toolCalls = calls?.map(({ id, name, arguments: given }, i) => ({
    id: id ?? `call_${i}`,
    name,
    arguments: given,
  }));
  return {
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
  } as ToolsAction;
}
