// What a format of episodes is: rows made from records, one after another, and what a reader must know of them; and the parts
// of conversations that all formats are made of.

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { callsOf, type Message, type ToolCall } from '../../../env/tools/message.js';
import type { EpisodeRecord, ExperienceIndex } from '../../../replay/experience/experience.js';
import type { Split } from '../../quality/quality-config.js';
import type { ParquetColumns } from '../parquet-file.js';

export type { Split };

export interface FormatContext {
  readonly domain: ToolsDomain;
  readonly tools: readonly ToolDefinition[];
  readonly taskOf: (id: string) => ToolsTask | undefined;
  readonly license: string;
  /** Prompt settings of the language model that simulates the tools; default settings unless given. */
  readonly world?: WorldPrompt;
  /** Says of the record at hand that it could not be written as it is; each reason is counted once a record. */
  readonly adapt: Adapt;
}

/** `settings`: the section `model.llm`; `index`: retrieves similar records. */
export interface WorldPrompt {
  readonly settings: object;
  readonly index?: ExperienceIndex;
}

export type Adapt = (reason: string) => void;

/** Rows of one form: a configuration of the dataset, with files of its own. */
export interface FormatTable {
  /** Columns of Parquet files; absent: JSON Lines. */
  readonly columns?: ParquetColumns;
  /** Feature types for the card, as `datasets` writes them in YAML: JSON Lines alone have no types. */
  readonly features?: readonly JsonObject[];
  /** Whether what the agent does in a row is to be imitated: then only episodes that were good enough make rows of it. */
  readonly isImitated?: boolean;
}

export interface FormatRow {
  /** Which of the format's tables; absent: the only one. */
  readonly table?: string;
  readonly split: Split;
  readonly value: JsonObject;
}

/** Paths of data files within the folder, by table and split. */
export type DataFiles = ReadonlyMap<string, ReadonlyMap<Split, string>>;

export const ONLY_TABLE = 'default';

export interface EpisodeFormat {
  /** By name, the one that readers get by default first. */
  readonly tables: Readonly<Record<string, FormatTable>>;
  rows(record: EpisodeRecord): Iterable<FormatRow>;
  /** Rows that waited for more records. */
  end?(): Iterable<FormatRow>;
  /** Further files beside the data: name to content. */
  files?(data: DataFiles): Readonly<Record<string, Json>>;
}

/** Features of a card: columns of JSON, lists of JSON, texts. */
export const json = (...names: string[]): JsonObject[] => names.map((name) => ({ name, dtype: 'json' }));
export const lists = (...names: string[]): JsonObject[] => names.map((name) => ({ name, list: 'json' }));
export const texts = (...names: string[]): JsonObject[] => names.map((name) => ({ name, dtype: 'string' }));

interface ToolDefinition extends JsonObject {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject };
}

export function toolDefinitions(domain: ToolsDomain): ToolDefinition[] {
  return domain.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

/**
 * OpenAI's form: arguments are JSON text, answers name their call; no reasoning.
 * @param nameOf name of a tool in that form
 */
export function openAiMessage(message: Message, nameOf?: (name: string) => string): JsonObject {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = callsOf(message).map((call) => openAiCall({ ...call, name: nameOf?.(call.name) ?? call.name }));
  return { role: 'assistant', content: message.content || null, ...(calls.length > 0 && { tool_calls: calls }) };
}

export function openAiCall({ id, name, arguments: values }: ToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(values) } };
}

/** The form of chat templates (TRL): arguments are objects, answers name their tool, thoughts are `reasoning_content`. */
export function templateMessage(message: Message): JsonObject {
  if (message.role === 'tool') return { role: 'tool', name: message.name, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = callsOf(message).map((call) => ({
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return {
    role: 'assistant',
    content: message.content ?? '',
    ...(message.reasoning && { reasoning_content: message.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** How many messages there are up to and including the agent's last; 0 if it never acts. */
export function lengthToLastTurn(messages: readonly Message[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant') + 1;
}

/** How many messages come before the agent first acts. */
export function lengthOfStart(messages: readonly Message[]): number {
  const first = messages.findIndex((message) => message.role === 'assistant');
  return first < 0 ? messages.length : first;
}

/**
 * The messages to learn from, for formats that learn from every turn of the agent: up to its last one, and not past one
 * that is masked. Empty where nothing is left.
 */
export function unmaskedMessages(record: EpisodeRecord, adapt: Adapt): readonly Message[] {
  const masked = record.masked?.[0] ?? record.messages.length;
  if (masked < record.messages.length) adapt('cut before a masked turn');
  return toLastTurn(record.messages.slice(0, masked), adapt);
}

export function toLastTurn(messages: readonly Message[], adapt: Adapt): readonly Message[] {
  const length = lengthToLastTurn(messages);
  if (length === 0) adapt('left out: no turn to learn from');
  else if (length < messages.length) adapt("messages after the agent's last turn left out");
  return messages.slice(0, length);
}

export function hasParallelCalls(messages: readonly Message[]): boolean {
  return messages.some((message) => callsOf(message).length > 1);
}

/** The policy, where messages of the system say one. */
export function policyIn(messages: readonly Message[]): string {
  return messages.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n\n');
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

/** Where a record came from, and what it came to. */
export function provenance(record: EpisodeRecord): JsonObject {
  const { source, scenario, task, family, split, seed, row, group, parent, verdict, outcome, weight } = record;
  return {
    ...{ source, scenario, scenario_hash: record.scenarioHash, task, family, split, seed, row, group },
    parent: parent ? { ...parent } : null,
    user_version: record.userVersion,
    responder_version: record.responderVersion,
    reward: verdict.reward,
    checks: verdict.checks.map((check) => ({ ...check })),
    judge: verdict.judge ?? null,
    ...{ outcome: outcome.kind, outcome_cause: outcome.cause, attempt: outcome.attempt },
    ...{ return: record.return, terminated: record.terminated, truncated: record.truncated, weight },
  };
}
