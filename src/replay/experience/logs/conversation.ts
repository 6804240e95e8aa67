// One record of a log, in any format, recognized by the key that holds the conversation: OpenAI messages, ShareGPT, a
// trajectory of τ-bench, or the formats of other-forms.ts.

import { jsonrepair } from 'jsonrepair';
import { z } from 'zod';
import type { JsonObject } from '../../../core/canonical-json.js';
import { describeIssues } from '../../../core/errors.js';
import { parseExactly, RoundedNumber } from '../../../core/exact-numbers.js';
import type { AssistantMessage, Message, ToolCall } from '../../../env/tools/message.js';
import { isTooDeep, MAX_ARGUMENT_DEPTH } from '../experience.js';
import { type OtherForm, otherForm } from './other-forms.js';

export interface LoggedConversation {
  /** As the log names it; empty where it does not. */
  readonly id: string;
  readonly task: string;
  readonly messages: readonly Message[];
  /** null where the log gives none. */
  readonly reward: number | null;
  /** Place of the log that names a simulator. */
  readonly simulated?: OtherForm['simulated'];
}

const OWN_RECORD =
  'it is the row of a run, which may be simulated, and no log; `reverie collect` writes what the real environment answered to RUN/logs';

/** Throws RecordProblem. */
export function readConversation(record: unknown): LoggedConversation {
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw new RecordProblem('it is no object');
  if ('responderVersion' in record) throw new RecordProblem(OWN_RECORD);
  const other = otherForm(record);
  const { id, task, task_id, trial, reward, messages, traj, conversations, system } = (other ?? record) as Record<
    string,
    unknown
  >;
  const conversation = messagesOf({ messages, traj, conversations, system });
  if (!conversation.some(({ role }) => role === 'assistant')) throw new RecordProblem('it has no turn of an assistant');
  return {
    id: nameOf(id) || [task_id, trial].map(nameOf).filter(Boolean).join('/'),
    task: nameOf(task) || nameOf(task_id),
    messages: conversation,
    reward: rewardOf(reward),
    ...(other?.simulated && { simulated: other.simulated }),
  };
}

function messagesOf({ messages, traj, conversations, system }: Record<string, unknown>): Message[] {
  const openAi = messages === undefined ? traj : messages;
  if (openAi !== undefined) return readEach(openAi, ['messages', 'message'], messageSchema, messageOf);
  if (conversations !== undefined) return readShareGpt(conversations, system);
  throw new RecordProblem(
    'it has none of the keys "messages" (OpenAI, Anthropic), "conversations" (ShareGPT), "traj" (τ-bench), "steps" (ATIF), "content" (ADP), "sessionId" (Claude Code)',
  );
}

function nameOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function rewardOf(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new RecordProblem(`its reward is ${JSON.stringify(value)}, not a number`);
}

// Calls as logs hold them: arguments as an object or as the text a model wrote, ids that may be missing or used twice.

/** What a record cannot be read for: one sentence without a full stop. */
export class RecordProblem extends Error {}

const callSchema = z.looseObject({ name: z.unknown(), arguments: z.unknown().optional() });
type RawCall = z.output<typeof callSchema> & { readonly id?: string };

/** Gives calls ids of their own, and finds the call that an answer belongs to. */
class CallBook {
  private readonly used = new Set<string>();
  private open: { rawId: string | undefined; call: ToolCall }[] = [];

  /** The call with a unique id; it waits for an answer. Throws RecordProblem. */
  begin({ id, name, arguments: given = {} }: RawCall): ToolCall {
    if (typeof name !== 'string' || name === '') throw new RecordProblem('a call names no tool');
    const call = { id: this.freeId(id), name, ...readArguments(name, given) };
    this.open.push({ rawId: id, call });
    return call;
  }

  /** The oldest call without an answer that has this id; without an id, that has this name, if one is given. */
  answer(rawId: string | undefined, name: string | undefined): ToolCall {
    const at = this.open.findIndex(({ rawId: known, call }) =>
      rawId === undefined ? name === undefined || call.name === name : known === rawId,
    );
    if (at < 0)
      throw new RecordProblem(`a tool's answer (${rawId ?? name ?? 'without an id'}) belongs to no open call`);
    const [{ call }] = this.open.splice(at, 1);
    return call;
  }

  /** Called before anything but an answer: all calls must have theirs. */
  close(): void {
    const [first] = this.open;
    if (first !== undefined) throw new RecordProblem(`call ${first.call.id} of "${first.call.name}" has no answer`);
  }

  private freeId(wanted: string | undefined): string {
    let id = wanted;
    for (let number = this.used.size + 1; !id || this.used.has(id); number++) id = `call-${number}`;
    this.used.add(id);
    return id;
  }
}

function readArguments(name: string, given: unknown): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  if (typeof given !== 'string') return { arguments: checked(name, given) };
  const text = given.trim() === '' ? '{}' : given;
  const parsed = parse(text);
  if (parsed !== undefined) return { arguments: checked(name, parsed) };
  try {
    return { arguments: checked(name, JSON.parse(jsonrepair(text))), rawArguments: given };
  } catch {
    throw new RecordProblem(`the arguments of "${name}" are no JSON object, even repaired`);
  }
}

