// A GGUF file run in this process by node-llama-cpp: one request at a time, each from an empty context, so that neither
// answers nor token counts depend on what was asked before.

import { existsSync } from 'node:fs';
import type { Json, JsonObject } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import type { Counters, EndpointStats } from './budget.js';
import { type Answer, type Backend, type Completion, finishReply, separateThoughts } from './completion.js';
import { type LlamaConfig, languageModelInvalid, modelName } from './config.js';
import { abortError, type CallSignal, Limiter, onAbort } from './flow.js';
import type { ChatMessage } from './language-model.js';
import type { PreparedRequest } from './request.js';

interface Loaded {
  readonly llama: Llama;
  readonly chat: LlamaChat;
  readonly sequence: LlamaSequence;
}

export class LlamaBackend implements Backend {
  private readonly limiter = new Limiter(1, 1);
  private loaded: Loaded | undefined;

  constructor(
    private readonly config: LlamaConfig,
    private readonly counters: Counters,
    private readonly importPackage = importLlamaPackage,
  ) {}

  /** Throws SETTING_INVALID if there is no such file, no such package, or the file cannot be loaded. */
  async load(): Promise<void> {
    const { modelPath, contextSize, threads } = this.config;
    if (!existsSync(modelPath)) throw languageModelInvalid(`there is no file "${modelPath}" (modelPath)`);
    const { getLlama, LlamaChat } = await this.importPackage();
    try {
      const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: threads });
      const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
      const context = await model.createContext({ sequences: 1, contextSize, threads });
      const sequence = context.getSequence();
      this.loaded = { llama, sequence, chat: new LlamaChat({ contextSequence: sequence }) };
    } catch (error) {
      const problem = `"${modelPath}" cannot be loaded (${(error as Error).message})`;
      throw languageModelInvalid(problem, error);
    }
  }

  async ask(prepared: PreparedRequest, signal?: CallSignal): Promise<Answer> {
    if (prepared.request.tools !== undefined) {
      const problem = 'node-llama-cpp is given schemas here, not tools';
      throw reverieError('LLM_REFUSED', {
        problem,
        hint: 'Ask for calls by a schema, or use a server.',
        retryable: false,
      });
    }
    const epoch = this.limiter.tryAcquire() ?? (await this.limiter.acquire(signal));
    try {
      return finishReply(await this.generate(prepared, signal), prepared, this.config, this.counters);
    } finally {
      this.limiter.release(epoch, 'other');
    }
  }

  endpoints(): readonly EndpointStats[] {
    const { inFlight, limit } = this.limiter;
    const url = this.config.modelPath;
    return [{ url, inFlight, limit, structured: 'json_schema', omitted: [] }];
  }

  async close(): Promise<void> {
    await this.loaded?.llama.dispose();
    this.loaded = undefined;
  }

  private async generate(prepared: PreparedRequest, signal: CallSignal | undefined): Promise<Completion> {
    const { llama, chat, sequence } = this.loaded!;
    const options = { ...responseOptions(prepared), ...(await this.grammar(llama, prepared)) };
    await sequence.clearHistory();
    const { usedInputTokens, usedOutputTokens } = sequence.tokenMeter;
    this.counters.requests++;
    const start = performance.now();
    const { response, metadata } = await this.inTime(signal, (inner) =>
      chat.generateResponse(historyOf(prepared.request.messages), { ...options, signal: inner }),
    );
    this.counters.addLatency((performance.now() - start) / 1000);
    const { tokenMeter } = sequence;
    return {
      ...separateThoughts(response, undefined),
      toolCalls: [],
      finishReason: metadata.stopReason === 'maxTokens' ? 'length' : 'stop',
      reported: {
        promptTokens: tokenMeter.usedInputTokens - usedInputTokens,
        completionTokens: tokenMeter.usedOutputTokens - usedOutputTokens,
        cachedTokens: 0,
        reasoningTokens: 0,
      },
    };
  }

  private async grammar(llama: Llama, { schema }: PreparedRequest): Promise<{ grammar: object } | undefined> {
    if (schema === undefined) return undefined;
    try {
      return { grammar: await llama.createGrammarForJsonSchema(grammarSchema(schema.schema) as JsonObject) };
    } catch (error) {
      const problem = `no grammar can be made of schema "${schema.name}" (${(error as Error).message})`;
      throw reverieError(
        'LLM_REFUSED',
        { problem, hint: 'Use a plainer schema, or a server.', retryable: false },
        error,
      );
    }
  }

  /** Ends the work at the deadline or the caller's signal, and waits until it has ended. */
  private async inTime<T>(signal: CallSignal | undefined, work: (inner: AbortSignal) => Promise<T>): Promise<T> {
    const { timeoutSeconds, modelPath } = this.config;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutSeconds * 1000);
    const forgetSignal = signal && onAbort(signal, () => controller.abort());
    try {
      if (signal?.aborted) throw abortError(signal);
      return await work(controller.signal);
    } catch (error) {
      if (signal?.aborted) throw abortError(signal);
      if (controller.signal.aborted) {
        const problem = `no reply within ${timeoutSeconds} s`;
        throw reverieError('LLM_TIMEOUT', { url: modelPath, problem, tries: 1, retryable: true }, error);
      }
      throw reverieError(
        'LLM_UNREACHABLE',
        { url: modelName(this.config), problem: (error as Error).message, tries: 1, retryable: false },
        error,
      );
    } finally {
      clearTimeout(timer);
      forgetSignal?.();
    }
  }
}

