// Family `tools` over OpenEnv: CallToolAction and its observation (RFC 003). Speaking to the user is a tool too.

import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import type { ToolsAction, ToolsObservation, ToolsStepInfo } from '../../../env/index.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Turn } from '../../core/session-contract.js';
import { type OfferedTool, sayToolOf } from '../tool-calls.js';
import { actionShape, commonShape, endingOf } from './ending.js';
import { checkedMessage } from './json-rpc.js';
import type { EnvWire } from './wire-contract.js';

/** What the orchestration itself is called by (RFC 003): no tool may. */
const RESERVED = ['reset', 'step', 'state', 'close'];

export const callAction = z
  .strictObject({
    type: z.literal('call_tool').default('call_tool').describe('{"type": "list_tools"} lists the tools instead'),
    tool_name: z.string().min(1).max(256).describe('Name of the tool'),
    arguments: z.record(z.string(), z.json()).default({}).describe("Arguments by the tool's schema"),
    ...actionShape,
  })
  .meta({ title: 'CallToolAction' });

const ERROR_TYPES = ['execution_error', 'invalid_args', 'transport_error', 'tool_not_found', 'timeout'] as const;

const offered = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
});

const callObservation = z
  .strictObject({
    instructions: z.string().optional().describe('After reset: what the agent is told first'),
    user: z.string().optional().describe('After reset: what the user says first'),
    tool_name: z.string().optional().describe('After a call: the tool that was called'),
    result: z
      .object({
        data: z.string(),
        is_error: z.literal(true).optional().describe('The tool itself said that it failed'),
      })
      .nullable()
      .optional()
      .describe('After a call: what the tool answered, or the user'),
    error: z
      .object({ error_type: z.enum(ERROR_TYPES), message: z.string() })
      .nullable()
      .optional()
      .describe('After a call that reached no tool'),
    tools: z.array(offered).optional().describe('After list_tools'),
    ...commonShape,
  })
  .meta({ title: 'CallToolObservation' });

/** @throws TOOL_NAME_RESERVED */
export function toolsWire(served: Servable): EnvWire {
  const clash = served.tools.find(({ name }) => RESERVED.includes(name));
  if (clash !== undefined) throw reverieError('TOOL_NAME_RESERVED', { env: served.name, tool: clash.name });
  const say = sayToolOf(served);
  const tools: readonly OfferedTool[] = [...served.tools, say];
  const known = new Set(tools.map(({ name }) => name));
  return {
    action: callAction,
    observation: callObservation,
    tools,
    decode(data, at) {
      const { tool_name: name, arguments: given } = checkedMessage(callAction, data, at);
      return name === say.name ? spoken(given, at) : calling(name, given);
    },
    observe(turn, done) {
      if (done === undefined) {
        const seen = begun(turn);
        return { ...seen, ...endingOf(turn), metadata: seen };
      }
      const [call] = (done as ToolsAction).toolCalls ?? [];
      const name = call?.name ?? say.name;
      return { tool_name: name, ...outcomeOf(turn, known.has(name)), ...endingOf(turn) };
    },
  };
}

function calling(name: string, given: Record<string, unknown>): ToolsAction {
  // An empty id is replaced by one of the episode's own.
  return { content: null, toolCalls: [{ id: '', name, arguments: given }] } as ToolsAction;
}

const saying = z.strictObject({ content: z.string().refine((text) => text.trim() !== '', 'Say something') });

function spoken(given: unknown, at: readonly string[]): ToolsAction {
  return { content: checkedMessage(saying, given, [...at, 'arguments']).content };
}

/** After reset; or the last turn again, where the episode goes on from a snapshot. */
function begun({ observation: seen }: Turn) {
  const { messages } = seen as ToolsObservation;
  const of = (role: string) => messages.filter((message) => message.role === role).map(({ content }) => content);
  const [instructions, user, data] = ['system', 'user', 'tool'].map((role) => of(role).join('\n'));
  return {
    ...(instructions === '' ? {} : { instructions }),
    ...(user === '' ? {} : { user }),
    ...(data === '' ? {} : { result: { data } }),
  };
}

function outcomeOf({ observation: seen, info }: Turn, isKnown: boolean) {
  const data = (seen as ToolsObservation).messages.map(({ content }) => content ?? '').join('\n');
  const [prediction] = (info as unknown as ToolsStepInfo).predictions;
  if (!prediction?.isError) return { result: { data }, error: null };
  // What broke the tool's schema never reached it.
  if (prediction.backend !== 'schema') return { result: { data, is_error: true }, error: null };
  return { result: null, error: { error_type: isKnown ? 'invalid_args' : 'tool_not_found', message: data } };
}
