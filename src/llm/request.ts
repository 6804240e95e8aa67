// A request made ready once: its messages as JSON text, its schema compiled, and the key that names it in the cache.

import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../core/canonical-json.js';
import type { LlmConfig } from './config.js';
import type { ChatMessage, ChatRequest, ChatTool } from './language-model.js';
import { type ReplySchema, replySchema } from './reply-json.js';

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
    this.modelText = JSON.stringify(config.model);
    this.parametersText = canonicalJson(config.parameters);
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
function wireMessages(messages: readonly ChatMessage[]): string {
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

function wireTools(tools: readonly ChatTool[]): JsonObject[] {
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

// What one server accepts, learnt from what it refused, and the body of a request as it takes it.

export type Structured = Exclude<LlmConfig['structured'], 'auto'>;

/** Keys that some servers refuse, with what takes their place. */
const OMITTABLE = ['logprobs', 'return_token_ids', 'seed', 'temperature', 'top_p', 'stop', 'max_tokens'];

const LOOSER: Readonly<Record<Structured, Structured | undefined>> = {
  json_schema: 'json_object',
  json_object: 'prompt',
  prompt: undefined,
};

export class Capabilities {
  structured: Structured;
  readonly omitted = new Set<string>();
  /** Schemas, by their text, that the server refused as such. */
  private readonly refusedSchemas = new Map<string, Structured>();

  constructor(private readonly fixed: LlmConfig['structured']) {
    this.structured = fixed === 'auto' ? 'json_schema' : fixed;
  }

  /** How to ask for JSON of a schema. */
  structuredFor(schemaText: string): Structured {
    return this.refusedSchemas.get(schemaText) ?? this.structured;
  }

  /** Whether a 400 teaches something that the same request, asked otherwise, may avoid. `asked`: how JSON was asked for. */
  learn(message: string, body: string, asked?: { schemaText: string; structured: Structured }): boolean {
    if (
      asked &&
      this.fixed === 'auto' &&
      /response_format|json_?schema|json_object|structured|guided|grammar/i.test(message)
    ) {
      return this.loosen(message, asked);
    }
    // The earliest name in the message is what it complains of; others may be advice.
    const named = OMITTABLE.filter((key) => mentions(message, key) && body.includes(`"${key}":`));
    const [key] = named.sort((a, b) => message.indexOf(a) - message.indexOf(b));
    if (key === undefined) return false;
    this.omitted.add(key);
    return true;
  }

  private loosen(message: string, { schemaText, structured }: { schemaText: string; structured: Structured }): boolean {
    const looser = LOOSER[structured];
    if (looser === undefined) return false;
    // Of many requests sent at once, the first refused one has taught this already.
    if (this.structuredFor(schemaText) !== structured) return true;
    const isAboutSchema = /invalid schema|unsupported schema|in context|is not permitted|failed to (parse|convert)/i;
    if (structured === 'json_schema' && isAboutSchema.test(message)) this.refusedSchemas.set(schemaText, looser);
    else this.structured = looser;
    return true;
  }
}

function mentions(message: string, key: string): boolean {
  return new RegExp(`(^|[^a-z_])${key}($|[^a-z_])`).test(message);
}

export interface RequestBody {
  readonly text: string;
  /** How JSON was asked for; only where a schema was given. */
  readonly structured?: Structured;
}

export function requestBody(prepared: PreparedRequest, config: LlmConfig, capabilities: Capabilities): RequestBody {
  const { request, schema } = prepared;
  const { omitted } = capabilities;
  const structured = schema && capabilities.structuredFor(schema.text);
  const rest: Record<string, unknown> = {
    model: config.model,
    temperature: prepared.temperature,
    top_p: prepared.topP ?? undefined,
    max_tokens: prepared.maxTokens,
    seed: prepared.seed,
    stop: request.stop,
    // vLLM and SGLang tell the tokens they read and wrote; others refuse the key, or pay no heed to it.
    ...(request.tokens ? { return_token_ids: true, logprobs: true } : { logprobs: request.logprobs || undefined }),
    tools: request.tools && wireTools(request.tools),
    ...config.parameters,
  };
  if (omitted.size > 0) leaveOut(rest, omitted);
  // Spliced in as texts: messages and schemas are long, and were written once already.
  const restText = JSON.stringify(rest).slice(1, -1);
  const format = schema ? formatText(schema, structured!) : '';
  return { text: `{${restText},"messages":${messagesText(prepared, structured)}${format}}`, structured };
}

function leaveOut(body: Record<string, unknown>, omitted: ReadonlySet<string>): void {
  // Models that think refuse the old name of the same limit.
  if (omitted.has('max_tokens')) body.max_completion_tokens = body.max_tokens;
  for (const key of omitted) delete body[key];
}

function formatText(schema: ReplySchema, structured: Structured): string {
  if (structured === 'json_schema') return `,"response_format":${schema.formatText}`;
  return structured === 'json_object' ? ',"response_format":{"type":"json_object"}' : '';
}

/** Servers that do not enforce the schema are told it. */
function messagesText({ request, messagesText, schema }: PreparedRequest, structured: Structured | undefined): string {
  if (schema === undefined || structured === 'json_schema') return messagesText;
  const told = `Answer with one JSON object that fits this JSON Schema, and with nothing else:\n${JSON.stringify(schema.schema)}`;
  const [first, ...others] = request.messages;
  const messages: readonly ChatMessage[] =
    first?.role === 'system'
      ? [{ role: 'system', content: `${first.content}\n\n${told}` }, ...others]
      : [{ role: 'system', content: told }, ...request.messages];
  return wireMessages(messages);
}
