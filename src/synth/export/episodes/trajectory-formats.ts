// Whole trajectories with all that is known of them: Agent Trajectory Interchange Format v1.7 (Harbor, RFC 0001), Agent Data
// Protocol (neulab/agent-data-protocol) 1.5.0, and one wide table as Parquet. No timestamps: nothing of an episode depends
// on the clock.

import type { JsonObject } from '../../../core/canonical-json.js';
import { type AssistantMessage, callsOf, type Message } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { ParquetColumns } from '../parquet-file.js';
import {
  type EpisodeFormat,
  type FormatContext,
  hasParallelCalls,
  json,
  lists,
  lossMask,
  ONLY_TABLE,
  openAiCall,
  policyIn,
  provenance,
  stepRewards,
  texts,
} from './format.js';

const ATIF_FEATURES: readonly JsonObject[] = [
  ...texts('schema_version', 'session_id', 'trajectory_id'),
  ...json('agent'),
  ...lists('steps'),
  ...json('final_metrics', 'extra'),
];

/** One trajectory a line. Nothing but ATIF's own fields may stand outside `extra`, so rewards and provenance are there. */
export function atifFormat({ tools, license, domain }: FormatContext): EpisodeFormat {
  return {
    tables: { [ONLY_TABLE]: { features: ATIF_FEATURES } },
    *rows(record) {
      const { policyVersion } = record;
      const value = {
        schema_version: 'ATIF-v1.7',
        session_id: record.id,
        trajectory_id: record.id,
        agent: { name: 'reverie', version: policyVersion, model_name: policyVersion, tool_definitions: tools },
        steps: atifSteps(record),
        final_metrics: { extra: { simulation_cost: { ...record.cost } } },
        extra: { ...provenance(record), domain: domain.id, license },
      };
      yield { split: record.split, value };
    },
  };
}

function atifSteps(record: EpisodeRecord): JsonObject[] {
  const [mask, rewards] = [lossMask(record), stepRewards(record)];
  const steps: JsonObject[] = [];
  record.messages.forEach((message, index) => {
    if (message.role === 'tool') return;
    const step_id = steps.length + 1;
    if (message.role === 'assistant') {
      const extra = { reward: rewards[index], loss: mask[index] };
      steps.push({ step_id, source: 'agent', ...atifTurn(message, record.messages), extra });
    } else {
      // The user's own calls are context that the agent never saw.
      const own = message.role === 'user' && message.calls && { extra: { user_calls: message.calls, loss: 0 } };
      steps.push({ step_id, source: message.role, message: message.content, ...(own as JsonObject | false) });
    }
  });
  return steps;
}

function atifTurn(message: AssistantMessage, messages: readonly Message[]): JsonObject {
  const calls = callsOf(message);
  const ids = new Set(calls.map((call) => call.id));
  const results = messages.flatMap((answer) =>
    answer.role === 'tool' && ids.has(answer.toolCallId)
      ? [
          {
            source_call_id: answer.toolCallId,
            content: answer.content,
            ...(answer.isError && { extra: { is_error: true } }),
          },
        ]
      : [],
  );
  const tool_calls = calls.map((call) => ({
    tool_call_id: call.id,
    function_name: call.name,
    arguments: call.arguments,
  }));
  return {
    message: message.content ?? '',
    ...(message.reasoning && { reasoning_content: message.reasoning }),
    ...(calls.length > 0 && { tool_calls }),
    ...(results.length > 0 && { observation: { results } }),
  };
}

const ADP_FEATURES: readonly JsonObject[] = [
  ...texts('schema_version', 'id'),
  ...lists('content'),
  { name: 'available_custom_tools', list: 'string' },
  ...json('details'),
];

/**
 * One trajectory a line. Every call is followed by its own answer, and the two share an id; the policy, which has no place
 * among actions and observations, is a detail.
 */
export function adpFormat({ tools, license, adapt }: FormatContext): EpisodeFormat {
  return {
    tables: { [ONLY_TABLE]: { features: ADP_FEATURES } },
    *rows(record) {
      if (hasParallelCalls(record.messages)) adapt('parallel calls made one after another');
      const rewards = stepRewards(record);
      const content = record.messages.flatMap((message, index): JsonObject[] => {
        if (message.role === 'user' && message.calls) adapt("calls of the user's own tools left out");
        if (message.role === 'user') return [{ class_: 'text_observation', content: message.content, source: 'user' }];
        return message.role === 'assistant' ? adpActions(message, rewards[index], record.messages) : [];
      });
      const value = {
        schema_version: '1.5.0',
        id: record.id,
        content,
        available_custom_tools: tools.map((tool) => tool.function.name),
        details: { ...provenance(record), policy: policyIn(record.messages), license },
      };
      yield { split: record.split, value };
    },
  };
}

