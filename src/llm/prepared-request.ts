// A request made ready once: its messages as JSON text, its schema compiled, and the key that names it in the cache.

import { hash } from 'node:crypto';
import { canonicalJson } from '../core/canonical-json.js';
import type { JsonObject } from '../core/json.js';
import { answerParameters, type LlmConfig, modelName } from './config.js';
import type { ChatMessage, ChatRequest, ChatTool } from './language-model.js';
import { type ReplySchema, replySchema } from './reply-schema.js';

export interface PreparedRequest {
  readonly request: ChatRequest;
  /** Wire form of the messages, canonical JSON. */
  readonly messagesText: string;
  readonly schema?: ReplySchema;
  readonly temperature: number;
  readonly topP: number | null;
  readonly maxTokens: number;
  /** As sent: the request's own, moved by its attempt, so that another attempt may answer something else. */
  readonly seed?: number;
  /** Characters of messages, tools and schema. */
  readonly promptLength: number;
}

/** Prepares requests for one configuration. */
export class RequestPreparer {
  private readonly modelText: string;
  private readonly parametersText: string;

  constructor(private readonly config: LlmConfig) {
    this.modelText = JSON.stringify(modelName(config));
    this.parametersText = canonicalJson(answerParameters(config));
  }

  /** Throws SCHEMA_INVALID. */
  prepare(request: ChatRequest): PreparedRequest {
    const { temperature, topP, maxTokens } = this.config;
    const messagesText = wireMessages(request.messages);
    const schema = request.schema && replySchema(request.schema);
    const toolsLength = request.tools ? canonicalTools(request.tools).length : 0;
    return {
      request,
      messagesText,
      schema,
      temperature: request.temperature ?? temperature,
      topP: request.topP ?? topP,
      maxTokens: request.maxTokens ?? maxTokens,
      seed: wireSeed(request.seed, request.attempt ?? 0),
      promptLength: messagesText.length + toolsLength + (schema?.text.length ?? 0),
    };
  }

  /** SHA-256 (hex) of the canonical JSON of everything that can change the answer. */
  key(prepared: PreparedRequest): string {
    return hash('sha256', this.keyText(prepared), 'hex');
  }

  /** Canonical JSON, put together from parts that are written once. */
  private keyText({ request, messagesText, schema, temperature, topP, maxTokens }: PreparedRequest): string {
    const { attempt = 0, logprobs = false, seed = null, stop = null, tokens = false, tools } = request;
    return (
      `{"attempt":${attempt},"logprobs":${logprobs},"maxTokens":${maxTokens},"messages":${messagesText},` +
      `"model":${this.modelText},"parameters":${this.parametersText},"schema":${schema?.text ?? 'null'},` +
      `"seed":${seed},"stop":${JSON.stringify(stop)},"temperature":${temperature},${tokens ? '"tokens":true,' : ''}` +
      `"tools":${tools ? canonicalTools(tools) : 'null'},"topP":${topP}}`
    );
  }
}

/** Messages as servers take them, as canonical JSON. */
export function wireMessages(messages: readonly ChatMessage[]): string {
  return JSON.stringify(messages.map(wireMessage));
}

function wireMessage(message: ChatMessage): object {
  const { content, role } = message;
  // Keys in alphabetical order: the text is canonical, so that it can be hashed and sent alike.
  if (role === 'tool') return { content, role, tool_call_id: message.toolCallId };
  if (role !== 'assistant' || !message.toolCalls?.length) return { content, role };
  const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({
    function: { arguments: text, name },
    id,
    type: 'function',
  }));
  return { content, role, tool_calls: calls };
}

const toolsTexts = new WeakMap<readonly ChatTool[], string>();

function canonicalTools(tools: readonly ChatTool[]): string {
  const known = toolsTexts.get(tools);
  if (known !== undefined) return known;
  const text = canonicalJson(tools);
  toolsTexts.set(tools, text);
  return text;
}

export function wireTools(tools: readonly ChatTool[]): JsonObject[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

const SEED_RANGE = 2 ** 31;
const ATTEMPT_STRIDE = 1_000_003;

function wireSeed(seed: number | undefined, attempt: number): number | undefined {
  if (seed === undefined) return undefined;
  return ((((seed % SEED_RANGE) + attempt * ATTEMPT_STRIDE) % SEED_RANGE) + SEED_RANGE) % SEED_RANGE;
}
