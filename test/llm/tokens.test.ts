// A turn as the tokens that a server read and wrote: asked for where a server can tell, and never made up.

import { describe, expect, it } from 'vitest';
import { modelOf, question, serve } from './helpers.js';

const TOKENS = { prompt: [1, 5, 6], reply: [7, 8, 2], weights: 41 };
const ANSWER = { text: 'yes', logprobs: [-0.5, -0.25, 0], tokens: TOKENS };
const ask = question('well?', { tokens: true });

describe('tokens of a reply', () => {
  it.each(['vllm', 'sglang'] as const)('are read with log-probabilities and weights from %s', async (dialect) => {
    const server = await serve(() => ANSWER, { dialect });
    const { text, tokens } = await (await modelOf(server)).chat(ask);
    expect(text).toBe('yes');
    expect(tokens).toEqual({ prompt: [1, 5, 6], reply: [7, 8, 2], logprobs: [-0.5, -0.25, 0], weightVersion: '41' });
    expect(server.requests[0].body).toMatchObject({ return_token_ids: true, logprobs: true });
  });

  it('are absent where ids of one side are missing, and log-probabilities where they are not one a token', async () => {
    const half = await serve(() => ({ ...ANSWER, tokens: { ...TOKENS, prompt: [] } }), { dialect: 'vllm' });
    expect((await (await modelOf(half)).chat(ask)).tokens).toBeUndefined();
    const few = await serve(() => ({ ...ANSWER, logprobs: [-0.5] }), { dialect: 'vllm' });
    const { tokens } = await (await modelOf(few)).chat(ask);
    expect(tokens).toEqual({ prompt: [1, 5, 6], reply: [7, 8, 2], weightVersion: '41' });
  });
});

describe('asking for tokens', () => {
  it('is left to servers that can tell', async () => {
    const server = await serve(() => ANSWER, { dialect: 'openai' });
    expect((await (await modelOf(server)).chat(ask)).tokens).toBeUndefined();
    expect(server.requests[0].body).not.toHaveProperty('return_token_ids');
  });

  it('is dropped where a server of that kind refuses it', async () => {
    const server = await serve(() => ANSWER, { dialect: 'vllm', unknownKeys: ['return_token_ids'] });
    const { text, tokens } = await (await modelOf(server)).chat(ask);
    expect([text, tokens]).toEqual(['yes', undefined]);
  });
});
