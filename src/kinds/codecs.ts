// Values of each kind of world between memory and JSON.

import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import type { ValueCodec } from '../core/kind.js';
import type { Message } from '../env/tools/message.js';
import type { ToolsAction, ToolsObservation } from '../env/tools/tools-family.js';

const refused = (problem: string) => reverieError('REQUEST_INVALID', { problem });

/** A row is a list of numbers, whatever its space; a value that is discrete, or the only one, may also be a number alone. */
export const vectorCodec: ValueCodec = {
  encodeObservation: (observation) => {
    const row = observation as Float32Array;
    const values: number[] = [];
    // `Array.from`, which walks a row by its iterator, takes several times as long.
    for (let i = 0; i < row.length; i++) values.push(row[i]);
    return values;
  },
  decodeAction: (action) => {
    const values = typeof action === 'number' ? [action] : action;
    if (Array.isArray(values) && values.every((value) => typeof value === 'number')) return new Float32Array(values);
    throw refused('action: expected a number or a list of numbers');
  },
};

export const textCodec: ValueCodec = {
  encodeObservation: (observation) => observation,
  decodeAction: (action) => {
    if (typeof action === 'string') return action;
    throw refused('action: expected a string');
  },
};

const turn = z.strictObject({
  content: z.string().nullable().default(null),
  reasoning: z.string().optional(),
  tool_calls: z
    .array(z.strictObject({ id: z.string().optional(), name: z.string(), arguments: z.record(z.string(), z.json()) }))
    .optional(),
});

/**
 * Observations are `{messages: [{role, content, tool_call_id?, name?, is_error?}]}`, those that are new; an action is a turn
 * `{content, tool_calls: [{id?, name, arguments}]}`.
 */
export const toolsCodec: ValueCodec = {
  encodeObservation: (observation) => ({ messages: (observation as ToolsObservation).messages.map(encodeMessage) }),
  decodeAction: (action) => {
    const read = turn.safeParse(action);
    if (!read.success) {
      const [{ path, message }] = read.error.issues;
      throw refused(`${['action', ...path].join('.')}: ${message}`);
    }
    const { content, reasoning, tool_calls: calls } = read.data;
    const toolCalls = calls?.map((call, i) => ({ ...call, id: call.id ?? `call_${i}` }));
    return { content, ...(reasoning !== undefined && { reasoning }), ...(toolCalls && { toolCalls }) } as ToolsAction;
  },
};

/** Without the thoughts of an agent, which are its own. */
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
