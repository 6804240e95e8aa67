// Answers come in time; what comes later is taken back before anything else happens; what never comes loses the session.

import { describe, expect, it } from 'vitest';
import { SessionTable } from '../../../src/serve/core/sessions.js';
import { barrier, Counter, expectedObservations, type Hindrance, servedCounter } from './doubles.js';

const owner = 'local';
const code = (wanted: string) => expect.objectContaining({ code: wanted });

function tableWith(hinder: Hindrance, limits = {}, canMark = true) {
  const table = new SessionTable([servedCounter({ hinder, canMark })], { limits: { graceSeconds: 5, ...limits } });
  const { id } = table.open({ owner });
  const reset = () => table.reset(id, { seed: 3 }, owner);
  const step = (n: number, more = {}, signal?: AbortSignal) =>
    table.step(id, { action: `add ${n}`, ...more }, owner, signal);
  return { table, id, reset, step };
}

const expected = expectedObservations(3, ['add 1', 'add 2', 'add 3']);

describe.each([true, false])('a step that comes too late (environment with marks: %s)', (canMark) => {
  it('is answered at the deadline, taken back when it ends, and the next one waits for that', async () => {
    const slow = barrier();
    const hinder: Hindrance = (_, action) => (action === 'add 99' ? slow.wait() : undefined);
    const { table, id, reset, step } = tableWith(hinder, {}, canMark);
    await reset();
    await step(1);
    await expect(step(99, { timeoutSeconds: 0.02 })).rejects.toEqual(code('STEP_DEADLINE'));
    expect(table.observe(id, owner)).toMatchObject({ observation: expected[1], stepCount: 1 });
    let isAnswered = false;
    const next = step(2).finally(() => {
      isAnswered = true;
    });
    await new Promise(setImmediate);
    expect(isAnswered).toBe(false);
    slow.open();
    expect(await next).toMatchObject({ observation: expected[2], stepCount: 2 });
    await table.drain(0);
  });

  it('that waits for late work keeps its own deadline', async () => {
    const slow = barrier();
    const { table, reset, step } = tableWith(
      (_, action) => (action === 'add 99' ? slow.wait() : undefined),
      {},
      canMark,
    );
    await reset();
    await expect(step(99, { timeoutSeconds: 0.02 })).rejects.toEqual(code('STEP_DEADLINE'));
    await expect(step(1, { timeoutSeconds: 0.02 })).rejects.toEqual(code('STEP_DEADLINE'));
    slow.open();
    expect((await step(1)).observation).toBe(expected[1]);
    await table.drain(0);
  });

  it('of a client that has left counts for nothing', async () => {
    const slow = barrier();
    const told: unknown[] = [];
    const { table, reset, step } = tableWith(
      (_, action, signal) => {
        if (action !== 'add 99') return;
        signal?.addEventListener('abort', () => told.push(signal.reason));
        return slow.wait();
      },
      {},
      canMark,
    );
    await reset();
    const client = new AbortController();
    const left = step(99, {}, client.signal);
    await slow.reached;
    client.abort('gone');
    await expect(left).rejects.toBe('gone');
    expect(told).toEqual(['gone']);
    slow.open();
    expect((await step(1)).observation).toBe(expected[1]);
    await table.drain(0);
  });
});

describe('a session', () => {
  it('is lost where work never ends: who waits and who comes later is told', async () => {
    const never: Hindrance = (_, action) => (action === 'add 99' ? new Promise(() => {}) : undefined);
    const { table, id, reset, step } = tableWith(never, { graceSeconds: 0.02, slots: 1 });
    await reset();
    const closed = new Promise((resolve) => {
      table.events.on('event', (event) => event.kind === 'closed' && resolve(event.reason));
    });
    const before = Counter.closed;
    await expect(step(99, { timeoutSeconds: 0.01 })).rejects.toEqual(code('STEP_DEADLINE'));
    await expect(step(1)).rejects.toEqual(code('SESSION_GONE'));
    expect(await closed).toBe('lost');
    expect(() => table.state(id, owner)).toThrow(code('SESSION_GONE'));
    expect(Counter.closed).toBe(before + 1);
    expect(table.counts).toMatchObject({ open: 0, active: 0, closed: { lost: 1 } });
  });

  it('that is closed answers what is under way, and ends it', async () => {
    const slow = barrier();
    const { table, id, reset, step } = tableWith((_, action, signal) => {
      if (action !== 'add 99') return;
      signal?.addEventListener('abort', slow.open);
      return slow.wait();
    });
    await reset();
    const [running, waiting] = [step(99), step(1)];
    const answers = Promise.allSettled([running, waiting]);
    await slow.reached;
    await table.close(id, owner);
    expect(await answers).toEqual([
      { status: 'rejected', reason: code('SESSION_GONE') },
      { status: 'rejected', reason: code('SESSION_GONE') },
    ]);
    expect(table.counts).toMatchObject({ open: 0, active: 0, closed: { client: 1 } });
  });

  it('never gives a request more time than the server does', async () => {
    const slow = barrier();
    const { table, reset, step } = tableWith((what) => (what === 'step' ? slow.wait() : undefined), {
      stepSeconds: 0.02,
    });
    await reset();
    await expect(step(1, { timeoutSeconds: 100 })).rejects.toMatchObject({
      message: expect.stringContaining('0.02 s'),
    });
    slow.open();
    await table.drain(0);
  });

  it('stays as it was where its environment throws', async () => {
    const { table, reset, step } = tableWith((_, action) => {
      if (action === 'add 13') throw new Error('unlucky');
    });
    await reset();
    await step(1);
    await expect(step(13)).rejects.toThrow('unlucky');
    expect((await step(2)).observation).toBe(expected[2]);
    await table.drain(0);
  });

  it('begins anew where its first reset came too late', async () => {
    const slow = barrier();
    let resets = 0;
    const { table, id, step, reset } = tableWith(
      (what) => (what === 'reset' && resets++ === 0 ? slow.wait() : undefined),
      { stepSeconds: 0.02, slots: 1 },
      false,
    );
    await expect(reset()).rejects.toEqual(code('STEP_DEADLINE'));
    await expect(step(1)).rejects.toEqual(code('STEP_DEADLINE'));
    slow.open();
    await expect(step(1)).rejects.toEqual(code('ENV_NOT_RESET'));
    expect(table.state(id, owner).status).toBe('idle');
    expect(table.counts.active).toBe(0);
    expect((await reset()).observation).toBe(expected[0]);
    await table.drain(0);
  });
});
