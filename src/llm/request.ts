// A request made ready once: its messages as JSON text, its schema compiled, and the key that names it in the cache.

import { hash } from 'node:crypto';
import { canonicalJson } from '../core/canonical-json.js';
import type { LlmConfig } from './config.js';
import type { ChatMessage, ChatRequest, ChatTool } from './language-model.js';
import { type ReplySchema, replySchema } from './reply-json.js';

export interface PreparedRequest {
  readonly request: ChatRequest;
  /** Wire form of the messages, canonical JSON. */
  readonly messagesText: string;
  readonly schema?: ReplySchema;
  /** Substitutes for tool names that servers refuse, by name. */
  readonly toolNames?: ReadonlyMap<string, string>;
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
      toolNames: request.tools && wireNames(request.tools.map(({ name }) => name)),
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
    const { attempt = 0, logprobs = false, messages, seed = null, stop = null, tokens = false, tools } = request;
    const thoughts = messages.map((message) => (message.role === 'assistant' && message.reasoning) || null);
    return (
      `{"attempt":${attempt},"logprobs":${logprobs},"maxTokens":${maxTokens},"messages":${messagesText},` +
      `"model":${this.modelText},"parameters":${this.parametersText},"schema":${schema?.text ?? 'null'},` +
      `"seed":${seed},"stop":${JSON.stringify(stop)},"temperature":${temperature},${tokens ? '"tokens":true,' : ''}` +
      `${thoughts.some((thought) => thought !== null) ? `"thoughts":${JSON.stringify(thoughts)},` : ''}` +
      `"tools":${tools ? canonicalTools(tools) : 'null'},"topP":${topP}}`
    );
  }
}

/** Special requirements of a server for messages. */
interface WireForm {
  readonly toolNames?: ReadonlyMap<string, string>;
  readonly needs?: ReadonlySet<Need>;
}

/** Messages as servers take them, as canonical JSON. */
function wireMessages(messages: readonly ChatMessage[], form: WireForm = {}): string {
  return JSON.stringify(
    (form.needs?.has('no system role') ? withoutSystem(messages) : messages).map((message) =>
      wireMessage(message, form),
    ),
  );
}

function wireMessage(message: ChatMessage, { toolNames, needs }: WireForm): object {
  const { role } = message;
  const content = message.content === null && needs?.has('content of calls') ? '' : message.content;
  const wireId = (id: string) => (needs?.has('short ids') ? hash('sha256', id, 'hex').slice(0, 9) : id);
  // Keys in alphabetical order: the text is canonical, so that it can be hashed and sent alike.
  if (role === 'tool') return { content, role, tool_call_id: wireId(message.toolCallId) };
  if (role !== 'assistant' || !message.toolCalls?.length) return { content, role };
  const thoughts = needs?.has('thoughts') ? { reasoning_content: message.reasoning ?? '' } : {};
  const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({
    function: { arguments: text, name: toolNames?.get(name) ?? name },
    id: wireId(id),
    type: 'function',
  }));
  return { content, ...thoughts, role, tool_calls: calls };
}

/** The system message is prepended to the first user message. */
function withoutSystem([first, second, ...others]: readonly ChatMessage[]): readonly ChatMessage[] {
  if (first?.role !== 'system') return second === undefined ? [first] : [first, second, ...others];
  if (second?.role !== 'user')
    return [{ ...first, role: 'user' }, ...(second === undefined ? [] : [second]), ...others];
  return [{ role: 'user', content: `${first.content}\n\n${second.content}` }, ...others];
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Accepted substitutes for refused names (dots, spaces, other scripts, too long), unique; undefined if all names are accepted. */
export function wireNames(names: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (names.every((name) => TOOL_NAME.test(name))) return undefined;
  const taken = new Set(names.filter((name) => TOOL_NAME.test(name)));
  const wire = new Map<string, string>();
  for (const name of names) {
    if (taken.has(name)) continue;
    const base = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 60) || 'tool';
    let free = base;
    for (let count = 2; taken.has(free); count++) free = `${base}_${count}`;
    taken.add(free);
    wire.set(name, free);
  }
  return wire;
}

