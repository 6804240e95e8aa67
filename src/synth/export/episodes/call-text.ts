// Tools and calls as text, as models of the Hermes and Qwen families read and write them: tools in the system prompt between
// <tools>, calls between <tool_call>, answers between <tool_response>, thoughts between <think>. Byte for byte what the chat
// templates of Qwen2.5 and Qwen3 make of the same messages (tokenizer_config.json of each).

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { FormatContext, ToolDefinition } from './format.js';

const HEAD =
  '# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:';
const TAIL =
  'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>';

export interface TextTurn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Whether it may be learnt from. */
  readonly isLearnt: boolean;
}

/** The conversation as text, answers to the calls of one turn together; special tokens in what anybody said are escaped. */
export function textTurns(
  record: EpisodeRecord,
  messages: readonly Message[],
  { tools, adapt }: Pick<FormatContext, 'tools' | 'adapt'>,
): TextTurn[] {
  if (messages.some(hasSpecialTokens)) adapt('special tokens escaped');
  const turns: TextTurn[] = [];
  messages.forEach((message, index) => {
    const { role } = message;
    if (message.role === 'tool') {
      const answer = `<tool_response>\n${escapeText(message.content)}\n</tool_response>`;
      const last = turns.at(-1);
      if (last?.role === 'tool') turns[turns.length - 1] = { ...last, text: `${last.text}\n${answer}` };
      else turns.push({ role: 'tool', text: answer, isLearnt: false });
    } else if (message.role === 'assistant') {
      turns.push({ role: 'assistant', text: turnText(message), isLearnt: !record.masked?.includes(index) });
    } else if (role === 'user') {
      turns.push({ role, text: escapeText(message.content), isLearnt: false });
    } else {
      const text = index === 0 ? systemText(message.content, tools) : message.content;
      turns.push({ role: 'system', text, isLearnt: false });
    }
  });
  return turns;
}

/** The policy with the tools after it. */
function systemText(policy: string, tools: readonly ToolDefinition[]): string {
  const lines = tools.map((tool) => escapeJson(spacedJson(tool)));
  return `${policy}\n\n${HEAD}\n<tools>\n${lines.join('\n')}\n</tools>\n\n${TAIL}`;
}

/** A turn of the agent: its thoughts, what it says, its calls. After thoughts, Qwen3 begins with no empty line. */
function turnText(message: AssistantMessage): string {
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

/** JSON as Python writes it, and so every chat template: a space after commas and colons, numbers as in `repr`. */
function spacedJson(value: Json): string {
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

const SPECIAL =
  /<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|<\/?(?:tool_call|tool_response|tools|think|s)>|\[\/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<(?:start|end)_of_turn>/gi;

export function hasSpecialTokens(message: Message): boolean {
  const parts = [message.content ?? '', ...callsOf(message).map((call) => JSON.stringify(call.arguments))];
  if (message.role === 'assistant') parts.push(message.reasoning ?? '');
  return message.role !== 'system' && parts.some((part) => part.search(SPECIAL) >= 0);
}

/** The text with such tokens made harmless: their first character as a character reference. */
export function escapeText(text: string): string {
  return text.replace(SPECIAL, (token) => (token[0] === '<' ? `&lt;${token.slice(1)}` : `&#91;${token.slice(1)}`));
}

/** JSON with such tokens made harmless, losing nothing: their first character as a JSON escape. */
function escapeJson(json: string): string {
  return json.replace(SPECIAL, (token) => (token[0] === '<' ? `\\u003c${token.slice(1)}` : `\\u005b${token.slice(1)}`));
}
