// Conversations as trainers read them: OpenAI's fine-tuning rows, ShareGPT as LLaMA-Factory reads it, and verl.

import { canonicalJson, type Json, type JsonObject } from '../../../core/canonical-json.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { hash53 } from '../../quality/text-hash.js';
import type { ParquetColumns } from '../parquet-file.js';
import {
  type Adapt,
  type DataFiles,
  type EpisodeFormat,
  type FormatContext,
  type FormatRow,
  hasParallelCalls,
  lengthOfStart,
  lists,
  ONLY_TABLE,
  openAiMessage,
  policyIn,
  type ToolDefinition,
  texts,
  toLastTurn,
  unmaskedMessages,
} from './format.js';

/** OpenAI: messages with arguments as JSON text, tools, and a weight for each turn of the agent. */
export function openAiFormat({ tools, adapt }: FormatContext): EpisodeFormat {
  const features = [...lists('messages', 'tools'), { name: 'parallel_tool_calls', dtype: 'bool' }];
  return {
    tables: { [ONLY_TABLE]: { features, isImitated: true } },
    *rows(record): Generator<FormatRow> {
      const learnt = toLastTurn(record.messages, adapt);
      const messages = learnt.map((message, index): JsonObject => {
        const plain = openAiMessage(message);
        return message.role === 'assistant' ? { ...plain, weight: record.masked?.includes(index) ? 0 : 1 } : plain;
      });
      if (!messages.some((message) => message.weight === 1)) return;
      if (learnt.some((message) => message.role === 'assistant' && message.reasoning)) adapt('thoughts left out');
      yield { split: record.split, value: { messages, tools, parallel_tool_calls: hasParallelCalls(learnt) } };
    },
  };
}

/**
 * ShareGPT with LLaMA-Factory's dataset_info.json. Turns must alternate: human or observation, then gpt or function_call; what
 * does not is split or folded, and counted. LLaMA-Factory joins turns as text: special tokens are escaped.
 */
export function shareGptFormat({ domain, tools, adapt }: FormatContext): EpisodeFormat {
  const toolsText = JSON.stringify(tools.map((tool) => tool.function));
  const features = [{ name: 'conversations', list: texts('from', 'value') }, ...texts('system', 'tools')];
  return {
    tables: { [ONLY_TABLE]: { features, splitFolders: true, isImitated: true } },
    *rows(record): Generator<FormatRow> {
      const messages = unmaskedMessages(record, adapt);
      const conversations = new Alternation(record.messages, adapt).turns(messages);
      if (conversations.length === 0) return;
      if (messages.some(hasSpecialTokens)) adapt('special tokens escaped');
      yield { split: record.split, value: { conversations, system: policyIn(messages), tools: toolsText } };
    },
    files: (data) => ({ 'dataset_info.json': datasetInfo(domain.id, data) }),
  };
}

function datasetInfo(domain: string, data: DataFiles): JsonObject {
  const name = domain.replace(/[^A-Za-z0-9]+/g, '_');
  const splits = [...(data.get(ONLY_TABLE)?.keys() ?? [])];
  return Object.fromEntries(
    splits.map((split) => [
      `${name}_${split}`,
      {
        file_name: `data/${split}`,
        formatting: 'sharegpt',
        columns: { messages: 'conversations', system: 'system', tools: 'tools' },
        tags: {
          role_tag: 'from',
          content_tag: 'value',
          user_tag: 'human',
          assistant_tag: 'gpt',
          observation_tag: 'observation',
          function_tag: 'function_call',
        },
      },
    ]),
  );
}

interface Turn extends JsonObject {
  readonly from: 'human' | 'observation' | 'gpt' | 'function_call';
  readonly value: string;
}

/** Puts turns in strict alternation, beginning with the user's side and ending with the agent's. */
class Alternation {
  private readonly done: Turn[] = [];
  private isCut = false;

  constructor(
    private readonly whole: readonly Message[],
    private readonly adapt: Adapt,
  ) {}

  turns(messages: readonly Message[]): readonly Turn[] {
    for (const message of messages) {
      if (message.role === 'user') this.add({ from: 'human', value: escapeText(message.content) });
      if (message.role === 'assistant') this.act(message);
    }
    return this.done.slice(0, this.done.length - (this.done.length % 2));
  }

  private act(message: AssistantMessage): void {
    if (this.isCut) return;
    const calls = callsOf(message);
    const thoughts = message.reasoning ? thoughtText(message.reasoning) : '';
    if (calls.length === 0) this.add({ from: 'gpt', value: thoughts + escapeText(message.content ?? '') });
    if (calls.length > 1) this.adapt('parallel calls made one after another');
    if (calls.length > 0 && message.content) this.adapt('text beside a call made a thought');
    const beside = [message.reasoning, message.content].filter(Boolean).join('\n\n');
    calls.forEach((call, index) => {
      const before = index === 0 && beside !== '' ? thoughtText(beside) : '';
      this.add({ from: 'function_call', value: before + callJson(call) });
      const answer = this.whole.find((other) => other.role === 'tool' && other.toolCallId === call.id);
      if (answer) this.add({ from: 'observation', value: escapeText(answer.content ?? '') });
    });
  }

