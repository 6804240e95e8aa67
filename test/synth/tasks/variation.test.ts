// Variation: what rules make is solved by its reference, and what a language model writes is a proposal and no more.

import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/canonical-json.js';
import { Rng } from '../../../src/core/rng.js';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { replacer } from '../../../src/synth/tasks/entity-swap.js';
import { varyTask } from '../../../src/synth/tasks/make-tasks.js';
import { checkReference } from '../../../src/synth/tasks/task-checks.js';
import { CANCEL, CREDIT, KEPT, shop } from './shop.js';

const domain = shop();
const player = rulesResponder(domain, 'rules');

function vary(seed = 1, from: ToolsTask = CANCEL, given = domain) {
  const responder = given.rules && (given === domain ? player : rulesResponder(given, 'rules'));
  return varyTask({ domain: given, responder, seed: from, rng: Rng.fromSeed(seed) });
}

describe('entity swap', () => {
  it('exchanges ids, names, places and amounts together, in every part of the task', async () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 6; seed++) {
      const { task } = await vary(seed);
      const order = task!.reference!.calls[1].arguments.order_id as string;
      const record = (domain.initialState.orders as Record<string, Record<string, Json>>)[order];
      const customer = (domain.initialState.customers as Record<string, Record<string, Json>>)[
        String(record.customer_id)
      ];
      const [total, name] = [Number(record.total).toFixed(2), String(customer.name)];
      expect([record.status, record.item]).toEqual(['pending', 'lamp']);
      expect(task!.user.goal).toBe(
        `You are ${name} (${customer.id}). You want to cancel your order ${order}, a lamp of ${total} sent to ${record.city}, because it is no longer needed.`,
      );
      expect(task!.user.opening).toBe(`Hello, ${name} here. Please cancel order ${order}.`);
      expect(task!.verifier.communicate).toEqual([total]);
      expect(task!.failures![0].calls[0].arguments).toEqual({ order_id: order });
      expect((await checkReference(domain, task!, player)).reasons).toEqual([]);
      expect(JSON.stringify(task)).not.toMatch(/ORD-2000|cus_100|Ada Abel|20\.50/);
      orders.add(order);
    }
    expect(orders.size).toBeGreaterThan(2);
  });

  it('never takes an entity of a task kept for evaluation', async () => {
    const [first] = [(await vary(2)).task!];
    const order = first.reference!.calls[1].arguments.order_id as string;
    const kept: ToolsTask = {
      ...KEPT,
      id: 'other',
      user: { goal: `Something about ${order} and another thing altogether.` },
    };
    const guarded = shop([CANCEL, CREDIT, kept]);
    for (let seed = 0; seed < 6; seed++)
      expect(JSON.stringify((await vary(seed, CANCEL, guarded)).task)).not.toContain(order);
  });

  it('moves what a task begins with along', async () => {
    const moved: ToolsTask = {
      ...CANCEL,
      initialOperations: [{ op: 'replace', path: '/orders/ORD-2000/city', value: 'Vienna' }],
      user: { goal: CANCEL.user.goal.replace('Graz', 'Vienna') },
    };
    const { task } = await vary(3, moved);
    const order = task!.reference!.calls[1].arguments.order_id;
    expect(task!.initialOperations![0].path).toBe(`/orders/${order}/city`);
    expect((task!.initialOperations![0] as { value: Json }).value).not.toBe('Vienna');
  });

  it('gives up where a told number would have to be computed anew, or nothing shows that the solution is right', async () => {
    const computed = {
      ...CANCEL,
      verifier: { state: 'reference' as const, communicate: ['77.25'] },
      reference: { ...CANCEL.reference!, say: '77.25' },
    };
    expect((await vary(1, computed)).problems[0].code).toBe('no_variant');
    const refusal: ToolsTask = {
      ...CANCEL,
      verifier: { state: 'reference' },
      reference: { calls: [], say: 'I cannot do that.' },
    };
    expect((await vary(1, refusal)).problems[0].code).toBe('no_variant');
  });
});

it('replacement takes whole words and numbers only, and lets values change places', () => {
  const replace = replacer({
    strings: new Map([
      ['A-1', 'A-2'],
      ['A-2', 'A-1'],
      ['Ann', 'Bob'],
    ]),
    numbers: new Map([[12.5, 99]]),
  });
  expect(replace('A-1 and A-2, A-11 for Ann, Annie: 12.50 or 12.5 not 112.5 or 12.55')).toBe(
    'A-2 and A-1, A-11 for Bob, Annie: 99.00 or 99 not 112.5 or 12.55',
  );
  expect(replace({ 'A-1': [12.5, { path: '/x/A-1/y' }], n: 12 })).toEqual({
    'A-2': [99, { path: '/x/A-2/y' }],
    n: 12,
  });
});
