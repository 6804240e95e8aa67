// Rows for verl, as Parquet. `sft`: conversations for MultiTurnSFTDataset, tools and calls as text in the messages: as
// Arrow structs every schema and every call would get every other's keys, as nulls that chat templates print. `rl`: one
// row for each start, for RLHFDataset: prompt, tools, how the reward is decided, and what the agent loop that
// `reverie client --verl` prints needs to play it.

import type { JsonObject } from '../../../core/canonical-json.js';
import { canonicalJson } from '../../../core/canonical-json.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { hash53 } from '../../quality/text-hash.js';
import { type TextTurn, textTurns } from './call-text.js';
import type { EpisodeFormat, FormatContext, FormatRow } from './format.js';
import { lengthOfStart, unmaskedMessages } from './messages.js';
import type { NestedColumns } from './nested-parquet.js';

const MESSAGES = { list: { struct: { role: 'text', content: 'text' } } } as const;

const SFT_COLUMNS: NestedColumns = {
  messages: MESSAGES,
  enable_thinking: 'boolean',
  tool_schemas: 'text',
  id: 'text',
  reward: 'double',
};

const RL_COLUMNS: NestedColumns = {
  data_source: 'text',
  agent_name: 'text',
  prompt: MESSAGES,
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

export function verlFormat(context: FormatContext): EpisodeFormat {
  const toolSchemas = JSON.stringify(context.tools);
  const starts = new Set<number>();
  return {
    tables: { sft: { columns: SFT_COLUMNS, isImitated: true }, rl: { columns: RL_COLUMNS } },
    *rows(record): Generator<FormatRow> {
      const { split } = record;
      const turns = textTurns(record, unmaskedMessages(record, context.adapt), context);
      if (turns.length > 0) yield { table: 'sft', split, value: sftRow(record, turns, toolSchemas) };
      const task = context.taskOf(record.task);
      const key = hash53(canonicalJson([record.task, startOf(record)]));
      if (task === undefined) context.adapt('left out of rl: its task is not known');
      else if (!starts.has(key)) {
        const row = rlRow(record, task, starts.size, context.domain.id);
        yield { table: 'rl', split, value: { ...row, tool_schemas: toolSchemas } };
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
