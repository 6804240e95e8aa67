// Reads a chat completion of any server into one form. Whatever is missing or of the wrong type is said, not guessed.

import { type Json, type JsonObject, parsedJson } from '../core/canonical-json.js';
import type { Cost } from '../core/cost.js';
import { reverieError } from '../core/errors.js';
import type { LlmConfig, Prices } from './config.js';
import type { ChatReply, ChatToolCall, ReplyTokens } from './language-model.js';
import { depthExceeds, readJson } from './reply-json.js';
import { calledTool, type PreparedRequest } from './request.js';

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
  // The provider failed midway: a partial reply is not used.
  if (choice.error || BROKEN_OFF.test(String(choice.finish_reason)))
    throw new Error(`it was broken off by "${choice.finish_reason}"${errorText(choice)}`);
  if (choice.message === undefined) throw new Error(`it holds no message${errorText(loose(body))}`);
  const { said, thought, refused } = contentOf(message);
  const { text, reasoning } = separateThoughts(said, thought);
  const toolCalls = list(message.tool_calls ?? (message.function_call ? [message.function_call] : [])).map(readCall);
  const refusal = refused === '' ? undefined : refused;
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

/** Content, reasoning and refusal, which servers put in separate fields or in typed content parts. */
function contentOf(message: Loose): { said: string; thought: string; refused: string } {
  const { content, refusal, reasoning_content, reasoning, thinking } = message;
  if (typeof (content ?? '') !== 'string' && !Array.isArray(content)) throw new Error('its content is no text');
  const parts = Array.isArray(content) ? content.map(loose) : [{ type: 'text', text: content }];
  const isThought = ({ type }: Loose) => type === 'thinking' || type === 'reasoning';
  const texts = (chosen: readonly Loose[]) => chosen.map((part) => plainText(part.text ?? part.thinking)).join('');
  return {
    said: texts(parts.filter((part) => !isThought(part))),
    thought: plainText(reasoning_content ?? reasoning ?? thinking) || texts(parts.filter(isThought)),
    refused: plainText(refusal) || parts.map((part) => plainText(part.refusal)).join(''),
  };
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  return list(value)
    .map((part) => plainText(loose(part).text))
    .join('');
}

/** Tags of reasoning, by model; for gpt-oss, channels. */
const OPENS = String.raw`<(?:think|thinking|thought|seed:think)>|\[THINK\]|◁think▷`;
const CLOSES = String.raw`</(?:think|thinking|thought|seed:think)>|\[/THINK\]|◁/think▷`;
const TAGGED = new RegExp(`(?:${OPENS})(.*?)(?:${CLOSES})`, 'gs');
const CLOSED = new RegExp(`^(.*)(?:${CLOSES})`, 's');
const OPENED = new RegExp(`^\\s*(?:${OPENS})(.*)$`, 'ms');
const CHANNEL =
  /<\|channel\|>(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|$)/gs;

/**
 * Thoughts come in a field of their own or between tags, of which the first may be missing, as some chat templates
 * write it themselves. No thought may stay in the text, as it would be shown to the user and learned from.
 */
function separateThoughts(text: string, given: string): { text: string; reasoning?: string } {
  const tagged: string[] = [];
  const keep = (_: string, thought: string) => {
    tagged.push(thought);
    return '';
  };
  let spoken = text;
  if (/think|thought|<\|channel\|>/i.test(text) && parsedJson(text) === undefined) {
    const channels = [...text.matchAll(CHANNEL)];
    if (channels.length > 0) {
      const inChannel = (isFinal: boolean) =>
        channels.filter(([, name]) => (name === 'final') === isFinal).map(([, , said]) => said);
      tagged.push(...inChannel(false));
      spoken = inChannel(true).join('');
    } else {
      spoken = spoken.replace(TAGGED, keep);
      const rest = tagged.splice(0);
      spoken = spoken.replace(CLOSED, keep);
      tagged.push(...rest);
      // A reply that was cut off during its reasoning.
      spoken = spoken.replace(OPENED, keep);
    }
    if (tagged.length > 0) spoken = spoken.trim();
  }
  const thoughts = [given, ...tagged.map((thought) => thought.trim())].filter((thought) => thought !== '');
  return thoughts.length === 0 ? { text: spoken } : { text: spoken, reasoning: thoughts.join('\n\n') };
}

