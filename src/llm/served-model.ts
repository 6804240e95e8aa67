// From a configuration to a language model.

import { hash } from 'node:crypto';
import { canonicalJson, type Json } from '../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../core/cost.js';
import { ERROR_CATALOGUE, type ErrorCode, ReverieError, reverieError } from '../core/errors.js';
import type { Budget, ModelStats } from './budget.js';
import { type Answer, moneyOf } from './completion.js';
import { type LlmConfig, type LlmConfigInput, languageModelInvalid, parseLlmConfig } from './config.js';
import { abortError, onAbort } from './flow.js';
import type { ChatOptions, ChatReply, ChatRequest, LanguageModel } from './language-model.js';
import { cacheDamaged, type Entry, openReplyStore, type ReplyStore } from './reply-store.js';
import { type PreparedRequest, RequestPreparer } from './request.js';
import { ChatServer } from './server.js';

export interface LanguageModelOptions {
  /** Folder of the cache; made if need be. Models of several configurations may share one. */
  readonly cacheFolder?: string;
  /** What may be spent; several models may share one. */
  readonly budget?: Budget;
}

/** Asks nothing yet. Throws SETTING_INVALID, FILE_INVALID, STORAGE_FAILED or STORAGE_FULL. */
export async function makeLanguageModel(
  input: LlmConfigInput,
  { cacheFolder, budget }: LanguageModelOptions = {},
): Promise<ServedModel> {
  const config = parseLlmConfig(input);
  const mode = cacheMode(config, cacheFolder);
  const key = mode === 'replay' ? undefined : apiKeyOf(config);
  const servers = [config.url].flat().map((url) => new ChatServer({ ...config, url }, key));
  const cache = mode === 'live' ? undefined : { store: await openReplyStore(cacheFolder!), mode };
  return new ServedModel({ config, servers, cache, budget });
}

function cacheMode({ cache: { mode } }: LlmConfig, folder: string | undefined): CacheMode {
  if (mode === 'auto') return folder === undefined ? 'live' : 'record';
  if (mode === 'live' || folder !== undefined) return mode;
  throw languageModelInvalid(`cache mode "${mode}" needs a folder to keep replies in`);
}

/** Node checks header values itself, and would quote a faulty key in its error. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

function apiKeyOf({ apiKeyEnv }: LlmConfig): string | undefined {
  if (apiKeyEnv === null) return undefined;
  const key = process.env[apiKeyEnv]?.trim();
  if (key && HEADER_VALUE.test(key)) return key;
  const what = key ? 'holds characters that no API key has' : 'is not set';
  throw languageModelInvalid(`environment variable ${apiKeyEnv} (apiKeyEnv) ${what}`);
}

// A language model as `makeLanguageModel` answers it: what was asked before comes from the cache, what is asked twice at
// once is asked once, and what is asked at all is paid for from a budget.

type CacheMode = 'live' | 'record' | 'replay' | 'refresh';

interface ModelParts {
  readonly config: LlmConfig;
  /** Of one model. */
  readonly servers: readonly ChatServer[];
  /** Where and how replies are kept; left out: nowhere. */
  readonly cache?: { readonly store: ReplyStore; readonly mode: CacheMode };
  readonly budget?: Budget;
}

interface Shared {
  readonly reply: Promise<ChatReply>;
  readonly controller: AbortController;
  waiters: number;
}

/** Costs of a call before it is made: a reply is taken to be as long as the ones before it. */
const FIRST_COMPLETION_GUESS = 256;

export class ServedModel implements LanguageModel {
  readonly version: string;
  private readonly preparer: RequestPreparer;
  private readonly pending = new Map<string, Shared>();
  private cacheHits = 0;
  private spent: Cost = NO_COST;

  constructor(private readonly parts: ModelParts) {
    this.version = versionOf(parts.config);
    this.preparer = new RequestPreparer(parts.config);
  }

  async chat(request: ChatRequest, { signal }: ChatOptions = {}): Promise<ChatReply> {
    const { cache } = this.parts;
    if (signal?.aborted) throw abortError(signal);
    const prepared = this.preparer.prepare(request);
    if (cache === undefined) return (await this.ask(prepared, signal)).reply;
    const key = this.preparer.key(prepared);
    const shared = this.pending.get(key);
    // One that was called off never has a reply to wait for.
    if (shared?.controller.signal.aborted === false) {
      this.cacheHits++;
      return { ...(await join(shared, signal)), cached: true };
    }
    const known = cache.mode === 'refresh' ? undefined : this.lookUp(key);
    if (known === undefined) return this.askShared(key, prepared, signal);
    this.cacheHits++;
    if (known instanceof Error) throw known;
    return known;
  }

  /** What happened so far. */
  stats(): ModelStats {
    const all = this.parts.servers.map((server) => server.stats());
    const sum = (of: 'requests' | 'retries' | 'inFlight' | 'limit') => all.reduce((total, each) => total + each[of], 0);
    const { structured } = all[0];
    const omitted = [...new Set(all.flatMap((each) => each.omitted))];
    const [problem] = all.flatMap((each) => each.problem ?? []);
    const counted = {
      requests: sum('requests'),
      retries: sum('retries'),
      inFlight: sum('inFlight'),
      limit: sum('limit'),
    };
    const { cacheHits, spent } = this;
    return { cacheHits, spent, ...counted, structured, omitted, ...(problem === undefined ? {} : { problem }) };
  }

