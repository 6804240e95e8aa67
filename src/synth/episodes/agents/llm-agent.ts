// An agent that is a language model with tools: it sees the policy, the conversation and the tools' schemas, no more.

import { isJsonObject, parsedJson } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import { ARGUMENT_LIMITS, jsonProblem } from '../../../env/tools/check-action.js';
import type { Message, ToolCall } from '../../../env/tools/message.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery, ToolsTurn } from '../../../env/tools/tools-family.js';
import type { ChatMessage, ChatReply, ChatRequest, ChatToolCall, LanguageModel } from '../../../llm/language-model.js';
import { callsInText } from './text-calls.js';

interface LlmAgentOptions {
  readonly model: LanguageModel;
  readonly temperature: number;
  readonly maxTokens?: number;
  /** Whether turns are kept as tokens too, where the server gives them. */
  readonly tokens?: boolean;
}

export class LlmAgent implements ToolsPolicy {
  readonly version: string;

  constructor(private readonly options: LlmAgentOptions) {
    this.version = `${options.model.version}, temperature ${options.temperature}`;
  }

  async act(query: ToolsPolicyQuery, signal?: AbortSignal): Promise<ToolsTurn> {
    const reply = withTextCalls(await this.options.model.chat(this.request(query), { signal }), query);
    const { tokens, usage, finishReason } = reply;
    refuseSilence(reply);
    return {
      action: asAction(reply),
      cost: usage,
      ...(tokens === undefined ? {} : { tokens }),
      ...(finishReason === 'length' ? { isCut: true } : {}),
    };
  }

  private request({ messages, tools, task, seed, step }: ToolsPolicyQuery): ChatRequest {
    return {
      messages: messages.map(asChat),
      tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      temperature: this.options.temperature,
      maxTokens: this.options.maxTokens,
      ...(this.options.tokens ? { tokens: true } : {}),
      seed: (seed + step) % 2 ** 31,
      session: `${task.id} ${seed}`,
    };
  }
}

/** A server without a parser for its model's calls sends them as text, which must not be shown to the user. */
function withTextCalls(reply: ChatReply, { tools }: ToolsPolicyQuery): ChatReply {
  if (reply.toolCalls.length > 0 || reply.text === '') return reply;
  const found = callsInText(reply.text, tools);
  if (found.calls.length === 0) return reply;
  const toolCalls = found.calls.map((call, i) => ({ id: `call_${i}`, ...call }));
  return {
    ...reply,
    text: found.text,
    toolCalls,
    finishReason: reply.finishReason === 'length' ? 'length' : 'tool_calls',
  };
}

/** @throws LLM_REPLY_INVALID where there is no turn in the reply; asked again with the same seed it would come to the same */
function refuseSilence({ text, toolCalls, finishReason, model, usage }: ChatReply): void {
  if (toolCalls.length > 0 || text.trim() !== '') return;
  const isCut = finishReason === 'length';
  const problem = isCut ? 'it was cut off (maxTokens) before it said anything' : 'it says nothing and calls nothing';
  throw reverieError('LLM_REPLY_INVALID', { model, problem, usage, retryable: false, ofModel: true });
}

function asAction({ text, reasoning, toolCalls }: ChatReply): ToolsAction {
  const calls = toolCalls.map(asCall);
  const thoughts = reasoning === undefined ? {} : { reasoning };
  return calls.length > 0
    ? { content: text === '' ? null : text, ...thoughts, toolCalls: calls }
    : { content: text, ...thoughts };
}

/** Arguments that are no acceptable JSON object are kept as written, for the environment to refuse and for training to learn from. */
function asCall({ id, name, arguments: written }: ChatToolCall): ToolCall {
  const given = parsedJson(written.trim() === '' ? '{}' : written);
  const isTaken = isJsonObject(given) && jsonProblem(given, ARGUMENT_LIMITS) === undefined;
  return isTaken ? { id, name, arguments: given } : { id, name, arguments: {}, rawArguments: written };
}

/** A message as chat servers take it; what was written malformed is shown as it was written. */
function asChat(message: Message): ChatMessage {
  if (message.role === 'tool') return { role: 'tool', toolCallId: message.toolCallId, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const { content, reasoning } = message;
  const calls = message.toolCalls?.map(({ id, name, arguments: given, rawArguments }) => ({
    id,
    name,
    arguments: rawArguments ?? JSON.stringify(given),
  }));
  const thoughts = reasoning === undefined ? {} : { reasoning };
  return { role: 'assistant', content, ...thoughts, ...(calls === undefined ? {} : { toolCalls: calls }) };
}
