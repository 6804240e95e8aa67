// Agent Trajectory Interchange Format v1.7 (Harbor, RFC 0001): one trajectory a line. Nothing but its own fields may stand
// outside `extra`, so rewards and provenance are there. No timestamps: nothing of an episode depends on the clock.

import type { JsonObject } from '../../../core/canonical-json.js';
import type { AssistantMessage, Message } from '../../../env/tools/message.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type EpisodeFormat, type FormatContext, ONLY_TABLE } from './format.js';
import { callsOf } from './messages.js';
import { lossMask, stepRewards } from './parquet.js';

const text = (name: string) => ({ name, dtype: 'string' });
const json = (name: string) => ({ name, dtype: 'json' });

const FEATURES: readonly JsonObject[] = [
  ...['schema_version', 'session_id', 'trajectory_id'].map(text),
  json('agent'),
  { name: 'steps', list: 'json' },
  ...['final_metrics', 'extra'].map(json),
];

export function atifFormat({ tools, license, domain }: FormatContext): EpisodeFormat {
  return {
    tables: { [ONLY_TABLE]: { features: FEATURES } },
    *rows(record) {
      const { policyVersion } = record;
      const value = {
        schema_version: 'ATIF-v1.7',
        session_id: record.id,
        trajectory_id: record.id,
        agent: { name: 'reverie', version: policyVersion, model_name: policyVersion, tool_definitions: tools },
        steps: stepsOf(record),
        final_metrics: { extra: { simulation_cost: { ...record.cost } } },
        extra: { ...provenance(record), domain: domain.id, license },
      };
      yield { split: record.split, value };
    },
  };
}

function stepsOf(record: EpisodeRecord): JsonObject[] {
  const [mask, rewards] = [lossMask(record), stepRewards(record)];
  const steps: JsonObject[] = [];
  record.messages.forEach((message, index) => {
    if (message.role === 'tool') return;
    const step_id = steps.length + 1;
    if (message.role === 'assistant') {
      const extra = { reward: rewards[index], loss: mask[index] };
      steps.push({ step_id, source: 'agent', ...agentStep(message, record.messages), extra });
    } else steps.push({ step_id, source: message.role, message: message.content });
  });
  return steps;
}

function agentStep(message: AssistantMessage, messages: readonly Message[]): JsonObject {
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
  return {
    message: message.content ?? '',
    ...(message.reasoning && { reasoning_content: message.reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: values }) => ({
        tool_call_id: id,
        function_name: name,
        arguments: values,
      })),
    }),
    ...(results.length > 0 && { observation: { results } }),
  };
}

/** What trajectories of any format say of themselves. */
export function provenance(record: EpisodeRecord): JsonObject {
  const { source, scenario, task, family, split, seed, row, group, parent, verdict, weight } = record;
  return {
    source,
    scenario,
    scenario_hash: record.scenarioHash,
    task,
    family,
    split,
    seed,
    row,
    group,
    parent: parent ? { ...parent } : null,
    user_version: record.userVersion,
    responder_version: record.responderVersion,
    reward: verdict.reward,
    checks: verdict.checks.map((check) => ({ ...check })),
    judge: verdict.judge ?? null,
    return: record.return,
    terminated: record.terminated,
    truncated: record.truncated,
    weight,
  };
}