function responseOptions({ request, temperature, topP, maxTokens, seed }: PreparedRequest): LlamaResponseOptions {
  return {
    maxTokens,
    temperature,
    // Without one it draws a seed from the clock.
    seed: seed ?? 0,
    ...(topP === null ? undefined : { topP }),
    ...(request.stop ? { customStopTriggers: request.stop } : undefined),
  };
}

function historyOf(messages: readonly ChatMessage[]): LlamaHistoryItem[] {
  const items = messages.map((message): LlamaHistoryItem => {
    if (message.role === 'assistant') return { type: 'model', response: [spokenText(message)] };
    return { type: message.role === 'system' ? 'system' : 'user', text: message.content };
  });
  return [...items, { type: 'model', response: [] }];
}

function spokenText({ content, toolCalls = [] }: Extract<ChatMessage, { role: 'assistant' }>): string {
  const calls = toolCalls.map((call) => `${call.name}(${call.arguments})`);
  return [content ?? '', ...calls].join('\n').trim();
}

/** Its grammars know `oneOf` alone, where a generator may take any of them as well. */
function grammarSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map(grammarSchema);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key === 'anyOf' ? 'oneOf' : key, grammarSchema(value)]),
  );
}

// The part of node-llama-cpp that is used here. It is an optional peer, so neither its types nor its code may be needed
// to build or start Reverie.

export interface LlamaPackage {
  getLlama(options: { gpu: false; build: 'never'; logLevel: string; maxThreads: number }): Promise<Llama>;
  LlamaChat: new (options: { contextSequence: LlamaSequence }) => LlamaChat;
}

interface Llama {
  loadModel(options: { modelPath: string; gpuLayers: number }): Promise<LlamaModel>;
  createGrammarForJsonSchema(schema: object): Promise<object>;
  dispose(): Promise<void>;
}

interface LlamaModel {
  createContext(options: { sequences: number; contextSize: number; threads: number }): Promise<LlamaContext>;
}

interface LlamaContext {
  getSequence(): LlamaSequence;
}

interface LlamaSequence {
  readonly tokenMeter: { readonly usedInputTokens: number; readonly usedOutputTokens: number };
  clearHistory(): Promise<void>;
}

export type LlamaHistoryItem =
  | { readonly type: 'system' | 'user'; readonly text: string }
  | { readonly type: 'model'; readonly response: readonly string[] };

export interface LlamaResponseOptions {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly grammar?: object;
  readonly customStopTriggers?: readonly string[];
  readonly signal?: AbortSignal;
}

interface LlamaChat {
  generateResponse(
    history: readonly LlamaHistoryItem[],
    options: LlamaResponseOptions,
  ): Promise<{ readonly response: string; readonly metadata: { readonly stopReason: string } }>;
}

/** Throws SETTING_INVALID with how to install it. */
export async function importLlamaPackage(name = 'node-llama-cpp'): Promise<LlamaPackage> {
  try {
    return (await import(name)) as LlamaPackage;
  } catch (error) {
    const command = 'npm i --omit=optional node-llama-cpp @node-llama-cpp/linux-x64';
    const problem = `provider "node-llama-cpp" needs a package that is not installed (${(error as Error).message}); on Linux: ${command}`;
    throw languageModelInvalid(problem, error);
  }
}
