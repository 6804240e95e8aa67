// What answers behind caches and budgets: servers, or a model in this process. And the last step that all share: from a
// completion to a reply that is checked and paid for.

import type { Cost } from '../core/cost.js';
import { reverieError } from '../core/errors.js';
import type { Json } from '../core/json.js';
import type { CallSignal } from './abort.js';
import type { Completion } from './completion.js';
import { type LlmConfig, modelName } from './config.js';
import type { Counters, EndpointStats } from './counters.js';
import { depthExceeds, readJson } from './json-text.js';
import type { ChatReply } from './language-model.js';
import type { PreparedRequest } from './prepared-request.js';
import { type CountedUsage, countUsage } from './usage.js';

export interface Answer {
  readonly reply: ChatReply;
  /** Whether `json` is nothing but the parsed text, so that it need not be kept beside it. */
  readonly jsonIsText: boolean;
}

export interface Backend {
  /**
   * Asks, once more where that is worthwhile. Rejects as `LanguageModel.chat` does; an error after which something has
   * to be paid says so in `values.usage` (a Cost).
   */
  ask(prepared: PreparedRequest, signal?: CallSignal): Promise<Answer>;
  endpoints(): readonly EndpointStats[];
  close(): Promise<void>;
}

const QUOTED = 2000;

/** Throws LLM_REPLY_INVALID, LLM_REPLY_TOO_LARGE or LLM_REFUSED. */
export function finishReply(
  completion: Completion,
  prepared: PreparedRequest,
  config: LlmConfig,
  counters: Counters,
): Answer {
  const counted = countCompletion(completion, prepared, config);
  if (counted.estimated) counters.estimatedUsage++;
  const { text, reasoning, toolCalls, finishReason, meanLogprob, tokens } = completion;
  const model = completion.model ?? modelName(config);
  refuseUnusable(completion, counted.usage, model, config);
  const checked = checkedJson(completion, prepared, { model, usage: counted.usage, config, counters });
  const reply: ChatReply = {
    text,
    ...(reasoning === undefined ? undefined : { reasoning }),
    ...(checked === undefined ? undefined : { json: checked.json }),
    toolCalls,
    finishReason,
    ...(meanLogprob === undefined ? undefined : { meanLogprob }),
    ...(tokens === undefined ? undefined : { tokens }),
    model,
    usage: counted.usage,
    ...(counted.estimated ? { usageEstimated: true } : undefined),
    cached: false,
  };
  return { reply, jsonIsText: checked?.isText === true };
}

function countCompletion(completion: Completion, prepared: PreparedRequest, config: LlmConfig): CountedUsage {
  const { text, reasoning = '', refusal = '', toolCalls, reported } = completion;
  let replyLength = text.length + reasoning.length + refusal.length;
  for (const call of toolCalls) replyLength += call.name.length + call.arguments.length;
  return countUsage(reported, { promptLength: prepared.promptLength, replyLength }, config.prices);
}

function refuseUnusable(completion: Completion, usage: Cost, model: string, config: LlmConfig): void {
  const { text, refusal, finishReason, toolCalls } = completion;
  if (refusal !== undefined || finishReason === 'content_filter') {
    const problem = `${model} declined to answer${refusal === undefined ? '' : `: ${refusal.slice(0, 200)}`}`;
    const hint = 'Ask for something else, or use a model that answers such requests.';
    throw reverieError('LLM_REFUSED', { problem, hint, usage, retryable: true, ofModel: true });
  }
  const { maxReplyBytes, maxReplyDepth } = config;
  if (text.length > maxReplyBytes) {
    const size = `${text.length} characters`;
    throw reverieError('LLM_REPLY_TOO_LARGE', {
      model,
      size,
      limit: maxReplyBytes,
      usage,
      retryable: true,
      ofModel: true,
    });
  }
  if (toolCalls.some((call) => depthExceeds(call.arguments, maxReplyDepth))) {
    throw invalidReply(`arguments of a call are nested deeper than ${maxReplyDepth} levels`, { model, usage, text });
  }
}

interface CheckContext {
  readonly model: string;
  readonly usage: Cost;
  readonly config: LlmConfig;
  readonly counters: Counters;
}

function checkedJson(
  completion: Completion,
  { schema }: PreparedRequest,
  context: CheckContext,
): { readonly json: Json; readonly isText: boolean } | undefined {
  const { text, toolCalls, finishReason } = completion;
  if (schema === undefined || toolCalls.length > 0) return undefined;
  const { model, usage, config, counters } = context;
  if (finishReason === 'length')
    throw invalidReply('it was cut off at its longest length (maxTokens)', { model, usage, text });
  const reading = readJson(text, config.maxReplyDepth);
  if (!reading.ok) throw invalidReply(reading.problem, { model, usage, text });
  if (reading.repaired) counters.repaired++;
  const { value, problems } = schema.check(reading.value);
  if (problems.length > 0)
    throw invalidReply(`it does not fit its schema: ${problems.join('; ')}`, { model, usage, text });
  return { json: value, isText: !reading.repaired && value === reading.value };
}

function invalidReply(problem: string, { model, usage, text }: { model: string; usage: Cost; text: string }): Error {
  // The text is there for whoever asks again and shows the model its mistake.
  const reply = text.slice(0, QUOTED);
  return reverieError('LLM_REPLY_INVALID', { model, problem, reply, usage, retryable: true, ofModel: true });
}
