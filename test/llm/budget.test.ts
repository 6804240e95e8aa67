// What may be spent is not overspent, however many calls are made at once, and what failed is given back.

import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../src/core/cost.js';
import { Budget } from '../../src/llm/budget.js';
import { estimateTokens } from '../../src/llm/completion.js';
import { modelOf, POINT_SCHEMA, question, serve, temporaryFolder } from './helpers.js';

const many = (count: number) => Array.from({ length: count }, (_, i) => question(`${i}`));

describe('a budget', () => {
  it('of calls is spent to the last one and no further, by calls at once', async () => {
    const server = await serve('x', { faults: { seed: 1, slowMs: 2 } });
    const budget = new Budget({ calls: 7 });
    const model = await modelOf(server, {}, { budget });
    const outcomes = await Promise.allSettled(many(30).map((request) => model.chat(request)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    expect(server.requests).toHaveLength(7);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')!;
    expect(failed.reason).toMatchObject({
      code: 'BUDGET_SPENT',
      message: 'The budget of calls is spent: 7 of 7.',
      values: { retryable: false },
    });
    expect(budget.exhausted()).toBe('calls');
  });

  it.each([
    ['tokens', { tokens: 1000 }, 1000],
    ['money', { money: 0.002 }, 0.002],
  ] as const)('of %s is overshot by a call at most', async (limit, limits, most) => {
    const usage = { promptTokens: 50, completionTokens: 50 };
    const server = await serve(() => ({ text: 'x'.repeat(200), usage }), { faults: { seed: 1, slowMs: 2 } });
    const budget = new Budget(limits);
    const model = await modelOf(server, { prices: { prompt: 1, completion: 3 } }, { budget });
    const outcomes = await Promise.allSettled(many(60).map((request) => model.chat(request)));
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(budget.exhausted()).toBe(limit);
    const { promptTokens, completionTokens, money } = budget.spent;
    const spent = limit === 'tokens' ? promptTokens + completionTokens : money;
    expect(spent).toBeGreaterThanOrEqual(most);
    expect(spent).toBeLessThanOrEqual(most * 1.2);
  });

  it('is not spent by failures and by cached replies, and is by replies that cannot be used', async () => {
    const faults = { seed: 2, rate500: 0.4 };
    const budget = new Budget({ calls: 100 });
    const model = await modelOf(
      await serve('x', { faults }),
      { retries: 20, structured: 'json_schema' },
      { budget, cacheFolder: await temporaryFolder() },
    );
    for (let round = 0; round < 2; round++) await Promise.all(many(20).map((request) => model.chat(request)));
    expect(budget.spent.calls).toBe(20);
    await model.chat(question('?', { schema: POINT_SCHEMA })).catch(() => undefined);
    expect(budget.spent.calls).toBe(21);
    expect(model.stats().spent).toEqual(budget.spent);
  });

  it('gives back what a call did not use, so that the next may go', async () => {
    const budget = new Budget({ calls: 1 });
    const first = await budget.reserve({ ...NO_COST, calls: 1 });
    const second = budget.reserve({ ...NO_COST, calls: 1 });
    first.settle(NO_COST);
    (await second).settle({ ...NO_COST, calls: 1 });
    await expect(budget.reserve(NO_COST)).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
  });

  it('lets a call go that was called off while it waited, and the same question be asked again at once', async () => {
    const server = await serve('x', { faults: { seed: 1, slowMs: 400 } });
    const model = await modelOf(server, {}, { budget: new Budget({ calls: 2 }), cacheFolder: await temporaryFolder() });
    const others = many(1).map((request) => model.chat(request));
    const controller = new AbortController();
    const reserved = model.chat(question('b'));
    const waiting = model.chat(question('c'), { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    const again = model.chat(question('c'));
    expect(model.stats().inFlight).toBe(2);
    await expect(again).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
    await Promise.all([...others, reserved]);
  });

  it('can be of time, and can be shared and charged by others', async () => {
    const budget = new Budget({ seconds: 0.05, calls: 3 });
    expect(budget.exhausted()).toBeUndefined();
    budget.charge({ ...NO_COST, calls: 1 }, 'user');
    budget.payer = 'audits';
    budget.charge({ ...NO_COST, calls: 1 }, 'user');
    expect([budget.spent.calls, budget.spentBy]).toMatchObject([2, { user: { calls: 1 }, audits: { calls: 1 } }]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(budget.exhausted()).toBe('seconds');
  });
});

it('tokens of a text are about a quarter of its bytes', () => {
  expect([estimateTokens(''), estimateTokens('abcd'), estimateTokens('漢字漢字')]).toEqual([0, 1, 3]);
});
