// A model in this process, with a stand-in for the package that runs it; the real one is tested by contract-real.test.ts.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Counters } from '../../src/llm/budget.js';
import { llamaConfigSchema } from '../../src/llm/config.js';
import type { ChatRequest } from '../../src/llm/language-model.js';
import {
  importLlamaPackage,
  LlamaBackend,
  type LlamaHistoryItem,
  type LlamaPackage,
  type LlamaResponseOptions,
} from '../../src/llm/llama-backend.js';
import { RequestPreparer } from '../../src/llm/request.js';
import { makeLanguageModel } from '../../src/llm/served-model.js';
import { POINT_SCHEMA, question, temporaryFolder } from './helpers.js';

interface Generated {
  readonly history: readonly LlamaHistoryItem[];
  readonly options: LlamaResponseOptions;
}

/** A package whose model answers `text`, and never ends where that is undefined. */
function fakePackage(text: string | undefined, stopReason = 'eogToken') {
  const generated: Generated[] = [];
  const opened: unknown[] = [];
  const tokenMeter = { usedInputTokens: 0, usedOutputTokens: 0 };
  class LlamaChat {
    async generateResponse(history: readonly LlamaHistoryItem[], options: LlamaResponseOptions) {
      generated.push({ history, options });
      tokenMeter.usedInputTokens += 11;
      tokenMeter.usedOutputTokens += 3;
      if (text !== undefined) return { response: text, metadata: { stopReason } };
      return new Promise<never>((_, reject) =>
        options.signal!.addEventListener('abort', () => reject(options.signal!.reason)),
      );
    }
  }
  const getLlama = async (options: unknown) => {
    opened.push(options);
    return {
      loadModel: async () => ({
        createContext: async () => ({ getSequence: () => ({ tokenMeter, clearHistory: async () => undefined }) }),
      }),
      createGrammarForJsonSchema: async (schema: object) => ({ grammarOf: schema }),
      dispose: async () => undefined,
    };
  };
  return { generated, opened, load: async () => ({ getLlama, LlamaChat }) as unknown as LlamaPackage };
}

async function loaded(fake: ReturnType<typeof fakePackage>, more: object = {}) {
  const modelPath = join(await temporaryFolder(), 'tiny.gguf');
  await writeFile(modelPath, 'GGUF');
  const config = llamaConfigSchema.parse({ provider: 'node-llama-cpp', modelPath, ...more });
  const backend = new LlamaBackend(config, new Counters(), fake.load);
  await backend.load();
  const preparer = new RequestPreparer(config);
  return async (request: ChatRequest, signal?: AbortSignal) =>
    (await backend.ask(preparer.prepare(request), signal)).reply;
}

describe('a model in this process', () => {
  it('is opened on the CPU, with the threads it is given, and never built', async () => {
    const fake = fakePackage('x');
    await loaded(fake);
    expect(fake.opened).toEqual([{ gpu: false, build: 'never', logLevel: 'error', maxThreads: 1 }]);
  });

  it('is given the conversation, seed and grammar, and answers as any other', async () => {
    const fake = fakePackage('{"x": 1}');
    const ask = await loaded(fake);
    const messages = [
      { role: 'system', content: 's' },
      { role: 'user', content: 'u' },
      { role: 'assistant', content: null, toolCalls: [{ id: '1', name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: '1', content: 'found' },
    ] as const;
    const reply = await ask({
      messages,
      schema: POINT_SCHEMA,
      seed: 5,
      attempt: 1,
      stop: ['.'],
      topP: 0.5,
      maxTokens: 9,
    });
    expect(reply).toMatchObject({ json: { x: 1 }, finishReason: 'stop', model: 'tiny.gguf', cached: false });
    expect(reply.usage).toEqual({ calls: 1, promptTokens: 11, cachedTokens: 0, completionTokens: 3, money: 0 });
    const [{ history, options }] = fake.generated;
    expect(history).toEqual([
      { type: 'system', text: 's' },
      { type: 'user', text: 'u' },
      { type: 'model', response: ['f({})'] },
      { type: 'user', text: 'found' },
      { type: 'model', response: [] },
    ]);
    expect(options).toMatchObject({
      maxTokens: 9,
      temperature: 0,
      topP: 0.5,
      seed: 1_000_008,
      customStopTriggers: ['.'],
    });
    expect(options.grammar).toEqual({ grammarOf: POINT_SCHEMA.schema });
  });

  it('answers one request at a time', async () => {
    const fake = fakePackage('x');
    const ask = await loaded(fake);
    const replies = await Promise.all(Array.from({ length: 5 }, (_, i) => ask(question(`${i}`))));
    expect(replies.map(({ usage }) => usage.promptTokens)).toEqual([11, 11, 11, 11, 11]);
  });

  it('says that a reply was cut off', async () => {
    const ask = await loaded(fakePackage('{"x":', 'maxTokens'));
    await expect(ask(question('?', { schema: POINT_SCHEMA }))).rejects.toThrow(/cut off at its longest length/);
  });

  it('is stopped at the deadline, and when it is called off', async () => {
    const ask = await loaded(fakePackage(undefined), { timeoutSeconds: 0.05 });
    await expect(ask(question('?'))).rejects.toMatchObject({ code: 'LLM_TIMEOUT' });
    await expect(ask(question('?'), AbortSignal.timeout(5))).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('takes no tools', async () => {
    const ask = await loaded(fakePackage('x'));
    const tools = [{ name: 'f', description: '', parameters: {} }];
    await expect(ask(question('?', { tools }))).rejects.toMatchObject({
      code: 'LLM_REFUSED',
      values: { retryable: false },
    });
  });
});

describe('what is missing', () => {
  it('is named: the file', async () => {
    const made = makeLanguageModel({ provider: 'node-llama-cpp', modelPath: 'no/such.gguf' });
    await expect(made).rejects.toMatchObject({
      code: 'SETTING_INVALID',
      message: expect.stringMatching(/no\/such\.gguf/),
    });
  });

  it('is named: the package, with how to install it', async () => {
    const imported = importLlamaPackage('a-package-that-nobody-has');
    await expect(imported).rejects.toThrow(/npm i --omit=optional node-llama-cpp @node-llama-cpp\/linux-x64/);
  });

  it('is not needed to replay', async () => {
    const cacheFolder = await temporaryFolder();
    const config = { provider: 'node-llama-cpp', modelPath: 'no/such.gguf', cache: { mode: 'replay' } } as const;
    const model = await makeLanguageModel(config, { cacheFolder });
    await expect(model.chat(question('x'))).rejects.toMatchObject({ code: 'LLM_REPLAY_MISS' });
    await model.close();
  });
});
