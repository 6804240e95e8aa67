// A turn as the tokens that a server read and wrote: asked for where a server can tell, and never made up.

import { describe, expect, it } from 'vitest';
import { modelOf, question, serve } from './helpers.js';

const TOKENS = { prompt: [1, 5, 6], reply: [7, 8, 2], weights: 41 };
const ANSWER = { text: 'yes', logprobs: [-0.5, -0.25, 0], tokens: TOKENS };
const ask = question('well?', { tokens: true });

describe('tokens of a reply', () => {
  it('are read with log-probabilities and weights', async () => {
    const server = await serve(() => ANSWER);
    const { text, tokens } = await (await modelOf(server)).chat(ask);
    expect(text).toBe('yes');
    expect(tokens).toEqual({ prompt: [1, 5, 6], reply: [7, 8, 2], logprobs: [-0.5, -0.25, 0], weightVersion: '41' });
    expect(server.requests[0].body).toMatchObject({ return_token_ids: true, logprobs: true });
  });

  it('are absent where ids of one side are missing, and log-probabilities where they are not one a token', async () => {
    const half = await serve(() => ({ ...ANSWER, tokens: { ...TOKENS, prompt: [] } }));
    expect((await (await modelOf(half)).chat(ask)).tokens).toBeUndefined();
    const few = await serve(() => ({ ...ANSWER, logprobs: [-0.5] }));
    const { tokens } = await (await modelOf(few)).chat(ask);
    expect(tokens).toEqual({ prompt: [1, 5, 6], reply: [7, 8, 2], weightVersion: '41' });
  });
});

it('asking for tokens is dropped where a server refuses it', async () => {
  const server = await serve(() => ANSWER, { unknownKeys: ['return_token_ids'] });
  const { text, tokens } = await (await modelOf(server)).chat(ask);
  expect([text, tokens]).toEqual(['yes', undefined]);
});
