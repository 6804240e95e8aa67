// What differs between OpenAI-compatible servers, and how to find out which one it is and what it accepts.

import type { ServerConfig } from './config.js';
import type { HttpReply } from './transport.js';

export type Dialect = Exclude<ServerConfig['dialect'], 'auto'>;
export type Structured = Exclude<ServerConfig['structured'], 'auto'>;

interface DialectTraits {
  /** What `/v1/models` says its models are owned by. */
  readonly owner?: string;
  /** A path at the server's origin that only this kind answers, and a key of the answer. */
  readonly sign?: { readonly path: string; readonly key: string };
  /** Keys that every request gets. */
  readonly extras: Readonly<Record<string, unknown>>;
  /** Keys that make it tell the tokens it read and wrote, with their log-probabilities; absent: it cannot. */
  readonly tokens?: Readonly<Record<string, unknown>>;
}

const TELL_TOKENS = { return_token_ids: true, logprobs: true };

export const DIALECTS: Readonly<Record<Dialect, DialectTraits>> = {
  vllm: { owner: 'vllm', sign: { path: '/version', key: 'version' }, extras: {}, tokens: TELL_TOKENS },
  sglang: { owner: 'sglang', sign: { path: '/get_model_info', key: 'model_path' }, extras: {}, tokens: TELL_TOKENS },
  ollama: { owner: 'library', sign: { path: '/api/version', key: 'version' }, extras: {} },
  // Its slots keep their prompts, so that a history that grows is read once.
  llamacpp: { owner: 'llamacpp', sign: { path: '/props', key: 'total_slots' }, extras: { cache_prompt: true } },
  openai: { extras: {} },
};

/**
 * Asks a server what it is: by the owner of its models, else by signs. `get` answers undefined where there is no
 * answer. A server that shows no sign is taken for OpenAI's own; undefined if nothing answered at all.
 */
export async function probeDialect(
  get: (path: string) => Promise<HttpReply | undefined>,
): Promise<Dialect | undefined> {
  const models = await get('models');
  const owner = models && ownerOf(models);
  const known = dialects().find(([, traits]) => traits.owner !== undefined && traits.owner === owner);
  if (known) return known[0];
  let answered = models !== undefined;
  for (const [dialect, { sign }] of dialects()) {
    const reply = sign && (await get(sign.path));
    answered ||= reply !== undefined;
    if (reply?.status === 200 && sign!.key in jsonOf(reply)) return dialect;
  }
  return answered ? 'openai' : undefined;
}

function dialects(): [Dialect, DialectTraits][] {
  return Object.entries(DIALECTS) as [Dialect, DialectTraits][];
}

function ownerOf(reply: HttpReply): unknown {
  const { data } = jsonOf(reply);
  return Array.isArray(data) ? (data[0] as { owned_by?: unknown } | undefined)?.owned_by : undefined;
}

function jsonOf({ text }: HttpReply): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Keys that some servers refuse, with what takes their place. */
const OMITTABLE = [
  ...['logprobs', 'return_token_ids', 'seed', 'temperature', 'top_p', 'stop', 'stream_options', 'max_tokens'],
  'cache_prompt',
];

const LOOSER: Readonly<Record<Structured, Structured | undefined>> = {
  json_schema: 'json_object',
  json_object: 'prompt',
  prompt: undefined,
};

/** What one server accepts, learnt from what it refused. */
export class Capabilities {
  structured: Structured;
  readonly omitted = new Set<string>();
  /** Schemas, by their text, that the server refused as such. */
  private readonly refusedSchemas = new Map<string, Structured>();

  constructor(private readonly fixed: ServerConfig['structured']) {
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