/** The tool of a reply: a substitute, a name with trailing control tokens, or a name with a namespace. */
export function calledTool(written: string, { request, toolNames }: PreparedRequest): string {
  const tools = request.tools ?? [];
  for (const [name, wire] of toolNames ?? []) if (wire === written) return name;
  const bare = written
    .replace(/<\|.*$/s, '')
    .replace(/^functions?[.:]/, '')
    .trim();
  const isKnown = (name: string) => tools.some((tool) => tool.name === name);
  return !isKnown(written) && isKnown(bare) ? bare : written;
}

const toolsTexts = new WeakMap<readonly ChatTool[], string>();

function canonicalTools(tools: readonly ChatTool[]): string {
  const text = toolsTexts.get(tools) ?? canonicalJson(tools);
  toolsTexts.set(tools, text);
  return text;
}

function wireTools({ request, toolNames }: PreparedRequest) {
  return request.tools?.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name: toolNames?.get(name) ?? name, description, parameters },
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
const OMITTABLE = [
  ...['logprobs', 'return_token_ids', 'stream_options', 'seed', 'temperature', 'top_p', 'stop', 'max_tokens'],
];

/** Requirements and limits of some servers, and the errors that show them (templates of Qwen, DeepSeek, Gemma, Mistral, ...). */
const NEEDS = {
  stream: /only supports? stream|stream mode|non-streaming|非流式|stream=false|stream.{0,20}must be (set to )?true/i,
  thoughts: /reasoning_content/i,
  'no system role': /system role|'system' with this model|role 'system'|roles must alternate/i,
  'short ids': /tool call id .* length of 9/i,
  'content of calls': /content.{0,60}(none|null|valid string|is required)/i,
} as const;
type Need = keyof typeof NEEDS;

