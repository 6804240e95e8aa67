// Reads a chat completion of any server into one form. Whatever is missing or of the wrong type is said, not guessed.

import type { JsonObject } from '../core/json.js';
import type { ChatReply, ChatToolCall, ReplyTokens } from './language-model.js';
import type { ReportedUsage } from './usage.js';

export interface Completion {
  readonly text: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: ChatReply['finishReason'];
  readonly meanLogprob?: number;
  readonly tokens?: ReplyTokens;
  readonly model?: string;
  readonly reported: ReportedUsage;
}

type Loose = Readonly<Record<string, unknown>>;

/** Throws an Error that says what is wrong with it ("it …"). */
export function readCompletion(body: unknown): Completion {
  const choice = loose(list(loose(body).choices)[0]);
  const message = loose(choice.message);
  if (choice.message === undefined) throw new Error(`it holds no message${errorText(loose(body))}`);
  const { text, reasoning } = thoughtsApart(contentText(message.content), message);
  const toolCalls = list(message.tool_calls ?? []).map(readCall);
  const refusal = typeof message.refusal === 'string' && message.refusal !== '' ? message.refusal : undefined;
  const model = loose(body).model;
  return {
    text,
    reasoning,
    refusal,
    toolCalls,
    finishReason: finishReason(choice.finish_reason, toolCalls.length > 0),
    meanLogprob: meanLogprob(loose(choice.logprobs).content),
    tokens: replyTokens(loose(body)),
    model: typeof model === 'string' && model !== '' ? model : undefined,
    reported: reportedUsage(loose(body)),
  };
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) throw new Error('its content is no text');
  return content.map((part) => (typeof loose(part).text === 'string' ? loose(part).text : '')).join('');
}

/** Thoughts come in a field of their own, or before the answer between tags. */
function thoughtsApart(text: string, message: Loose): { text: string; reasoning?: string } {
  const given = message.reasoning_content ?? message.reasoning;
  if (typeof given === 'string' && given !== '') return { text, reasoning: given };
  if (!text.startsWith('<think>')) return { text };
  const end = text.indexOf('</think>');
  if (end < 0) return { text: '', reasoning: text.slice('<think>'.length) };
  return { text: text.slice(end + '</think>'.length).trimStart(), reasoning: text.slice('<think>'.length, end).trim() };
}

function readCall(value: unknown, index: number): ChatToolCall {
  const { id, function: called } = loose(value);
  const { name, arguments: given } = loose(called);
  if (typeof name !== 'string' || name === '') throw new Error('a call in it names no tool');
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return { id: typeof id === 'string' && id !== '' ? id : `call_${index}`, name, arguments: text };
}

function finishReason(reason: unknown, hasCalls: boolean): ChatReply['finishReason'] {
  if (reason === 'tool_calls' || reason === 'function_call') return 'tool_calls';
  if (reason === 'stop' || reason === 'eos') return hasCalls ? 'tool_calls' : 'stop';
  if (reason === 'length' || reason === 'content_filter') return reason;
  return 'other';
}

function meanLogprob(tokens: unknown): number | undefined {
  if (!Array.isArray(tokens) || tokens.length === 0) return undefined;
  let sum = 0;
  for (const token of tokens) {
    const { logprob } = loose(token);
    if (!isLogprob(logprob)) return undefined;
    sum += logprob;
  }
  return Math.min(0, sum / tokens.length);
}

/**
 * vLLM and SGLang tell ids by `return_token_ids`; SGLang which weights wrote them, in `metadata`. Nothing is put together
 * from texts: where ids of either side are missing there are none.
 */
function replyTokens(body: Loose): ReplyTokens | undefined {
  const choice = loose(list(body.choices)[0]);
  const prompt = tokenIds(body.prompt_token_ids ?? choice.prompt_token_ids);
  const reply = tokenIds(choice.token_ids);
  if (prompt === undefined || reply === undefined) return undefined;
  const told = list(loose(choice.logprobs).content).map((token) => loose(token).logprob);
  const logprobs = told.length === reply.length && told.every(isLogprob) ? told : undefined;
  const version = loose(body.metadata).weight_version;
  return {
    ...{ prompt, reply },
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(version === undefined || version === null ? {} : { weightVersion: String(version) }),
  };
}

function tokenIds(value: unknown): readonly number[] | undefined {
  const ids = list(value);
  return ids.length > 0 && ids.every((id) => Number.isInteger(id)) ? (ids as number[]) : undefined;
}

function isLogprob(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value <= 1e-6;
}

function reportedUsage({ usage, timings }: Loose): ReportedUsage {
  const counts = loose(usage);
  return {
    promptTokens: counts.prompt_tokens,
    // llama.cpp tells of its prefix cache beside the usage, older vLLM and DeepSeek in keys of their own.
    cachedTokens:
      loose(counts.prompt_tokens_details).cached_tokens ?? counts.prompt_cache_hit_tokens ?? loose(timings).cache_n,
    completionTokens: counts.completion_tokens,
    reasoningTokens: loose(counts.completion_tokens_details).reasoning_tokens,
  };
}

function errorText({ error }: Loose): string {
  if (error === undefined) return '';
  return `, but an error: ${(typeof error === 'string' ? error : JSON.stringify(error)).slice(0, 200)}`;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function loose(value: unknown): Loose {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}
