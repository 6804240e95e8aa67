// What the test server sends: a chat completion in OpenAI's form, whole or as the events of a stream.

import type { LlmServerRequestBody } from './llm-server.js';

export interface LlmAnswer {
  readonly text?: string;
  /** Thoughts, sent as `reasoning_content`. */
  readonly reasoning?: string;
  /** `arguments` as text, or as an object whose JSON is sent. */
  readonly toolCalls?: readonly { readonly id?: string; readonly name: string; readonly arguments: string | object }[];
  readonly refusal?: string;
  readonly finishReason?: string;
  /** Left out: about a token for four characters. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number; readonly cachedTokens?: number };
  /** Log-probabilities of the tokens, sent if the request asks for them. */
  readonly logprobs?: readonly number[];
  /** Ids as vLLM and SGLang send them, if the request asks by `return_token_ids`. */
  readonly tokens?: {
    readonly prompt: readonly number[];
    readonly reply: readonly number[];
    readonly weights?: number;
  };
}

interface CompletionParts {
  readonly body: LlmServerRequestBody;
  readonly answer: LlmAnswer;
  readonly id: number;
  readonly model: string;
  readonly lie?: { readonly usage: unknown };
}

export interface Completion {
  readonly id: string;
  readonly object: string;
  readonly model: string;
  readonly choices: readonly {
    readonly message: Message;
    readonly logprobs?: unknown;
    readonly token_ids?: readonly number[];
    readonly finish_reason: string;
  }[];
  readonly prompt_token_ids?: readonly number[];
  readonly metadata?: unknown;
  readonly usage: unknown;
}

interface Message {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly object[];
}

export function completion({ body, answer, id, model, lie }: CompletionParts): Completion {
  const calls = answer.toolCalls?.map((call, index) => ({
    id: call.id ?? `call_${id}_${index}`,
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
  const message: Message = {
    role: 'assistant',
    content: answer.text ?? null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(answer.refusal === undefined ? {} : { refusal: answer.refusal }),
    ...(calls === undefined ? {} : { tool_calls: calls }),
  };
  const logprobs = body.logprobs && answer.logprobs ? { logprobs: tokenLogprobs(answer.logprobs) } : {};
  const told = body['return_token_ids'] ? answer.tokens : undefined;
  const ids = told && { token_ids: told.reply };
  const choice = { index: 0, message, ...logprobs, ...ids, finish_reason: finishReason(answer) };
  const usage = lie ? lie.usage : trueUsage(body, answer);
  const prompt = told && { prompt_token_ids: told.prompt };
  const metadata = told?.weights === undefined ? {} : { metadata: { weight_version: told.weights } };
  return { id: `chatcmpl-${id}`, object: 'chat.completion', model, choices: [choice], ...prompt, ...metadata, usage };
}

function finishReason({ finishReason, toolCalls, refusal }: LlmAnswer): string {
  if (finishReason !== undefined) return finishReason;
  if (refusal !== undefined) return 'content_filter';
  return toolCalls !== undefined && toolCalls.length > 0 ? 'tool_calls' : 'stop';
}

function tokenLogprobs(values: readonly number[]): object {
  return { content: values.map((logprob, index) => ({ token: `t${index}`, logprob, top_logprobs: [] })) };
}

function trueUsage(body: LlmServerRequestBody, answer: LlmAnswer): object {
  const {
    promptTokens,
    completionTokens,
    cachedTokens = 0,
  } = answer.usage ?? {
    promptTokens: Math.ceil(body.messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0) / 4) + 1,
    completionTokens: Math.ceil((answer.text?.length ?? 0) / 4) + 1,
  };
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
