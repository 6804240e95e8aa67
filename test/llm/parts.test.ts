// The small parts on their own, where a whole model would hide what they do.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { countUsage, readCompletion } from '../../src/llm/completion.js';
import { Limiter, retryAfterSeconds } from '../../src/llm/flow.js';
import { readJson, strictSchema } from '../../src/llm/reply-json.js';
import { completion } from '../llm-server/completion.js';

it('the limiter admits those who wait in order, but for those who left', async () => {
  const limiter = new Limiter(1, 1);
  const epoch = limiter.tryAcquire()!;
  const order: string[] = [];
  const controller = new AbortController();
  const waits = ['a', 'b', 'c'].map(async (name) => {
    const own = await limiter.acquire(name === 'b' ? controller.signal : undefined);
    order.push(name);
    limiter.release(own, 'success');
  });
  controller.abort();
  limiter.release(epoch, 'success');
  const [, left] = await Promise.allSettled(waits);
  expect(left).toMatchObject({ status: 'rejected', reason: { name: 'AbortError' } });
  expect(order).toEqual(['a', 'c']);
  expect(limiter.inFlight).toBe(0);
});

it.each([
  [{ 'retry-after': '7' }, 7],
  [{ 'retry-after': new Date(Date.now() - 5000).toUTCString() }, 0],
  [{ 'retry-after-ms': '250' }, 0.25],
  [{}, undefined],
])('retries read Retry-After %j', (headers, seconds) => expect(retryAfterSeconds(headers)).toBe(seconds));

describe('strict schemas', () => {
  it.each([
    [{ type: 'object' }],
    [{ type: 'object', properties: { a: {} } }],
    [{ type: 'object', properties: { a: { type: 'object', additionalProperties: { type: 'string' } } } }],
    [{ type: 'array', items: true }],
  ])('there are none of %j', (schema) => expect(strictSchema(schema)).toBeUndefined());

  it('reach into lists, choices and definitions', () => {
    const inner = { type: 'object', properties: { b: { type: ['string', 'null'] } } };
    const schema = {
      type: 'object',
      title: 'left out',
      properties: {
        list: { type: 'array', items: inner },
        any: { anyOf: [inner, { type: 'null' }] },
        ref: { $ref: '#/$defs/d' },
      },
      required: ['list'],
      $defs: { d: inner },
    };
    const strictInner = { ...inner, required: ['b'], additionalProperties: false };
    expect(strictSchema(schema)).toEqual({
      type: 'object',
      properties: {
        list: { type: 'array', items: strictInner },
        any: { anyOf: [strictInner, { type: 'null' }] },
        ref: { anyOf: [{ $ref: '#/$defs/d' }, { type: 'null' }] },
      },
      required: ['list', 'any', 'ref'],
      additionalProperties: false,
      $defs: { d: strictInner },
    });
  });
});

describe('usage', () => {
  const prices = { prompt: 1, cachedPrompt: null, completion: 1 };
  const count = (promptTokens: unknown, completionTokens: unknown, more: object = {}) =>
    countUsage(
      { promptTokens, completionTokens, cachedTokens: 0, reasoningTokens: 0, ...more },
      { promptLength: 400, replyLength: 40 },
      prices,
    );

  it.each([
    [Number.NaN, 5],
    [1.5, 5],
    [undefined, 5],
    [100, Number.POSITIVE_INFINITY],
    [100, 1e7],
  ])('is estimated for %s and %s', (prompt, completionTokens) => {
    const { usage, estimated } = count(prompt, completionTokens);
    expect(estimated).toBe(true);
    expect([100, 5, 10]).toContain(usage.completionTokens);
    expect(usage.promptTokens).toBe(100);
  });

  it('counts thoughts that are not shown, and no more cached tokens than there are', () => {
    expect(count(100, 50_000, { reasoningTokens: 49_000 })).toMatchObject({
      estimated: false,
      usage: { completionTokens: 50_000 },
    });
    expect(count(100, 10, { cachedTokens: 101 }).usage.cachedTokens).toBe(0);
  });
});

describe('JSON of strangers', () => {
  it('is read in time however it is made', () => {
    const texts = [
      '"'.repeat(1e6),
      '\\"'.repeat(5e5),
      '{"a":'.repeat(2e5),
      "'".repeat(250_000),
      '{'.repeat(90).repeat(2500),
      '/*'.repeat(1e5),
      'a:'.repeat(1e5),
    ];
    const start = performance.now();
    for (const text of texts) expect(readJson(text, 100).ok === true || readJson(text, 100).ok === false).toBe(true);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it('is read or refused, never thrown at: spoilt replies', () => {
    const rng = Rng.fromSeed(11);
    const body = { model: 'm', messages: [] };
    const answer = { text: '{"x": [1, {"y": "z\\n"}]}', toolCalls: [{ name: 'f', arguments: '{}' }], logprobs: [-1] };
    const whole = completion({ body: { ...body, logprobs: true }, answer, id: 1, model: 'm' });
    const sent = JSON.stringify(whole);
    for (let i = 0; i < 600; i++) {
      const text = spoil(sent, rng);
      let outcome: unknown;
      try {
        outcome = readCompletion(JSON.parse(text));
      } catch (error) {
        outcome = error;
        expect((error as Error).message).not.toMatch(/undefined|null \(reading|is not a function|iterable/);
      }
      expect(outcome).toBeDefined();
      expect(() => readJson(spoil(answer.text, rng), 100)).not.toThrow();
    }
  });
});

const SPLINTERS = ['\n\n', 'data: ', '\u0000', ...'null {} [] " { } [ ] : , 0 -1 1e999 true \\ "a"'.split(' ')];

/** Cuts something out of a text and puts splinters in, once to three times. */
function spoil(text: string, rng: Rng): string {
  let spoilt = text;
  for (let cuts = rng.int(3); cuts >= 0; cuts--) {
    const at = rng.int(spoilt.length + 1);
    const length = rng.int(3) === 0 ? 0 : rng.int(12);
    spoilt = spoilt.slice(0, at) + SPLINTERS[rng.int(SPLINTERS.length)] + spoilt.slice(at + length);
  }
  return spoilt;
}
