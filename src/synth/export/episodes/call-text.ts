// Tools and calls as text, as models of the Hermes and Qwen families read and write them: tools in the system prompt between
// <tools>, calls between <tool_call>, answers between <tool_response>, thoughts between <think>. Byte for byte what the chat
// templates of Qwen2.5 and Qwen3 make of the same messages (tokenizer_config.json of each).

import type { Json, JsonObject } from '../../../core/json.js';
import type { AssistantMessage, ToolCall } from '../../../env/index.js';
import { callsOf, type ToolDefinition } from './messages.js';
import { escapeJson, escapeText } from './special-tokens.js';

const HEAD =
  '# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:';
const TAIL =
  'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>';

/** The policy with the tools after it. */
export function systemText(policy: string, tools: readonly ToolDefinition[]): string {
  const lines = tools.map((tool) => escapeJson(spacedJson(tool)));
  return `${policy}\n\n${HEAD}\n<tools>\n${lines.join('\n')}\n</tools>\n\n${TAIL}`;
}

/** A turn of the agent: its thoughts, what it says, its calls. After thoughts, Qwen3 begins with no empty line. */
export function turnText(message: AssistantMessage): string {
  const thoughts = message.reasoning ? thoughtText(message.reasoning) : '';
  const content = message.content ? escapeText(message.content) : '';
  const said = content === '' ? [] : [thoughts === '' ? content : content.replace(/^\n+/, '')];
  const calls = callsOf(message).map((call) => `<tool_call>\n${callJson(call)}\n</tool_call>`);
  return thoughts + [...said, ...calls].join('\n');
}

export function thoughtText(thoughts: string): string {
  return `<think>\n${escapeText(thoughts).replace(/^\n+|\n+$/g, '')}\n</think>\n\n`;
}

export function callJson({ name, arguments: values }: ToolCall): string {
  return escapeJson(spacedJson({ name, arguments: values }));
}

export function answersText(answers: readonly string[]): string {
  return answers.map((answer) => `<tool_response>\n${escapeText(answer)}\n</tool_response>`).join('\n');
}

/** JSON as Python writes it, and so every chat template: a space after commas and colons, numbers as in `repr`. */
export function spacedJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`;
  if (typeof value === 'number') return pythonNumber(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = Object.entries(value as JsonObject).map(([key, part]) => `${JSON.stringify(key)}: ${spacedJson(part)}`);
  return `{${parts.join(', ')}}`;
}

/** Python has exponents below 1e-4 already, of two digits at least; JavaScript below 1e-6. Large numbers are alike in both. */
function pythonNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) return JSON.stringify(value);
  return value.toExponential().replace(/e-(\d)$/, 'e-0$1');
}