  private add(turn: Turn): void {
    if (this.isCut) return;
    const last = this.done.at(-1);
    const isAgents = ({ from }: Turn) => from === 'gpt' || from === 'function_call';
    if (last === undefined && isAgents(turn)) this.adapt('turns of the agent before the user speaks left out');
    else if (last === undefined || isAgents(last) !== isAgents(turn)) this.done.push(turn);
    else if (last.from === turn.from && (turn.from === 'human' || turn.from === 'gpt')) {
      this.adapt(`${turn.from === 'human' ? "user's" : "agent's"} messages in a row joined`);
      this.done.splice(-1, 1, { from: turn.from, value: `${last.value}\n\n${turn.value}` });
    } else {
      this.adapt('cut where turns do not alternate');
      this.isCut = true;
    }
  }
}

const VERL_MESSAGES = { list: { struct: { role: 'text', content: 'text' } } } as const;

const SFT: ParquetColumns = {
  messages: VERL_MESSAGES,
  enable_thinking: 'boolean',
  tool_schemas: 'text',
  id: 'text',
  reward: 'double',
};

const RL: ParquetColumns = {
  data_source: 'text',
  agent_name: 'text',
  prompt: VERL_MESSAGES,
  ability: 'text',
  tool_schemas: 'text',
  reward_model: { struct: { style: 'text', ground_truth: 'text' } },
  extra_info: {
    struct: {
      split: 'text',
      index: 'integer',
      task: 'text',
      family: 'text',
      seed: 'integer',
      need_tools_kwargs: 'boolean',
      interaction_kwargs: { struct: { name: 'text', task: 'text', seed: 'integer' } },
    },
  },
};

/**
 * verl, as Parquet. `sft`: conversations for MultiTurnSFTDataset, tools and calls as text in the messages: as Arrow structs every
 * schema and every call would get every other's keys, as nulls that chat templates print. `rl`: one row for each start, for
 * RLHFDataset: prompt, tools, how the reward is decided, and what the agent loop of clients/reverie_verl.py needs.
 */
export function verlFormat(context: FormatContext): EpisodeFormat {
  const tool_schemas = JSON.stringify(context.tools);
  const starts = new Set<number>();
  return {
    tables: { sft: { columns: SFT, isImitated: true }, rl: { columns: RL } },
    *rows(record): Generator<FormatRow> {
      const { split } = record;
      const turns = textTurns(record, unmaskedMessages(record, context.adapt), context);
      if (turns.length > 0) yield { table: 'sft', split, value: sftRow(record, turns, tool_schemas) };
      const task = context.taskOf(record.task);
      const key = hash53(canonicalJson([record.task, startOf(record)]));
      if (task === undefined) context.adapt('left out of rl: its task is not known');
      else if (!starts.has(key)) {
        const row = rlRow(record, task, starts.size, context.domain.id);
        yield { table: 'rl', split, value: { ...row, tool_schemas } };
        starts.add(key);
      }
    },
  };
}

/** Answers of tools are turns of the user, as Qwen's template has them: verl renders message by message. */
function sftRow(record: EpisodeRecord, turns: readonly TextTurn[], tool_schemas: string): JsonObject {
  return {
    messages: turns.map(({ role, text }) => ({ role: role === 'tool' ? 'user' : role, content: text })),
    enable_thinking: record.messages.some((message) => message.role === 'assistant' && Boolean(message.reasoning)),
    tool_schemas,
    id: record.id,
    reward: record.verdict.reward,
  };
}

function rlRow(record: EpisodeRecord, task: ToolsTask, index: number, domain: string): JsonObject {
  const { split, family, seed } = record;
  const { verifier, reference } = task;
  const interaction_kwargs = { name: 'reverie', task: task.id, seed };
  return {
    data_source: `reverie/${domain}`,
    agent_name: 'reverie',
    prompt: startOf(record),
    ability: 'tools',
    reward_model: {
      style: verifier.rubric?.length ? 'model' : 'rule',
      ground_truth: JSON.stringify({ verifier, reference: reference ?? null }),
    },
    extra_info: { split, index, task: task.id, family, seed, need_tools_kwargs: false, interaction_kwargs },
  };
}

function startOf({ messages }: EpisodeRecord): JsonObject[] {
  return messages.slice(0, lengthOfStart(messages)).map(({ role, content }) => ({ role, content }));
}

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

function thoughtText(thoughts: string): string {
  return `<think>\n${escapeText(thoughts).replace(/^\n+|\n+$/g, '')}\n</think>\n\n`;
}

function callJson({ name, arguments: values }: ToolCall): string {
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
function escapeText(text: string): string {
  return text.replace(SPECIAL, (token) => (token[0] === '<' ? `&lt;${token.slice(1)}` : `&#91;${token.slice(1)}`));
}

/** JSON with such tokens made harmless, losing nothing: their first character as a JSON escape. */
function escapeJson(json: string): string {
  return json.replace(SPECIAL, (token) => (token[0] === '<' ? `\\u003c${token.slice(1)}` : `\\u005b${token.slice(1)}`));
}
