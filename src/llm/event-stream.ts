// A streamed chat completion put together again (server-sent events, as OpenAI and those like it send them).

import { depthExceeds } from './json-text.js';

interface Delta {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
}

interface StreamedCall {
  id?: string;
  function: { name: string; arguments: string };
}

/**
 * The same object that an unstreamed reply would have been; undefined where the stream ended before the reply did.
 * Throws an Error that says what is wrong with the stream ("it …"): no JSON in it, or an error event.
 */
export function completionOfStream(text: string, maxDepth: number): unknown {
  const collected = new Collected();
  let done = false;
  for (const data of eventData(text)) {
    if (data === '[DONE]') {
      done = true;
      break;
    }
    if (depthExceeds(data, maxDepth)) throw new Error(`it is nested deeper than ${maxDepth} levels`);
    collected.add(parseEvent(data));
  }
  return done || collected.finishReason !== undefined ? collected.completion() : undefined;
}

function* eventData(text: string): Iterable<string> {
  for (const event of text.split(/\r?\n\r?\n/)) {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    if (lines.length > 0) yield lines.map((line) => line.slice(5).trim()).join('\n');
  }
}

function parseEvent(data: string): Record<string, unknown> {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    throw new Error('an event in it is not JSON');
  }
  if (typeof event !== 'object' || event === null) throw new Error('an event in it is no object');
  if ('error' in event && event.error)
    throw new Error(`it ends in an error: ${JSON.stringify(event.error).slice(0, 200)}`);
  return event as Record<string, unknown>;
}

class Collected {
  finishReason: unknown;
  private readonly texts = { content: '', reasoning_content: '', refusal: '' };
  private readonly calls: StreamedCall[] = [];
  private readonly callAt = new Map<number, StreamedCall>();
  private readonly logprobs: unknown[] = [];
  private readonly tokenIds: unknown[] = [];
  private promptIds: unknown;
  private metadata: unknown;
  private model: unknown;
  private usage: unknown;

  add(event: Record<string, unknown>): void {
    this.model ??= event.model;
    this.usage = event.usage ?? this.usage;
    this.promptIds ??= event.prompt_token_ids;
    this.metadata = event.metadata ?? this.metadata;
    const choice = Array.isArray(event.choices) ? event.choices[0] : undefined;
    if (typeof choice !== 'object' || choice === null) return;
    this.finishReason = choice.finish_reason ?? this.finishReason;
    if (Array.isArray(choice.logprobs?.content)) this.logprobs.push(...choice.logprobs.content);
    if (Array.isArray(choice.token_ids)) this.tokenIds.push(...choice.token_ids);
    this.promptIds ??= choice.prompt_token_ids;
    const delta: Delta = choice.delta ?? {};
    this.texts.content += asText(delta.content);
    this.texts.reasoning_content += asText(delta.reasoning_content ?? delta.reasoning);
    this.texts.refusal += asText(delta.refusal);
    if (Array.isArray(delta.tool_calls)) for (const part of delta.tool_calls) this.addCall(part);
  }

  completion(): unknown {
    const { content, reasoning_content, refusal } = this.texts;
    const message = {
      content,
      reasoning_content: reasoning_content || undefined,
      refusal: refusal || undefined,
      tool_calls: this.calls.length > 0 ? this.calls : undefined,
    };
    const logprobs = this.logprobs.length > 0 ? { content: this.logprobs } : undefined;
    const token_ids = this.tokenIds.length > 0 ? this.tokenIds : undefined;
    const choices = [{ message, logprobs, token_ids, finish_reason: this.finishReason ?? 'stop' }];
    const { metadata, promptIds: prompt_token_ids } = this;
    return { model: this.model, choices, usage: this.usage, prompt_token_ids, metadata };
  }

  private addCall(part: unknown): void {
    const {
      index,
      id,
      function: called,
    } = (part ?? {}) as { index?: number; id?: string; function?: Record<string, unknown> };
    const known = index === undefined ? (id === undefined ? this.calls.at(-1) : undefined) : this.callAt.get(index);
    const call = known ?? { id, function: { name: '', arguments: '' } };
    if (known === undefined) this.calls.push(call);
    if (index !== undefined) this.callAt.set(index, call);
    call.id ??= id;
    call.function.name += asText(called?.name);
    call.function.arguments += asText(called?.arguments);
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