function parse(text: string): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    if (error instanceof RoundedNumber) throw new RecordProblem(`the arguments of a call: ${error.message}`);
    return undefined;
  }
}

function checked(name: string, value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new RecordProblem(`the arguments of "${name}" are no object`);
  if (isTooDeep(value))
    throw new RecordProblem(`the arguments of "${name}" are nested deeper than ${MAX_ARGUMENT_DEPTH}`);
  return value as JsonObject;
}

/**
 * The messages of a list, each checked against `schema` before it is read.
 * @param list  what the list is called, and one element of it, which problems name by its number from 1
 * Throws RecordProblem.
 */
function readEach<S extends z.ZodType>(
  raw: unknown,
  [list, element]: readonly [string, string],
  schema: S,
  read: (value: z.output<S>, calls: CallBook) => Message,
): Message[] {
  if (!Array.isArray(raw)) throw new RecordProblem(`its ${list} are no list`);
  const calls = new CallBook();
  return raw.map((value, i) => {
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw new RecordProblem(`${element} ${i + 1}: ${describeIssues(parsed.error)}`);
    try {
      return read(parsed.data, calls);
    } catch (error) {
      if (error instanceof RecordProblem) throw new RecordProblem(`${element} ${i + 1}: ${error.message}`);
      throw error;
    }
  });
}

// Conversations in the form of ShareGPT with tools (LLaMA-Factory, Simia): turns from human, gpt, function_call and
// observation. Answers carry no ids: each belongs to the oldest call without one.

const turnSchema = z.looseObject({
  from: z.enum(['system', 'human', 'user', 'gpt', 'assistant', 'function_call', 'tool_call', 'observation', 'tool']),
  value: z.string(),
});

function readShareGpt(raw: unknown, system: unknown): Message[] {
  const turns = readEach(raw, ['conversations', 'turn'], turnSchema, turnOf);
  return typeof system === 'string' && system !== '' ? [{ role: 'system', content: system }, ...turns] : turns;
}

function turnOf({ from, value }: z.output<typeof turnSchema>, calls: CallBook): Message {
  if (from === 'observation' || from === 'tool') {
    const { id, name } = calls.answer(undefined, undefined);
    return { role: 'tool', toolCallId: id, name, content: value, ...(reportsError(value) ? { isError: true } : {}) };
  }
  calls.close();
  if (from === 'function_call' || from === 'tool_call')
    return { role: 'assistant', content: null, toolCalls: callsOf(value).map((call) => calls.begin(call)) };
  if (from === 'gpt' || from === 'assistant') return { role: 'assistant', content: value };
  return { role: from === 'system' ? 'system' : 'user', content: value };
}

function callsOf(value: string): RawCall[] {
  let parsed: unknown;
  try {
    parsed = parseExactly(value);
  } catch (error) {
    throw new RecordProblem(`its call is not JSON (${(error as Error).message})`);
  }
  const read = z
    .array(callSchema)
    .min(1)
    .safeParse(Array.isArray(parsed) ? parsed : [parsed]);
  if (!read.success) throw new RecordProblem(`its call is not {"name", "arguments"}: ${describeIssues(read.error)}`);
  return read.data;
}

// Conversations in the form of OpenAI's chat completions, also as τ-bench keeps them.

const content = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .nullish()
  .transform((value) => (Array.isArray(value) ? value.map(({ text = '' }) => text).join('') : (value ?? null)));

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content,
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(z.looseObject({ id: z.string().nullish(), function: callSchema })).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
  is_error: z.boolean().optional(),
});
type RawMessage = z.output<typeof messageSchema>;

function messageOf(raw: RawMessage, calls: CallBook): Message {
  const text = raw.content ?? '';
  if (raw.role === 'tool') {
    const { id, name } = calls.answer(raw.tool_call_id ?? undefined, raw.name ?? undefined);
    const isError = raw.is_error ?? reportsError(text);
    return { role: 'tool', toolCallId: id, name, content: text, ...(isError ? { isError } : {}) };
  }
  calls.close();
  if (raw.role === 'assistant') return assistantOf(raw, calls);
  return { role: raw.role === 'user' ? 'user' : 'system', content: text };
}

function assistantOf(raw: RawMessage, calls: CallBook): AssistantMessage {
  const toolCalls = (raw.tool_calls ?? []).map(({ id, function: call }) =>
    calls.begin({ ...call, id: id ?? undefined }),
  );
  return {
    role: 'assistant',
    content: raw.content,
    ...(raw.reasoning_content ? { reasoning: raw.reasoning_content } : {}),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  };
}

/** Logs seldom say it: an answer that begins with "Error" is one. */
function reportsError(text: string): boolean {
  return /^\s*error\b/i.test(text) || text.startsWith('Unknown action ');
}
