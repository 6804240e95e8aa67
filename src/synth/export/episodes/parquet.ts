// Everything that is known of an episode, as Parquet: the conversation, what may be learnt from, rewards, who answered
// each call and why, and where it all came from. What has no fixed form (arguments, operations, checks) is JSON text.

import type { JsonObject } from '../../../core/canonical-json.js';
import type { Message } from '../../../env/tools/message.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import type { EpisodeRecord, EpisodeStep } from '../../../replay/experience/experience.js';
import { type EpisodeFormat, type FormatContext, ONLY_TABLE } from './format.js';
import { callsOf, openAiCall } from './messages.js';
import type { NestedColumns } from './nested-parquet.js';

const TOOL_CALL = {
  struct: { id: 'text', type: 'text', function: { struct: { name: 'text', arguments: 'text' } } },
} as const;

const MESSAGE: NestedColumns = {
  role: 'text',
  content: 'text',
  reasoning_content: 'text',
  tool_calls: { list: TOOL_CALL },
  tool_call_id: 'text',
  name: 'text',
  is_error: 'boolean',
};

/** One answered call: who answered, how sure, what it changed. */
const CALL: NestedColumns = {
  message: 'integer',
  tool_call_id: 'text',
  backend: 'text',
  model_version: 'text',
  confidence: 'double',
  is_error: 'boolean',
  repaired: 'boolean',
  refused: { list: 'text' },
  why: { list: 'text' },
  reasoning: 'text',
  operations: 'text',
};

export const EPISODE_COLUMNS: NestedColumns = {
  id: 'text',
  messages: { list: { struct: MESSAGE } },
  tools: 'text',
  loss_mask: { list: 'integer' },
  step_rewards: { list: 'double' },
  reward: 'double',
  return: 'double',
  weight: 'double',
  checks: 'text',
  judge: 'text',
  terminated: 'boolean',
  truncated: 'boolean',
  signals: { list: 'text' },
  lost_step: 'integer',
  lost_by: 'text',
  source: 'text',
  backends: { list: 'text' },
  model_versions: { list: 'text' },
  confidence: 'double',
  license: 'text',
  scenario: 'text',
  scenario_hash: 'text',
  task: 'text',
  family: 'text',
  split: 'text',
  row: 'integer',
  seed: 'integer',
  group: 'integer',
  parent_episode: 'text',
  parent_step: 'integer',
  policy_version: 'text',
  user_version: 'text',
  responder_version: 'text',
  calls: { list: { struct: CALL } },
  state_hashes: { list: 'text' },
  cost: {
    struct: {
      calls: 'integer',
      prompt_tokens: 'integer',
      cached_tokens: 'integer',
      completion_tokens: 'integer',
      money: 'double',
    },
  },
};

export function parquetFormat({ tools, license }: FormatContext): EpisodeFormat {
  const toolsText = JSON.stringify(tools);
  return {
    tables: { [ONLY_TABLE]: { columns: EPISODE_COLUMNS } },
    *rows(record) {
      const value = { ...conversation(record), tools: toolsText, license, ...outcome(record), ...provenance(record) };
      yield { split: record.split, value };
    },
  };
}

/** For each message: 1 where the agent's turn is to be learnt, 0 elsewhere. */
export function lossMask({ messages, masked }: EpisodeRecord): number[] {
  return messages.map(({ role }, index) => (role === 'assistant' && !masked?.includes(index) ? 1 : 0));
}

/** For each message: what the agent's step there was rewarded with; null elsewhere. */
export function stepRewards({ messages, steps }: EpisodeRecord): (number | null)[] {
  const rewards = new Map(steps.map((step) => [step.message, step.reward]));
  return messages.map((_, index) => rewards.get(index) ?? null);
}

function conversation(record: EpisodeRecord): JsonObject {
  return {
    id: record.id,
    messages: record.messages.map(messageRow),
    loss_mask: lossMask(record),
    step_rewards: stepRewards(record),
  };
}

function messageRow(message: Message): JsonObject {
  const { role, content } = message;
  if (message.role === 'tool') {
    return { role, content, tool_call_id: message.toolCallId, name: message.name, is_error: message.isError ?? false };
  }
  if (message.role !== 'assistant') return { role, content };
  const calls = callsOf(message);
  const tool_calls = calls.length > 0 ? calls.map(openAiCall) : null;
  return { role, content, reasoning_content: message.reasoning ?? null, tool_calls };
}

function outcome(record: EpisodeRecord): JsonObject {
  const { verdict, terminated, truncated, weight } = record;
  return {
    reward: verdict.reward,
    return: record.return,
    weight,
    checks: JSON.stringify(verdict.checks),
    judge: verdict.judge ?? null,
    terminated,
    truncated,
    signals: [...(record.signals ?? [])],
    lost_step: record.lostStep ?? null,
    lost_by: record.lostBy ?? null,
  };
}

function provenance(record: EpisodeRecord): JsonObject {
  const predictions = record.steps.flatMap((step) => step.predictions);
  return {
    source: record.source,
    backends: distinct(predictions.map(({ backend }) => backend)),
    model_versions: distinct(predictions.map(({ modelVersion }) => modelVersion)),
    confidence: predictions.length > 0 ? Math.min(...predictions.map(({ confidence }) => confidence)) : null,
    scenario: record.scenario,
    scenario_hash: record.scenarioHash,
    task: record.task,
    family: record.family,
    split: record.split,
    row: record.row,
    seed: record.seed,
    group: record.group < 0 ? null : record.group,
    parent_episode: record.parent?.episode ?? null,
    parent_step: record.parent?.step ?? null,
    policy_version: record.policyVersion,
    user_version: record.userVersion,
    responder_version: record.responderVersion,
    calls: record.steps.flatMap(callRows),
    state_hashes: record.steps.map((step) => step.stateHash),
    cost: costRow(record),
  };
}

function callRows({ message, action, predictions }: EpisodeStep): JsonObject[] {
  return predictions.map((prediction, index) => ({
    message,
    tool_call_id: action.toolCalls?.[index]?.id ?? null,
    ...answerRow(prediction),
  }));
}

function answerRow(prediction: Prediction): JsonObject {
  const { backend, modelVersion, confidence, isError, repaired, refused, why, reasoning, operations } = prediction;
  return {
    backend,
    model_version: modelVersion,
    confidence,
    is_error: isError,
    repaired: repaired ?? false,
    refused: refused ?? [],
    why,
    reasoning: reasoning ?? null,
    operations: JSON.stringify(operations),
  };
}

function costRow({ cost }: EpisodeRecord): JsonObject {
  const { calls, promptTokens, cachedTokens, completionTokens, money } = cost;
  return {
    calls,
    prompt_tokens: promptTokens,
    cached_tokens: cachedTokens,
    completion_tokens: completionTokens,
    money,
  };
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
