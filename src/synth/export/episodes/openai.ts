// OpenAI's fine-tuning rows: messages with arguments as JSON text, tools, and a weight for each turn of the agent.

import type { JsonObject } from '../../../core/canonical-json.js';
import type { Message } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type EpisodeFormat, type FormatContext, type FormatRow, ONLY_TABLE } from './format.js';
import { callsOf, openAiMessage, toLastTurn } from './messages.js';

const FEATURES: readonly JsonObject[] = [
  { name: 'messages', list: 'json' },
  { name: 'tools', list: 'json' },
  { name: 'parallel_tool_calls', dtype: 'bool' },
];

export function openAiFormat({ tools, adapt }: FormatContext): EpisodeFormat {
  return {
    tables: { [ONLY_TABLE]: { features: FEATURES, isImitated: true } },
    *rows(record): Generator<FormatRow> {
      const learnt = toLastTurn(record.messages, adapt);
      const messages = learnt.map((message, index) => weighted(record, message, index));
      if (!messages.some((message) => message.weight === 1)) return;
      if (learnt.some((message) => message.role === 'assistant' && message.reasoning)) adapt('thoughts left out');
      yield { split: record.split, value: { messages, tools, parallel_tool_calls: hasParallelCalls(learnt) } };
    },
  };
}

function weighted(record: EpisodeRecord, message: Message, index: number): JsonObject {
  const plain = openAiMessage(message);
  return message.role === 'assistant' ? { ...plain, weight: record.masked?.includes(index) ? 0 : 1 } : plain;
}

function hasParallelCalls(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role === 'assistant' && callsOf(message).length > 1);
}