  /** Makes durable what the cache was given so far. Throws STORAGE_FULL, STORAGE_FAILED. */
  async flush(): Promise<void> {
    await this.parts.cache?.store.flush();
  }

  /** Ends connections, and makes the cache durable. */
  async close(): Promise<void> {
    await Promise.all(this.parts.servers.map((server) => server.close()));
    await this.parts.cache?.store.close();
  }

  /** The cached reply, or the failure that was the reply; undefined where a server has to be asked. */
  private lookUp(key: string): ChatReply | Error | undefined {
    const { store, mode } = this.parts.cache!;
    const entry = store.get(key);
    if (entry === 'missing' || entry === 'corrupt') {
      if (mode === 'replay' && entry === 'corrupt') throw cacheDamaged(key, 'its digest does not fit');
      if (mode === 'replay') throw reverieError('LLM_REPLAY_MISS', { key, retryable: false });
      return undefined;
    }
    if (entry.kind === 'reply') return replyOf(entry);
    // A server may have been given a longer context since, and replies more room; only a replay is to meet what was.
    const isRoom = entry.code === 'LLM_REPLY_TOO_LARGE' && Number(entry.values.limit) < this.parts.config.maxReplyBytes;
    if ((isRoom || entry.code === 'LLM_CONTEXT_EXCEEDED') && mode !== 'replay') return undefined;
    // Saved by another version and unknown to this one: asked again.
    if (!Object.hasOwn(ERROR_CATALOGUE, entry.code)) return undefined;
    return reverieError(entry.code as ErrorCode, entry.values);
  }

  /** Asks for all callers that want the same reply now; called off once none does. */
  private askShared(key: string, prepared: PreparedRequest, signal: AbortSignal | undefined): Promise<ChatReply> {
    const controller = new AbortController();
    const reply = this.askAndKeep(key, prepared, controller.signal);
    const shared: Shared = { reply, controller, waiters: 0 };
    this.pending.set(key, shared);
    return join(shared, signal);
  }

  private async askAndKeep(key: string, prepared: PreparedRequest, signal: AbortSignal): Promise<ChatReply> {
    const { store } = this.parts.cache!;
    try {
      const answer = await this.ask(prepared, signal);
      store.put(key, replyEntry(answer));
      return answer.reply;
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      const { code, values } = error;
      if (values.ofModel === true) store.put(key, { kind: 'error', code, values });
      throw error;
    } finally {
      this.pending.delete(key);
    }
  }

  private async ask(prepared: PreparedRequest, signal: AbortSignal | undefined): Promise<Answer> {
    const { servers, budget } = this.parts;
    const { session, messages, role } = prepared.request;
    // All requests of an episode go to one server, for its prefix cache.
    const server =
      servers.length === 1 ? servers[0] : servers[placeOf(session ?? JSON.stringify(messages), servers.length)];
    const reservation = budget && (await budget.reserve(this.estimate(prepared), signal));
    let cost = NO_COST;
    try {
      const answer = await server.ask(prepared, signal);
      cost = answer.reply.usage;
      return answer;
    } catch (error) {
      // What a failed call cost all the same.
      if (error instanceof ReverieError) cost = (error.values.usage as Cost | undefined) ?? NO_COST;
      throw error;
    } finally {
      this.spent = addCosts(this.spent, cost);
      reservation?.settle(cost, role);
    }
  }

  private estimate({ promptLength, maxTokens }: PreparedRequest): Cost {
    const { calls, completionTokens } = this.spent;
    const usual = calls > 0 ? completionTokens / calls : FIRST_COMPLETION_GUESS;
    const tokens = {
      promptTokens: Math.ceil(promptLength / 4),
      cachedTokens: 0,
      completionTokens: Math.min(maxTokens, Math.ceil(usual)),
    };
    return { calls: 1, ...tokens, money: moneyOf(tokens, this.parts.config.prices) };
  }
}

function placeOf(session: string, count: number): number {
  return Number.parseInt(hash('sha256', session, 'hex').slice(0, 12), 16) % count;
}

type ReplyEntry = Extract<Entry, { kind: 'reply' }>;

function replyEntry({ reply, jsonIsText }: Answer): ReplyEntry {
  const { json: _, ...others } = reply;
  return { kind: 'reply', reply: jsonIsText ? others : reply, jsonIsText };
}

function replyOf({ reply, jsonIsText }: ReplyEntry): ChatReply {
  return jsonIsText ? { ...reply, json: JSON.parse(reply.text) as Json, cached: true } : { ...reply, cached: true };
}

/** Waits for a shared reply, until this waiter's own signal. */
async function join(shared: Shared, signal: AbortSignal | undefined): Promise<ChatReply> {
  shared.waiters++;
  if (signal === undefined) return shared.reply;
  return new Promise((resolve, reject) => {
    const forgetSignal = onAbort(signal, () => {
      reject(abortError(signal));
      if (--shared.waiters === 0) shared.controller.abort();
    });
    shared.reply.then(resolve, reject).finally(forgetSignal);
  });
}

/** Name of the model, and a digest of what else can change its answers. */
function versionOf({ model, provider, temperature, topP, maxTokens, parameters }: LlmConfig): string {
  const facts = { provider, temperature, topP, maxTokens, parameters };
  return `${model}@${hash('sha256', canonicalJson(facts), 'hex').slice(0, 12)}`;
}