/** Thoughts stand with the first action of a turn, its reward with the last. */
function adpActions(message: AssistantMessage, reward: number | null, messages: readonly Message[]): JsonObject[] {
  const thoughts: JsonObject = message.reasoning ? { reasoning_content: message.reasoning } : {};
  const calls = callsOf(message);
  if (calls.length === 0) return [{ class_: 'message_action', content: message.content ?? '', ...thoughts, reward }];
  return calls.flatMap(({ id, name, arguments: kwargs }, index): JsonObject[] => {
    const first: JsonObject =
      index === 0 ? { ...thoughts, ...(message.content && { description: message.content }) } : {};
    const last: JsonObject = index === calls.length - 1 ? { reward } : {};
    const action = { class_: 'api_action', function: name, kwargs, ...first, ...last };
    const answer = messages.find((other) => other.role === 'tool' && other.toolCallId === id);
    if (!answer) return [action];
    const content = answer.content ?? '';
    const observation = { class_: 'text_observation', content, source: 'environment', tool_call_id: id };
    return [{ ...action, tool_call_id: id }, observation];
  });
}

const MESSAGE: ParquetColumns = {
  role: 'text',
  content: 'text',
  reasoning_content: 'text',
  tool_calls: {
    list: { struct: { id: 'text', type: 'text', function: { struct: { name: 'text', arguments: 'text' } } } },
  },
  tool_call_id: 'text',
  name: 'text',
  is_error: 'boolean',
  user_calls: 'text',
};

/** One answered call: who answered, how sure, what it changed. */
const CALL: ParquetColumns = {
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

const EPISODE: ParquetColumns = {
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
  outcome: 'text',
  outcome_cause: 'text',
  attempt: 'text',
  terminated: 'boolean',
  truncated: 'boolean',
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

/** The wide table: conversation, rewards, who answered each call and why. What has no fixed form is JSON text. */
export function parquetFormat({ tools, license }: FormatContext): EpisodeFormat {
  const toolsText = JSON.stringify(tools);
  return {
    tables: { [ONLY_TABLE]: { columns: EPISODE } },
    *rows(record) {
      yield { split: record.split, value: { ...wideRow(record), tools: toolsText, license } };
    },
  };
}

function wideRow(record: EpisodeRecord): JsonObject {
  const { parent, checks, ...known } = provenance(record);
  const { group, cost } = record;
  const predictions = record.steps.flatMap((step) => step.predictions);
  return {
    ...known,
    id: record.id,
    messages: record.messages.map(wideMessage),
    loss_mask: lossMask(record),
    step_rewards: stepRewards(record),
    checks: JSON.stringify(checks),
    lost_step: record.lostStep ?? null,
    lost_by: record.lostBy ?? null,
    backends: distinct(predictions.map(({ backend }) => backend)),
    model_versions: distinct(predictions.map(({ modelVersion }) => modelVersion)),
    confidence: predictions.length > 0 ? Math.min(...predictions.map(({ confidence }) => confidence)) : null,
    group: group < 0 ? null : group,
    parent_episode: record.parent?.episode ?? null,
    parent_step: record.parent?.step ?? null,
    policy_version: record.policyVersion,
    calls: record.steps.flatMap(({ message, action, predictions }) =>
      predictions.map((prediction, index) => ({
        message,
        tool_call_id: action.toolCalls?.[index]?.id ?? null,
        backend: prediction.backend,
        model_version: prediction.modelVersion,
        confidence: prediction.confidence,
        is_error: prediction.isError,
        repaired: prediction.repaired ?? false,
        refused: prediction.refused ?? [],
        why: prediction.why,
        reasoning: prediction.reasoning ?? null,
        operations: JSON.stringify(prediction.operations),
      })),
    ),
    state_hashes: record.steps.map((step) => step.stateHash),
    cost: {
      calls: cost.calls,
      prompt_tokens: cost.promptTokens,
      cached_tokens: cost.cachedTokens,
      completion_tokens: cost.completionTokens,
      money: cost.money,
    },
  };
}

function wideMessage(message: Message): JsonObject {
  const { role, content } = message;
  if (message.role === 'tool') {
    return { role, content, tool_call_id: message.toolCallId, name: message.name, is_error: message.isError ?? false };
  }
  if (message.role === 'user' && message.calls) return { role, content, user_calls: JSON.stringify(message.calls) };
  if (message.role !== 'assistant') return { role, content };
  const calls = callsOf(message).map(openAiCall);
  return { role, content, reasoning_content: message.reasoning ?? null, tool_calls: calls.length > 0 ? calls : null };
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
