// What a scenario says about a language model: where it is, how it is asked, what it may cost, and what is kept.

import { z } from 'zod';
import { describeIssues, reverieError } from '../core/errors.js';

const positive = z.int().min(1);
const seconds = z.number().positive().max(86_400);
const price = z.number().min(0).default(0);

/** Keys of a request that Reverie writes itself. */
const OWN_KEYS = ['model', 'messages', 'stream', 'response_format', 'tools', 'seed', 'n', 'logprobs', 'stop'];

const pricesSchema = z
  .strictObject({
    prompt: price.describe('For a million tokens of prompt.'),
    cachedPrompt: z
      .number()
      .min(0)
      .nullable()
      .default(null)
      .describe('For a million tokens of prompt that the server had in its prefix cache; null: as `prompt`.'),
    completion: price.describe('For a million tokens of reply.'),
  })
  .prefault({})
  .describe('Prices, in whatever currency budgets are given in.');

const cacheSchema = z
  .strictObject({
    mode: z
      .enum(['auto', 'live', 'record', 'replay', 'refresh'])
      .default('auto')
      .describe(
        '`live`: ask always. `record`: answer from the cache, ask and keep what it lacks. `replay`: never ask. `refresh`: ask and keep anew. `auto`: `record` where there is a folder to keep replies in, else `live`.',
      ),
  })
  .prefault({})
  .describe('Replies kept by what was asked, so that a run can be repeated exactly, and without a server.');

const urlSchema = z
  .string()
  .refine(
    isBaseUrl,
    'must be an http(s) URL without user, password, query or fragment, such as http://localhost:8000/v1',
  );

const parametersSchema = z
  .record(z.string(), z.json())
  .default({})
  .refine(
    (parameters) => OWN_KEYS.every((key) => !(key in parameters)),
    `must not set what Reverie writes itself (${OWN_KEYS.join(', ')})`,
  );

export const llmConfigSchema = z.strictObject({
  provider: z
    .literal('openai-compatible')
    .default('openai-compatible')
    .describe('Any server that speaks `/v1/chat/completions`.'),
  url: z
    .union([urlSchema, z.array(urlSchema).min(1)])
    .describe(
      'Base URL, usually ending in `/v1`; a list for several servers of one model, each episode at one of them.',
    ),
  model: z.string().min(1).describe("The model's name at the server."),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, never the key itself')
    .nullable()
    .default(null)
    .describe('Name of the environment variable that holds the API key; null: none is sent.'),
  structured: z
    .enum(['auto', 'json_schema', 'json_object', 'prompt'])
    .default('auto')
    .describe('How JSON is asked for; `auto`: the strictest way that the server accepts.'),
  parameters: parametersSchema.describe('More keys for the body of every request, such as `top_k`.'),
  temperature: z.number().min(0).max(2).default(0).describe('Where a request does not say.'),
  topP: z.number().positive().max(1).nullable().default(null).describe("Nucleus sampling; null: the server's own."),
  maxTokens: positive.default(4096).describe('Most tokens of a reply, where a request does not say.'),
  prices: pricesSchema,
  cache: cacheSchema,
  maxReplyBytes: positive.default(4 << 20).describe('A reply is read no further than this.'),
  timeoutSeconds: seconds.default(120).describe('From sending a request to the last byte of its reply.'),
  concurrency: positive.max(16_384).default(2048).describe('Most requests in flight, and connections.'),
  deadlineSeconds: seconds.default(600).describe('For a request with all its waits and retries, once first sent.'),
  retries: z.int().min(0).default(5).describe('After failures of server or network, each after a longer wait.'),
  retryDelaySeconds: z
    .number()
    .min(0)
    .default(0.5)
    .describe('Longest wait before the first retry; it doubles up to 8 s.'),
});

export type LlmConfig = z.infer<typeof llmConfigSchema>;
/** As a user writes it: defaults left out. */
export type LlmConfigInput = z.input<typeof llmConfigSchema>;
export type Prices = LlmConfig['prices'];

/** Fills in defaults. Throws SETTING_INVALID. */
export function parseLlmConfig(config: unknown): LlmConfig {
  const parsed = llmConfigSchema.safeParse(config);
  if (!parsed.success) throw languageModelInvalid(describeIssues(parsed.error));
  return parsed.data;
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === '';
}

export function languageModelInvalid(problem: string, cause?: unknown): Error {
  const hint = 'See section llm in docs/tools-reference.md for every key and its meaning.';
  return reverieError('SETTING_INVALID', { problem: `Language model: ${problem}.`, hint }, cause);
}
