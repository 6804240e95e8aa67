// Observations and actions between memory and JSON: rows of float32 are lists of numbers, a discrete value is a number.

import { z } from 'zod';
import type { ToolsAction } from '../../env/index.js';
import { reverieError } from '../../errors.js';
import type { Servable } from '../../run/index.js';
import type { Action } from './session-contract.js';

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

/** A row as a list; anything else is JSON already. */
export function encodeObservation(observation: unknown): unknown {
  return observation instanceof Float32Array ? Array.from(observation) : observation;
}

/**
 * An action as it came over the wire: a list of numbers (or, where the action space is discrete or has one element, a
 * number), a text, or a turn `{content, tool_calls: [{id?, name, arguments}]}`. What lies outside the space is the
 * environment's to refuse.
 * @throws REQUEST_INVALID
 */
export function decodeAction({ family }: Pick<Servable, 'family'>, action: unknown): Action {
  if (family === 'vector') return row(action);
  if (family === 'text') {
    if (typeof action === 'string') return action;
    throw invalid('action: expected a string');
  }
  return toolsAction(action);
}

function row(action: unknown): Float32Array {
  const values = typeof action === 'number' ? [action] : action;
  if (Array.isArray(values) && values.every((value) => typeof value === 'number')) return Float32Array.from(values);
  throw invalid('action: expected a number or a list of numbers');
}

function toolsAction(action: unknown): ToolsAction {
  const read = turn.safeParse(action);
  if (!read.success) {
    const [{ path, message }] = read.error.issues;
    throw invalid(`${['action', ...path].join('.')}: ${message}`);
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

function invalid(problem: string) {
  return reverieError('REQUEST_INVALID', { problem });
}
