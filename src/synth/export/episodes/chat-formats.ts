// Conversations as trainers read them: OpenAI's fine-tuning rows, ShareGPT as LLaMA-Factory reads it, and starts for verl.

import { canonicalJson, type JsonObject } from '../../../core/canonical-json.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../../env/tools/message.js';
import { wireNames } from '../../../llm/request.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { hash53 } from '../../quality/overlap-filters.js';
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
  texts,
  toLastTurn,
  unmaskedMessages,
} from './format.js';

/** OpenAI: messages with arguments as JSON text, tools, and a weight for each turn of the agent. */
export function openAiFormat({ tools, adapt }: FormatContext): EpisodeFormat {
  const features = [...lists('messages', 'tools'), { name: 'parallel_tool_calls', dtype: 'bool' }];
  // Undeclared tools may have been called, too.
  const renamed = wireNames(tools.map((tool) => tool.function.name));
  const nameOf = (name: string) => renamed?.get(name) ?? wireNames([name])?.get(name) ?? name;
  const named = tools.map((tool) => ({ ...tool, function: { ...tool.function, name: nameOf(tool.function.name) } }));
  return {
    tables: { [ONLY_TABLE]: { features, isImitated: true } },
    *rows(record): Generator<FormatRow> {
      const learnt = toLastTurn(record.messages, adapt);
      const messages = learnt.map((message, index): JsonObject => {
        const plain = openAiMessage(message, nameOf);
        return message.role === 'assistant' ? { ...plain, weight: record.masked?.includes(index) ? 0 : 1 } : plain;
      });
      if (!messages.some((message) => message.weight === 1)) return;
      if (renamed !== undefined) adapt("tools renamed to what OpenAI's API takes");
      if (learnt.some((message) => message.role === 'assistant' && message.reasoning)) adapt('thoughts left out');
      yield {
        split: record.split,
        value: { messages, tools: named, parallel_tool_calls: hasParallelCalls(learnt) },
      };
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
    tables: { [ONLY_TABLE]: { features, isImitated: true } },
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
  const splits = [...(data.get(ONLY_TABLE) ?? [])];
  return Object.fromEntries(
    splits.map(([split, file_name]) => [
      `${name}_${split}`,
      {
        file_name,
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
 * verl, as Parquet: one row for each start, for RLHFDataset: prompt, tools, how the reward is decided, and what the agent loop that
 * clients/reverie_verl.py needs. Tools are text: as Arrow structs every schema would get every other's keys.
 */
export function verlFormat({ tools, domain, taskOf, adapt }: FormatContext): EpisodeFormat {
  const tool_schemas = JSON.stringify(tools);
  const starts = new Set<number>();
  return {
    tables: { rl: { columns: RL } },
    *rows(record): Generator<FormatRow> {
      const task = taskOf(record.task);
      const key = hash53(canonicalJson([record.task, startOf(record)]));
      if (task === undefined) adapt('left out: its task is not known');
      else if (!starts.has(key)) {
        yield {
          table: 'rl',
          split: record.split,
          value: { ...rlRow(record, task, starts.size, domain.id), tool_schemas },
        };
        starts.add(key);
      }
    },
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

function thoughtText(thoughts: string): string {
  return `<think>\n${escapeText(thoughts).replace(/^\n+|\n+$/g, '')}\n</think>\n\n`;
}

function callJson({ name, arguments: values }: ToolCall): string {
  return escapeJson(JSON.stringify({ name, arguments: values }));
}

const SPECIAL =
  /<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|<\/?(?:tool_call|tool_response|tools|think|s)>|\[\/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]|<(?:start|end)_of_turn>/gi;

function hasSpecialTokens(message: Message): boolean {
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