function readCall(value: unknown, index: number): ChatToolCall {
  const { id, function: called = value } = loose(value);
  const { name, arguments: given } = loose(called);
  if (typeof name !== 'string' || name === '') throw new Error('a call in it names no tool');
  const text = typeof given === 'string' ? onceEncoded(given) : JSON.stringify(given ?? {});
  return { id: typeof id === 'string' && id !== '' ? id : `call_${index}`, name, arguments: text };
}

/** Some servers encode the JSON of arguments twice. */
function onceEncoded(text: string): string {
  const inner = text.startsWith('"') ? parsedJson(text) : undefined;
  return typeof inner === 'string' && /^\s*\{/.test(inner) ? inner : text;
}

/** Finish reasons of servers other than OpenAI's, by meaning. */
const BROKEN_OFF = /^(error|network_error|insufficient_system_resource|abort)$/i;
const REASONS: readonly (readonly [RegExp, ChatReply['finishReason']])[] = [
  [/^(tool_calls|function_call|tool_use)$/i, 'tool_calls'],
  [/^(stop|eos|eos_token|end_turn|stop_sequence)$/i, 'stop'],
  [/^(length|max_tokens|model_length|model_context_window_exceeded)$/i, 'length'],
  [/^(content_filter|sensitive|safety|prohibited_content|blocklist|spii|recitation|refusal)$/i, 'content_filter'],
];

function finishReason(reason: unknown, hasCalls: boolean): ChatReply['finishReason'] {
  const [, meant = 'other'] = REASONS.find(([pattern]) => pattern.test(String(reason))) ?? [];
  if (meant === 'tool_calls' || meant === 'stop') return hasCalls ? 'tool_calls' : 'stop';
  return meant;
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
    // llama.cpp reports its prefix cache beside the usage, older vLLM and DeepSeek in keys of their own.
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

// What a call cost, from what the server says it used: believed where it can be true, else estimated from the text.

/** Tokens of a text, roughly: a token for four bytes of UTF-8, as for English prose. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Token counts as servers report them; nothing in it is believed. */
interface ReportedUsage {
  readonly promptTokens: unknown;
  readonly cachedTokens: unknown;
  readonly completionTokens: unknown;
  /** Tokens of thoughts that are not shown. */
  readonly reasoningTokens: unknown;
}

/** A character is at most four tokens (one a byte of UTF-8); what templates add is short. */
const TOKENS_PER_CHARACTER = 4;
const TEMPLATE_TOKENS = 4096;
const MAX_HIDDEN_TOKENS = 1_000_000;

/**
 * @param lengths  characters of messages, tools and schema; of text, thoughts and calls of the reply
 * @returns `estimated`: whether a count was missing or could not be true
 */
export function countUsage(
  reported: ReportedUsage,
  { promptLength, replyLength }: { readonly promptLength: number; readonly replyLength: number },
  prices: Prices,
): { readonly usage: Cost; readonly estimated: boolean } {
  const promptBound = promptLength * TOKENS_PER_CHARACTER + TEMPLATE_TOKENS;
  const hidden = believed(reported.reasoningTokens, 0, MAX_HIDDEN_TOKENS) ?? 0;
  const replyBound = replyLength * TOKENS_PER_CHARACTER + TEMPLATE_TOKENS + hidden;
  const prompt = believed(reported.promptTokens, Math.min(promptLength, 1), promptBound);
  const completion = believed(reported.completionTokens, Math.min(replyLength, 1), replyBound);
  const promptTokens = prompt ?? Math.ceil(promptLength / 4);
  const completionTokens = completion ?? Math.ceil(replyLength / 4) + hidden;
  const cachedTokens = believed(reported.cachedTokens, 0, promptTokens) ?? 0;
  const money = moneyOf({ promptTokens, cachedTokens, completionTokens }, prices);
  return {
    usage: { calls: 1, promptTokens, cachedTokens, completionTokens, money },
    estimated: prompt === undefined || completion === undefined,
  };
}

export function moneyOf(
  tokens: Pick<Cost, 'promptTokens' | 'cachedTokens' | 'completionTokens'>,
  prices: Prices,
): number {
  const { promptTokens, cachedTokens, completionTokens } = tokens;
  const cachedPrice = prices.cachedPrompt ?? prices.prompt;
  const fresh = (promptTokens - cachedTokens) * prices.prompt;
  return (fresh + cachedTokens * cachedPrice + completionTokens * prices.completion) / 1e6;
}

function believed(value: unknown, low: number, high: number): number | undefined {
  const count = value as number;
  return Number.isSafeInteger(count) && count >= low && count <= high ? count : undefined;
}

// The last step: from a completion to a reply that is checked and paid for.

export interface Answer {
  readonly reply: ChatReply;
  /** Whether `json` is nothing but the parsed text, so that it need not be kept beside it. */
  readonly jsonIsText: boolean;
}

/** Levels that JSON in a reply may be nested. */
export const MAX_REPLY_DEPTH = 100;
const QUOTED_REPLY = 2000;

/** Throws LLM_REPLY_INVALID, LLM_REPLY_TOO_LARGE or LLM_REFUSED. */
export function finishReply(completion: Completion, prepared: PreparedRequest, config: LlmConfig): Answer {
  const { usage, estimated } = countCompletion(completion, prepared, config);
  const { text, reasoning, toolCalls, finishReason, meanLogprob, tokens, model = config.model } = completion;
  refuseUnusable(completion, usage, model, config);
  const checked = checkedJson(completion, prepared, model, usage);
  const reply: ChatReply = {
    text,
    ...(reasoning === undefined ? undefined : { reasoning }),
    ...(checked === undefined ? undefined : { json: checked.json }),
    toolCalls: toolCalls.map((call) => ({ ...call, name: calledTool(call.name, prepared) })),
    finishReason,
    ...(meanLogprob === undefined ? undefined : { meanLogprob }),
    ...(tokens === undefined ? undefined : { tokens }),
    model,
    usage,
    ...(estimated ? { usageEstimated: true } : undefined),
    cached: false,
  };
  return { reply, jsonIsText: checked?.isText === true };
}

function countCompletion(completion: Completion, { promptLength }: PreparedRequest, { prices }: LlmConfig) {
  const { text, reasoning = '', refusal = '', toolCalls, reported } = completion;
  let replyLength = text.length + reasoning.length + refusal.length;
  for (const call of toolCalls) replyLength += call.name.length + call.arguments.length;
  return countUsage(reported, { promptLength, replyLength }, prices);
}

function refuseUnusable(completion: Completion, usage: Cost, model: string, { maxReplyBytes: limit }: LlmConfig): void {
  const { text, refusal, finishReason, toolCalls } = completion;
  const values = { usage, retryable: true, ofModel: true };
  if (refusal !== undefined || finishReason === 'content_filter') {
    const problem = `${model} declined to answer${refusal === undefined ? '' : `: ${refusal.slice(0, 200)}`}`;
    const hint = 'Ask for something else, or use a model that answers such requests.';
    throw reverieError('LLM_REFUSED', { problem, hint, ...values });
  }
  if (text.length > limit) {
    throw reverieError('LLM_REPLY_TOO_LARGE', { model, size: `${text.length} characters`, limit, ...values });
  }
  if (toolCalls.some((call) => depthExceeds(call.arguments, MAX_REPLY_DEPTH))) {
    throw invalidReply(`arguments of a call are nested deeper than ${MAX_REPLY_DEPTH} levels`, model, usage, text);
  }
}

function checkedJson(
  { text, reasoning, toolCalls, finishReason }: Completion,
  { schema, request }: PreparedRequest,
  model: string,
  usage: Cost,
): { readonly json: Json; readonly isText: boolean } | undefined {
  if (schema === undefined || toolCalls.length > 0) return undefined;
  if (finishReason === 'length')
    throw invalidReply('it was cut off at its longest length (maxTokens)', model, usage, text, { cut: true });
  // Some servers file the whole reply of a thinking model under its thoughts.
  const isThought = text.trim() === '' && reasoning !== undefined;
  const reading = readJson(isThought ? reasoning : text, MAX_REPLY_DEPTH);
  if (!reading.ok) throw invalidReply(reading.problem, model, usage, text);
  const { value, problems } = schema.check(reading.value, request.schema?.mend);
  if (problems.length > 0) throw invalidReply(`it does not fit its schema: ${problems.join('; ')}`, model, usage, text);
  return { json: value, isText: !isThought && !reading.repaired && value === reading.value };
}

/** With the text, so that a caller who asks again can show the model its mistake. */
function invalidReply(problem: string, model: string, usage: Cost, text: string, more: { cut?: true } = {}): Error {
  const reply = text.slice(0, QUOTED_REPLY);
  return reverieError('LLM_REPLY_INVALID', { model, problem, reply, usage, retryable: true, ofModel: true, ...more });
}
