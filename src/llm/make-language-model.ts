// From a configuration to a language model.

import { reverieError } from '../core/errors.js';
import type { Backend } from './backend.js';
import type { BatchLine } from './batch.js';
import type { Budget } from './budget.js';
import { type LlmConfig, type LlmConfigInput, parseLlmConfig, type ServerConfig } from './config.js';
import { Counters } from './counters.js';
import { LlamaBackend } from './llama-backend.js';
import { openReplyStore } from './reply-store.js';
import { type CacheMode, type ModelParts, ServedModel } from './served-model.js';
import { ServerBackend } from './server-backend.js';

export interface LanguageModelOptions {
  /** Folder of the cache; made if need be. Models of several configurations may share one. */
  readonly cacheFolder?: string;
  /** What may be spent; several models may share one. */
  readonly budget?: Budget;
  /** In mode `replay`: told of each request that the cache lacks, as a line for `writeBatchFiles`. */
  readonly onMiss?: (line: BatchLine) => void;
}

/**
 * Asks nobody anything yet, but for a model in this process, which is loaded. Throws LLM_CONFIG_INVALID,
 * LLM_CACHE_CORRUPT, STORAGE_FAILED or STORAGE_FULL.
 */
export async function makeLanguageModel(
  input: LlmConfigInput,
  { cacheFolder, budget, onMiss }: LanguageModelOptions = {},
): Promise<ServedModel> {
  const config = parseLlmConfig(input);
  const mode = cacheMode(config, cacheFolder);
  const counters = new Counters();
  const apiKey = config.provider === 'openai-compatible' && mode !== 'replay' ? apiKeyOf(config) : undefined;
  const cache = await openCache(config, mode, cacheFolder);
  const backend = await makeBackend(config, { apiKey, counters, mode });
  return new ServedModel({ config, backend, counters, cache, budget, onMiss });
}

interface BackendParts {
  readonly apiKey: string | undefined;
  readonly counters: Counters;
  readonly mode: CacheMode;
}

async function makeBackend(config: LlmConfig, { apiKey, counters, mode }: BackendParts): Promise<Backend> {
  if (config.provider === 'openai-compatible') return new ServerBackend(config, apiKey, counters);
  const backend = new LlamaBackend(config, counters);
  // Where nothing is asked, neither package nor file need be there.
  if (mode !== 'replay') await backend.load();
  return backend;
}

async function openCache(config: LlmConfig, mode: CacheMode, folder: string | undefined): Promise<ModelParts['cache']> {
  if (mode === 'live') return undefined;
  return { store: await openReplyStore(folder!, config.cache.memoryMegabytes * 1e6), mode };
}

function cacheMode({ cache: { mode } }: LlmConfig, folder: string | undefined): CacheMode {
  if (mode === 'auto') return folder === undefined ? 'live' : 'record';
  if (mode === 'live' || folder !== undefined) return mode;
  throw reverieError('LLM_CONFIG_INVALID', { problem: `cache mode "${mode}" needs a folder to keep replies in` });
}

/** Node checks header values itself, and would quote a faulty key in its error. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

function apiKeyOf({ apiKeyEnv }: ServerConfig): string | undefined {
  if (apiKeyEnv === null) return undefined;
  const key = process.env[apiKeyEnv]?.trim();
  if (key && HEADER_VALUE.test(key)) return key;
  const what = key ? 'holds characters that no API key has' : 'is not set';
  throw reverieError('LLM_CONFIG_INVALID', { problem: `environment variable ${apiKeyEnv} (apiKeyEnv) ${what}` });
}
