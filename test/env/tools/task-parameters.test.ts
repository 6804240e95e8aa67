// Tasks with parameters: which records are chosen, what stands in their place, and what is told of one that cannot be made.

import { describe, expect, it } from 'vitest';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { type ParameterisedTask, withInstances } from '../../../src/env/tools/task-parameters.js';

const state = {
  people: { P1: { name: 'Ada' }, P2: { name: 'Kurt' }, P3: { name: 'Mia' } },
  orders: {
    O1: { by: 'P1', status: 'open', lines: { count: 2 } },
    O2: { by: 'P2', status: 'sent', lines: { count: 3 } },
    O3: { by: 'P2', status: 'open', lines: { count: 4 } },
  },
};

const entry = (change: Partial<ParameterisedTask>): ParameterisedTask => ({
  id: 'cancel',
  family: 'cancel',
  user: { goal: 'You are {who.name} and cancel {order}.' },
  verifier: { assert: [{ path: '/orders/{order}/left', equals: '{order.lines.count}' }] },
  reference: { calls: [{ name: 'cancel', arguments: { order_id: '{order}', note: '{order.lines.count} lines' } }] },
  parameters: { order: { of: 'orders', where: { status: 'open' } }, who: { of: 'people', is: '{order.by}' } },
  ...change,
});
const made = (change: Partial<ParameterisedTask>) => withInstances([entry(change)], state);

describe('a task with parameters', () => {
  it('stands for one task for each fitting choice, with values in its places', () => {
    const tasks = made({});
    expect(tasks.map(({ id }) => id)).toEqual(['cancel.O1.P1', 'cancel.O3.P2']);
    expect(tasks[1]).toEqual({
      id: 'cancel.O3.P2',
      family: 'cancel',
      user: { goal: 'You are Kurt and cancel O3.' },
      verifier: { assert: [{ path: '/orders/O3/left', equals: 4 }] },
      reference: { calls: [{ name: 'cancel', arguments: { order_id: 'O3', note: '4 lines' } }] },
    } satisfies ToolsTask);
  });

  it('takes one of several values, later parameters by earlier ones, and no record twice', () => {
    const any = {
      order: { of: 'orders', where: { status: ['open', 'sent'] } },
      who: { of: 'people', is: '{order.by}' },
    };
    expect(made({ parameters: any }).length).toBe(3);
    const mine = { who: { of: 'people' }, order: { of: 'orders', where: { by: '{who}' } } };
    expect(made({ parameters: mine }).map(({ id }) => id)).toEqual(['cancel.P1.O1', 'cancel.P2.O2', 'cancel.P2.O3']);
    const two = { a: { of: 'people' }, b: { of: 'people' } };
    const pairs = made({ parameters: two, user: { goal: '{a} {b}' }, verifier: {}, reference: undefined });
    expect(pairs.length).toBe(6);
  });

  it('is evenly taken from the choices where there are more than are wanted', () => {
    const many = { people: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`P${i}`, { name: `n${i}` }])) };
    const one = entry({
      parameters: { who: { of: 'people' } },
      user: { goal: '{who.name}' },
      verifier: {},
      reference: undefined,
    });
    expect(withInstances([{ ...one, instances: 4 }], many).map(({ user }) => user.goal)).toEqual([
      'n0',
      'n25',
      'n50',
      'n75',
    ]);
    expect(withInstances([one], many).length).toBe(8);
  });

  it('tells what is wrong with it', () => {
    expect(() => made({ user: { goal: '{ordr}' } })).toThrow(
      'task "cancel": {ordr} stands for no parameter (did you mean "order"?)',
    );
    expect(() => made({ user: { goal: '{order.colour}' } })).toThrow('{order.colour}: O1 has no such field');
    expect(() => made({ parameters: { order: { of: 'order' } } })).toThrow('which is no collection of the data');
    expect(() => made({ parameters: { order: { of: 'orders', where: { status: 'lost' } } } })).toThrow(
      'no records of the data fit',
    );
  });

  it('leaves other tasks as they are, braces and all', () => {
    const { parameters: _, ...plain } = entry({});
    expect(withInstances([plain], state)).toEqual([plain]);
  });
});
