// What a model says is a stranger's text: too large, too deep, cut off, nearly JSON, or with token counts that cannot be.

import { describe, expect, it } from 'vitest';
import { addCosts, NO_COST } from '../../src/core/cost.js';
import type { LlmAnswer } from '../llm-server/llm-server.js';
import { modelOf, POINT_SCHEMA, question, serve } from './helpers.js';

const ask = question('where?', { schema: POINT_SCHEMA });

async function replyTo(answer: LlmAnswer, request = ask, config = {}) {
  // One way of asking: quirks.test.ts tests the others.
  return (await modelOf(await serve(() => answer), { structured: 'json_schema', ...config })).chat(request);
}

describe('a reply that should be JSON', () => {
  it.each([
    ['after thoughts', '<think>maybe {"x": 2}?</think>\n{"x": 1}'],
    ['with a tag of thoughts in a string of it', '{"x": 1, "label": "</think>"}'],
  ])('is read %s', async (_, text) => {
    expect((await replyTo({ text })).json).toMatchObject({ x: 1 });
  });

  it.each([
    ['of another shape', '{"x": "one"}', /does not fit its schema: \/x must be integer/],
    ['beyond the range of numbers', '{"x": 1e400}', /not JSON|does not fit/],
    ['too deep', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, /nested deeper than 100 levels/],
    ['too deep and broken', `{"a":${'{"a":'.repeat(10_000)}`, /nested deeper than 100 levels/],
  ])('is refused with a reason: %s', async (_, text, message) => {
    const failed = replyTo({ text });
    await expect(failed).rejects.toMatchObject({
      code: 'LLM_REPLY_INVALID',
      message: expect.stringMatching(message),
      values: { retryable: true, reply: text.slice(0, 2000), usage: { calls: 1 } },
    });
  });

  it('keeps dangerous keys harmless', async () => {
    const { json } = await replyTo(
      { text: '{"x": 1, "__proto__": {"polluted": true}}' },
      question('?', { schema: { name: 'any', schema: { type: 'object' } } }),
    );
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(Object.keys(json as object)).toEqual(['x', '__proto__']);
  });
});

describe('a reply that is too much', () => {
  it('is read no further than the cap', async () => {
    const server = await serve('x', { faults: { seed: 1, hugeReply: 1 } });
    const model = await modelOf(server);
    await expect(model.chat(ask)).rejects.toMatchObject({ code: 'LLM_REPLY_TOO_LARGE', values: { retryable: true } });
    expect(server.requests).toHaveLength(1);
  });

  it('is refused if its envelope is nested deep', async () => {
    const answer = { text: 'x', toolCalls: [{ name: 'f', arguments: `${'['.repeat(5000)}${']'.repeat(5000)}` }] };
    await expect(replyTo(answer)).rejects.toThrow(/arguments of a call are nested deeper/);
  });
});

it('a refusal is an error of its own that another attempt may avoid', async () => {
  const model = await modelOf(await serve('x', { faults: { seed: 1, refuse: 1 } }));
  const failed = model.chat(ask);
  await expect(failed).rejects.toMatchObject({ code: 'LLM_REFUSED', values: { retryable: true } });
  await expect(failed).rejects.toThrow(/I cannot help with that/);
});

describe('parts of a reply', () => {
  it('are calls of tools, as the model wrote them', async () => {
    const reply = await replyTo({
      toolCalls: [
        { id: 'a', name: 'find', arguments: '{"q": "x"' },
        { name: 'close', arguments: {} },
      ],
    });
    expect(reply.finishReason).toBe('tool_calls');
    expect(reply.toolCalls).toMatchObject([{ id: 'a', name: 'find', arguments: '{"q": "x"' }, { name: 'close' }]);
    expect(reply.json).toBeUndefined();
  });

  it.each([
    ['\n<think>\nso</think>yes <think>or no</think>', undefined, 'yes', 'so\n\nor no'],
    ['so</think>yes', 'apart', 'yes', 'apart\n\nso'],
    ['<think>cut off', undefined, '', 'cut off'],
  ])('leave thoughts out of the text: %j', async (text, reasoning, spoken, thought) => {
    const reply = await replyTo({ text, reasoning }, question('?'));
    expect([reply.text, reply.reasoning]).toEqual([spoken, thought]);
  });

  it('are none where the thoughts alone were written, and are no JSON', async () => {
    await expect(replyTo({ reasoning: 'I wonder.' })).rejects.toMatchObject({ code: 'LLM_REPLY_INVALID' });
  });
});

describe('token counts', () => {
  it('are estimated where they cannot be true, and never break a sum', async () => {
    const server = await serve('{"x": 1}', { faults: { seed: 9, lyingUsage: 1 } });
    const model = await modelOf(server, { prices: { prompt: 1, completion: 1 } });
    const replies = await Promise.all(Array.from({ length: 24 }, (_, i) => model.chat(question(`${i}`, { seed: i }))));
    const sum = replies.map(({ usage }) => usage).reduce(addCosts, NO_COST);
    expect(model.stats()).toMatchObject({ spent: { ...sum, money: expect.closeTo(sum.money, 9) } });
    expect(replies.every(({ usageEstimated }) => usageEstimated)).toBe(true);
    for (const { usage } of replies) {
      expect(usage.promptTokens).toBeGreaterThan(0);
      expect(usage.promptTokens).toBeLessThan(100);
      expect(usage.completionTokens).toBe(2);
      expect(usage.money).toBeCloseTo((usage.promptTokens + usage.completionTokens) / 1e6, 12);
    }
  });

  it('are believed where they can be, cached ones at their own price', async () => {
    const usage = { promptTokens: 1000, cachedTokens: 800, completionTokens: 10 };
    const prices = { prompt: 10, cachedPrompt: 1, completion: 100 };
    const reply = await replyTo({ text: 'x', usage }, question('?'.repeat(4000)), { prices });
    expect(reply.usage).toEqual({ calls: 1, ...usage, money: (200 * 10 + 800 + 1000) / 1e6 });
    expect(reply.usageEstimated).toBeUndefined();
  });
});
