// Answers come in time; what comes later has not happened.

import { describe, expect, it } from 'vitest';
import { Sessions } from '../../../src/serve/core/sessions.js';
import { barrier, Counter, code, expectedObservations, type Hindrance, owner, servedCounter } from './doubles.js';

function tableWith(hinder: Hindrance, limits = {}) {
  const table = new Sessions([servedCounter({ hinder })], { limits });
  const { id } = table.open({ owner });
  const reset = () => table.reset(id, { seed: 3 }, owner);
  const step = (n: number, more = {}) => table.step(id, { action: `add ${n}`, ...more }, owner);
  return { table, id, reset, step };
}

const expected = expectedObservations(3, ['add 1', 'add 2', 'add 3']);

it('a step that comes too late is answered at the deadline, and the next one goes on from before it', async () => {
  const slow = barrier();
  const { table, id, reset, step } = tableWith((_, action) => (action === 'add 99' ? slow.wait() : undefined));
  await reset();
  await step(1);
  await expect(step(99, { timeoutSeconds: 0.02 })).rejects.toEqual(code('STEP_DEADLINE'));
  expect(table.observe(id, owner)).toMatchObject({ observation: expected[1], stepCount: 1 });
  expect(await step(2)).toMatchObject({ observation: expected[2], stepCount: 2 });
  const before = Counter.closed;
  slow.open();
  await new Promise(setImmediate);
  expect(Counter.closed).toBe(before + 1);
  expect(await step(3)).toMatchObject({ observation: expected[3], stepCount: 3 });
  await table.drain(0);
});

describe('a session', () => {
  it('that is closed answers what is under way, and ends it', async () => {
    const slow = barrier();
    const { table, id, reset, step } = tableWith((_, action, signal) => {
      if (action !== 'add 99') return;
      signal?.addEventListener('abort', slow.open);
      return slow.wait();
    });
    await reset();
    const answers = Promise.allSettled([step(99), step(1)]);
    await slow.reached;
    await table.close(id, owner);
    const gone = { status: 'rejected', reason: code('SESSION_GONE') };
    expect(await answers).toEqual([gone, gone]);
    expect(table.counts).toMatchObject({ open: 0, active: 0, closed: { client: 1 } });
  });

  it('begins anew where its first reset came too late', async () => {
    const slow = barrier();
    let resets = 0;
    const hinder: Hindrance = (what) => (what === 'reset' && resets++ === 0 ? slow.wait() : undefined);
    const { table, id, step, reset } = tableWith(hinder, { stepSeconds: 0.05, slots: 1 });
    await expect(reset()).rejects.toEqual(code('STEP_DEADLINE'));
    await expect(step(1)).rejects.toEqual(code('ENV_NOT_RESET'));
    expect(table.state(id, owner).status).toBe('idle');
    expect(table.counts.active).toBe(0);
    expect((await reset()).observation).toBe(expected[0]);
    slow.open();
    await table.drain(0);
  });
});
