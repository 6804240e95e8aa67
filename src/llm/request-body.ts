// The body of a chat request as one server takes it, as JSON text.

import type { ServerConfig } from './config.js';
import { type Capabilities, DIALECTS, type Dialect, type Structured } from './dialect.js';
import type { ChatMessage } from './language-model.js';
import { type PreparedRequest, wireMessages, wireTools } from './prepared-request.js';
import type { ReplySchema } from './reply-schema.js';

export interface BodyTarget {
  readonly config: ServerConfig;
  readonly dialect: Dialect;
  readonly capabilities: Capabilities;
}

export interface RequestBody {
  readonly text: string;
  /** How JSON was asked for; only where a schema was given. */
  readonly structured?: Structured;
}

export function requestBody(prepared: PreparedRequest, { config, dialect, capabilities }: BodyTarget): RequestBody {
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
    logprobs: request.logprobs || undefined,
    tools: request.tools && wireTools(request.tools),
    stream: config.stream,
    ...(config.stream ? { stream_options: { include_usage: true } } : undefined),
    ...DIALECTS[dialect].extras,
    ...(request.tokens ? DIALECTS[dialect].tokens : undefined),
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
