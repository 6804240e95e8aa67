// What may be said about a language model in a scenario, and what is refused before anything is asked.

import { describe, expect, it } from 'vitest';
import { type LlmConfigInput, llmConfigSchema } from '../../src/llm/config.js';
import { makeLanguageModel } from '../../src/llm/served-model.js';
import { modelOf, question, serve } from './helpers.js';

const SERVER = { provider: 'openai-compatible', url: 'http://localhost:8000/v1', model: 'm' } as const;

describe('the configuration', () => {
  it('needs a URL and a model, and has sensible values for the rest', () => {
    const { concurrency, temperature, maxReplyBytes, ...rest } = llmConfigSchema.parse(SERVER) as never as Record<
      string,
      unknown
    >;
    expect({ concurrency, temperature, maxReplyBytes }).toEqual({
      concurrency: 2048,
      temperature: 0,
      maxReplyBytes: 4 << 20,
    });
    expect(rest.cache).toEqual({ mode: 'auto' });
  });

  it.each([
    ['a user in the URL', { url: 'http://me:secret@host/v1' }, /url/],
    ['no URL at all', { url: '' }, /url/],
    ['an API key instead of its variable', { apiKeyEnv: 'sk-123-abc' }, /never the key itself/],
    ['a key of ours among the parameters', { parameters: { messages: [] } }, /what Reverie writes itself/],
    ['an unknown key', { temprature: 1 }, /temprature/],
  ])('refuses %s', async (_, keys, message) => {
    const made = makeLanguageModel({ ...SERVER, ...keys } as LlmConfigInput);
    await expect(made).rejects.toMatchObject({ code: 'SETTING_INVALID', message: expect.stringMatching(message) });
    await expect(made).rejects.not.toThrow(/secret|sk-123/);
  });

  it('needs a folder for modes that keep replies', async () => {
    const made = makeLanguageModel({ ...SERVER, cache: { mode: 'replay' } });
    await expect(made).rejects.toThrow(/cache mode "replay" needs a folder/);
  });

  it('names a model by everything that changes its answers, and nothing else', async () => {
    const server = await serve('x');
    const version = async (config: object) => (await modelOf(server, config)).version;
    const plain = await version({});
    expect(plain).toMatch(/^test-model@[0-9a-f]{12}$/);
    expect(await version({ concurrency: 3, retries: 1, timeoutSeconds: 5, prices: { prompt: 3 } })).toBe(plain);
    for (const config of [{ temperature: 1 }, { maxTokens: 5 }, { parameters: { top_k: 1 } }, { model: 'n' }]) {
      expect(await version(config)).not.toBe(plain);
    }
  });
});

describe('a request', () => {
  it('whose schema is none is refused', async () => {
    const model = await modelOf(await serve('x'));
    const schema = { name: 's', schema: { type: 'nonsense' } };
    await expect(model.chat(question('a', { schema }))).rejects.toMatchObject({ code: 'SCHEMA_INVALID' });
  });

  it('to a URL that is wrong says so', async () => {
    const server = await serve('x');
    const model = await modelOf(server, { url: server.url.replace('/v1', '') });
    await expect(model.chat(question('a'))).rejects.toMatchObject({
      code: 'LLM_REFUSED',
      message: expect.stringMatching(/404 no \/chat\/completions here/),
      values: { retryable: false },
    });
  });
});
