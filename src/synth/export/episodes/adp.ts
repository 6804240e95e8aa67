// Agent Data Protocol (neulab/agent-data-protocol), schema 1.5.0: one trajectory a line. Every call is followed by its own
// answer, and the two share an id; the policy, which has no place among actions and observations, is a detail.

import type { JsonObject } from '../../../core/canonical-json.js';
import type { AssistantMessage, Message } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { provenance } from './atif.js';
import { type EpisodeFormat, type FormatContext, ONLY_TABLE } from './format.js';
import { callsOf } from './messages.js';
import { stepRewards } from './parquet.js';

const FEATURES: readonly JsonObject[] = [
  { name: 'schema_version', dtype: 'string' },
  { name: 'id', dtype: 'string' },
  { name: 'content', list: 'json' },
  { name: 'available_custom_tools', list: 'string' },
  { name: 'details', dtype: 'json' },
];

export function adpFormat({ tools, license, adapt }: FormatContext): EpisodeFormat {
  return {
    tables: { [ONLY_TABLE]: { features: FEATURES } },
    *rows(record) {
      if (hasParallelCalls(record)) adapt('parallel calls made one after another');
      const policy = record.messages.flatMap((message) => (message.role === 'system' ? [message.content] : []));
      const value = {
        schema_version: '1.5.0',
        id: record.id,
        content: contentOf(record),
        available_custom_tools: tools.map((tool) => tool.function.name),
        details: { ...provenance(record), policy: policy.join('\n\n'), license },
      };
      yield { split: record.split, value };
    },
  };
}

function contentOf(record: EpisodeRecord): JsonObject[] {
  const rewards = stepRewards(record);
  return record.messages.flatMap((message, index): JsonObject[] => {
    if (message.role === 'user') return [{ class_: 'text_observation', content: message.content, source: 'user' }];
    return message.role === 'assistant' ? actions(message, rewards[index], record.messages) : [];
  });
}

/** Thoughts stand with the first action of a turn, its reward with the last. */
function actions(message: AssistantMessage, reward: number | null, messages: readonly Message[]): JsonObject[] {
  const thoughts: JsonObject = message.reasoning ? { reasoning_content: message.reasoning } : {};
  const calls = callsOf(message);
  if (calls.length === 0) return [{ class_: 'message_action', content: message.content ?? '', ...thoughts, reward }];
  return calls.flatMap(({ id, name, arguments: kwargs }, index): JsonObject[] => {
    const first: JsonObject =
      index === 0 ? { ...thoughts, ...(message.content && { description: message.content }) } : {};
    const last: JsonObject = index === calls.length - 1 ? { reward } : {};
    const answer = messages.find((other) => other.role === 'tool' && other.toolCallId === id);
    const action = { class_: 'api_action', function: name, kwargs, ...first, ...last };
    if (!answer) return [action];
    const observation = {
      class_: 'text_observation',
      content: answer.content ?? '',
      source: 'environment',
      tool_call_id: id,
    };
    return [{ ...action, tool_call_id: id }, observation];
  });
}

function hasParallelCalls({ messages }: EpisodeRecord): boolean {
  return messages.some((message) => message.role === 'assistant' && callsOf(message).length > 1);
}