/** Limits in a refusal: the most tokens of a reply; the context, and the tokens of the prompt. */
const MOST_TOKENS =
  /max_(?:completion_)?tokens.*?(?:at most|up to|less than or equal to|\[\d+,|: \d+ >|maximum(?: value)?(?: is| of)?|<=)\D{0,3}(\d+)/is;
const CONTEXT =
  /maximum context length (?:is|of) (\d+).*?(?:has (\d+) input tokens|(\d+) (?:in|of|from) (?:the|your))/is;
const LEAST_REPLY = 64;

const LOOSER: Readonly<Record<Structured, Structured | undefined>> = {
  json_schema: 'json_object',
  json_object: 'prompt',
  prompt: undefined,
};

export class Capabilities {
  structured: Structured;
  readonly omitted = new Set<string>();
  needs: ReadonlySet<Need> = new Set();
  maxTokens = Number.POSITIVE_INFINITY;
  /** Ways to ask for JSON that have produced a valid reply. */
  private readonly proven = new Set<Structured>();
  /** Schemas, by their text, that the server refused as such. */
  private readonly refusedSchemas = new Map<string, Structured>();

  constructor(private readonly fixed: LlmConfig['structured']) {
    this.structured = fixed === 'auto' ? 'json_schema' : fixed;
  }

  /** How to ask for JSON of a schema. */
  structuredFor(schemaText: string): Structured {
    return this.refusedSchemas.get(schemaText) ?? this.structured;
  }

  /**
   * What a 400 teaches that the same request, asked otherwise, may avoid: a function that forgets it again, for where that did not help.
   * @param asked  how JSON was asked for
   */
  learn(message: string, { text: body, needs }: RequestBody, asked?: AskedJson): (() => void) | undefined {
    if (
      asked &&
      this.fixed === 'auto' &&
      /response_format|json_?schema|json_object|structured|guided|grammar/i.test(message)
    ) {
      return this.loosen(message, asked) ? () => {} : undefined;
    }
    const most = Number(MOST_TOKENS.exec(message)?.[1] ?? Number.NaN);
    if (most > 0 && most < sentMaxTokens(body)) {
      this.maxTokens = Math.min(most, this.maxTokens);
      return () => {};
    }
    const need = (Object.keys(NEEDS) as Need[]).find((each) => NEEDS[each].test(message));
    // The request already has the form that the refusal asks for: the cause is another one.
    if (need !== undefined && !needs.has(need)) {
      this.needs = new Set([...this.needs, need]);
      return () => {
        this.needs = new Set([...this.needs].filter((each) => each !== need));
      };
    }
    // The earliest name in the message is what it complains of; others may be advice.
    const named = OMITTABLE.filter((key) => mentions(message, key) && body.includes(`"${key}":`));
    const [key] = named.sort((a, b) => message.indexOf(a) - message.indexOf(b));
    if (key === undefined) return undefined;
    this.omitted.add(key);
    return () => this.omitted.delete(key);
  }

  /** Records a way to ask that produced valid JSON. */
  worked(structured: Structured): void {
    this.proven.add(structured);
  }

  /** Whether an invalid reply may come from a gateway that ignores the JSON mode: then the next way is tried. */
  ignored(asked: AskedJson): boolean {
    const { structured } = asked;
    if (this.fixed !== 'auto' || this.proven.has(structured)) return false;
    return this.loosen('', asked);
  }

  private loosen(message: string, { schemaText, structured }: AskedJson): boolean {
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

/** The way in which JSON was requested. */
interface AskedJson {
  readonly schemaText: string;
  readonly structured: Structured;
}

function sentMaxTokens(body: string): number {
  return Number(/"max_(?:completion_)?tokens":(\d+)/.exec(body)?.[1] ?? 0);
}

/** Tokens left in the context after the prompt, if a refusal gives both and a shorter reply is possible. */
export function roomLeft(message: string, body: string): number | undefined {
  const [, context, taken, written] = CONTEXT.exec(message) ?? [];
  const left = Number(context) - Number(taken ?? written);
  return left >= LEAST_REPLY && left < sentMaxTokens(body) ? left : undefined;
}

function mentions(message: string, key: string): boolean {
  return new RegExp(`(^|[^a-z_])${key}($|[^a-z_])`).test(message);
}

interface RequestBody {
  readonly text: string;
  /** How JSON was asked for; only where a schema was given. */
  readonly structured?: Structured;
  readonly needs: ReadonlySet<Need>;
}

/** @param room  maximum tokens of the reply, if the context leaves fewer than requested */
export function requestBody(
  prepared: PreparedRequest,
  config: LlmConfig,
  capabilities: Capabilities,
  room = Number.POSITIVE_INFINITY,
): RequestBody {
  const { request, schema } = prepared;
  const { omitted } = capabilities;
  const structured = schema && capabilities.structuredFor(schema.text);
  const rest: Record<string, unknown> = {
    model: config.model,
    temperature: prepared.temperature,
    top_p: prepared.topP ?? undefined,
    max_tokens: Math.min(prepared.maxTokens, capabilities.maxTokens, room),
    seed: prepared.seed,
    stop: request.stop,
    // vLLM and SGLang tell the tokens they read and wrote; others refuse the key, or pay no heed to it.
    ...(request.tokens ? { return_token_ids: true, logprobs: true } : { logprobs: request.logprobs || undefined }),
    tools: wireTools(prepared),
    ...(capabilities.needs.has('stream') ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...config.parameters,
  };
  if (omitted.size > 0) leaveOut(rest, omitted);
  // Spliced in as texts: messages and schemas are long, and were written once already.
  const restText = JSON.stringify(rest).slice(1, -1);
  const format = schema ? formatText(schema, structured!) : '';
  return {
    text: `{${restText},"messages":${messagesText(prepared, structured, capabilities)}${format}}`,
    structured,
    needs: capabilities.needs,
  };
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
function messagesText(
  { request: { messages }, messagesText, schema, toolNames }: PreparedRequest,
  structured: Structured | undefined,
  { needs }: Capabilities,
): string {
  const form = { toolNames, needs };
  if (schema === undefined || structured === 'json_schema')
    return toolNames === undefined && needs.size === 0 ? messagesText : wireMessages(messages, form);
  const instruction = `Answer with one JSON object that fits this JSON Schema, and with nothing else:\n${JSON.stringify(schema.schema)}`;
  const [first, ...others] = messages;
  return wireMessages(
    first?.role === 'system'
      ? [{ role: 'system', content: `${first.content}\n\n${instruction}` }, ...others]
      : [{ role: 'system', content: instruction }, ...messages],
    form,
  );
}
