// What a model answered, in OpenAI's Responses format, as an action; and what came of it, as items for its next input.

import { z } from 'zod';
import { type ReverieError, reverieError } from '../../../core/errors.js';
import type { ToolMessage, ToolsAction, ToolsObservation } from '../../../env/index.js';
import { faceOf } from '../../../kinds/index.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Action, Turn } from '../../core/session-contract.js';
import { parseJson } from '../../http/request-guards.js';
import { actionInText } from '../text-action.js';
import { actionOfCall, observationText } from '../tool-calls.js';

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  call_id: z.string().max(255).optional(),
  name: z.string().max(255).optional(),
  arguments: z.string().optional(),
});

export const responseSchema = z.looseObject({ output: z.array(item).max(1000).describe('Items the model wrote') });
export type Response = z.infer<typeof responseSchema>;

export interface ResponseCall {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

/** For the `function_call_output` items of the model's next input. */
export interface ToolOutput {
  readonly call_id: string;
  readonly output: string;
}

export function callsOf({ output }: Response): ResponseCall[] {
  return output.flatMap(({ type, call_id = '', name = '', arguments: given = '{}' }) =>
    type === 'function_call' ? [{ call_id, name, arguments: given }] : [],
  );
}

/** Calls go before words: who does both is only heard calling. @throws REQUEST_INVALID, TOOL_NOT_OFFERED */
export function actionOfResponse(served: Servable, response: Response): Action {
  const calls = callsOf(response);
  if (calls.length > 0) return actionOfCalls(served, calls);
  const text = textOf(response);
  if (text.trim() === '') throw reverieError('REQUEST_INVALID', { problem: 'say something or call a tool' });
  return faceOf(served).acts === 'turn' ? { content: text } : actionInText(served, text);
}

/** What the tools answered, call by call; and what there is to read beside it. */
export function outcomeOf(response: Response, { observation }: Turn) {
  const calls = callsOf(response);
  if (calls.length === 0) return { tool_outputs: [], observation: observationText(observation) };
  const { messages = [] } = observation as Partial<ToolsObservation>;
  const answers = messages.filter((message): message is ToolMessage => message.role === 'tool');
  if (answers.length === 0) {
    return { tool_outputs: [{ call_id: calls[0].call_id, output: observationText(observation) }], observation: null };
  }
  const outputs = calls.map(({ call_id }, i): ToolOutput => ({ call_id, output: answers[i].content }));
  return { tool_outputs: outputs, observation: null };
}

/** A turn that was refused: each call hears why, or there is a message. */
export function refusedOutcome(response: Response, { message }: ReverieError) {
  const outputs = callsOf(response).map(({ call_id }): ToolOutput => ({ call_id, output: `Error: ${message}` }));
  return { tool_outputs: outputs, observation: outputs.length === 0 ? `Error: ${message}` : null };
}

function actionOfCalls(served: Servable, calls: readonly ResponseCall[]): Action {
  const actions = calls.map((call) => actionOfCall(served, { ...call, id: '', arguments: argumentsOf(call) }));
  if (actions.length === 1) return actions[0];
  const turns = actions as readonly ToolsAction[];
  if (faceOf(served).acts !== 'turn' || turns.some(({ toolCalls }) => toolCalls === undefined)) {
    throw reverieError('REQUEST_INVALID', { problem: 'that tool is called alone in a turn; none was called' });
  }
  return { content: null, toolCalls: turns.flatMap(({ toolCalls }) => toolCalls ?? []) };
}

function argumentsOf({ name, arguments: text }: ResponseCall): unknown {
  try {
    return parseJson(text.trim() === '' ? '{}' : text);
  } catch (error) {
    throw reverieError('REQUEST_INVALID', { problem: `arguments of ${name}: ${(error as Error).message}` }, error);
  }
}

function textOf({ output }: Response): string {
  const messages = output.filter(({ type = 'message' }) => type === 'message');
  return messages
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : (content ?? []).map(({ text = '' }) => text)))
    .join('');
}
