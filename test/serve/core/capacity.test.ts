// Slots, quotas, idle sessions, and several sessions from one state.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Sessions, type SessionsOptions } from '../../../src/serve/core/sessions.js';
import type { QuotaLimits } from '../../../src/serve/index.js';
import { barrier, type CounterOptions, code, expectedObservations, owner, servedCounter } from './doubles.js';

const tables: Sessions[] = [];

function tableOf(limits: SessionsOptions['limits'], options: CounterOptions = {}, quota?: QuotaLimits) {
  const quotaOf = quota && (() => quota);
  const table = new Sessions([servedCounter({ length: 3, ...options })], { limits, quotaOf });
  tables.push(table);
  return table;
}
afterEach(async () => {
  vi.useRealTimers();
  for (const table of tables.splice(0)) await table.drain(0);
});

describe('slots', () => {
  it('are waited for in order, no longer than patience lasts or the client stays', async () => {
    const table = tableOf({ slots: 1, slotWaitSeconds: 0.02 });
    const [holder, second, third] = Array.from({ length: 3 }, () => table.open({ owner }).id);
    await table.reset(holder, { seed: 1 }, owner);
    await expect(table.reset(second, {}, owner)).rejects.toEqual(code('CAPACITY_REACHED'));
    const client = new AbortController();
    const left = table.reset(second, {}, owner, client.signal);
    const order: string[] = [];
    const next = table.reset(third, {}, owner).then(() => order.push('third'));
    client.abort('gone');
    await expect(left).rejects.toBe('gone');
    await table.close(holder, owner);
    await next;
    expect(table.counts).toMatchObject({ active: 1, waiting: 0 });
  });

  it('are refused at the deadline as taken, not as late', async () => {
    const table = tableOf({ slots: 1, slotWaitSeconds: 30, stepSeconds: 0.03 });
    const [holder, second] = [table.open({ owner }).id, table.open({ owner }).id];
    await table.reset(holder, {}, owner);
    await expect(table.reset(second, {}, owner)).rejects.toEqual(code('CAPACITY_REACHED'));
  });

  it('stay with a session whose reset fails in the middle of an episode, and else go back', async () => {
    let fails = false;
    const table = tableOf(
      { slots: 1 },
      {
        hinder: (what) => {
          if (fails && what === 'reset') throw new Error('no');
        },
      },
    );
    const { id } = table.open({ owner });
    fails = true;
    await expect(table.reset(id, {}, owner)).rejects.toThrow('no');
    expect(table.counts.active).toBe(0);
    fails = false;
    await table.reset(id, { seed: 3 }, owner);
    fails = true;
    await expect(table.reset(id, {}, owner)).rejects.toThrow('no');
    expect(table.counts.active).toBe(1);
    const { observation } = await table.step(id, { action: 'add 1' }, owner);
    expect(observation).toBe(expectedObservations(3, ['add 1'])[1]);
  });
});

it('forks that find too few slots are refused, and nothing is left of them', async () => {
  const table = tableOf({ slots: 3 });
  const { id } = table.open({ owner });
  await table.reset(id, { seed: 3 }, owner);
  await expect(table.fork(id, 3, owner)).rejects.toEqual(code('CAPACITY_REACHED'));
  expect(table.counts).toMatchObject({ open: 1, active: 1 });
  const forks = await table.fork(id, 2, owner);
  expect(table.counts).toMatchObject({ open: 3, active: 3 });
  for (const fork of forks) {
    expect(fork).toMatchObject({ parent: id, status: 'running', stepCount: 0, seed: 3 });
    expect((await table.step(fork.id, { action: 'add 5' }, owner)).observation).toBe(
      expectedObservations(3, ['add 5'])[1],
    );
  }
});

it('sessions and groups that leave all open begin each in its own way, and so again on the next server', async () => {
  for (const table of [tableOf({}), tableOf({})]) {
    const [first, second, seeded] = Array.from({ length: 3 }, () => table.open({ owner }).id);
    const begun = await table.reset(first, {}, owner);
    const goesOn = await table.reset(first, {}, owner);
    expect(begun.observation).toBe(expectedObservations(0, [])[0]);
    expect(goesOn.observation).not.toBe(begun.observation);
    expect((await table.reset(seeded, { seed: 7 }, owner)).observation).toBe(expectedObservations(7, [])[0]);
    const [{ turn, session }] = await table.openGroup({ count: 2, owner }, {});
    expect(turn.observation).toBe(expectedObservations(1, [])[0]);
    expect(session.seed).toBe(1);
    expect((await table.reset(second, {}, owner)).observation).toBe(expectedObservations(2, [])[0]);
  }
});

describe('a group', () => {
  it('begins in one state, once there are slots for all of it', async () => {
    let resets = 0;
    const table = tableOf(
      { slots: 3 },
      {
        hinder: (what) => {
          if (what === 'reset') resets++;
        },
      },
    );
    const { id } = table.open({ owner });
    await table.reset(id, {}, owner);
    const opening = table.openGroup({ count: 3, owner }, { seed: 3 });
    await new Promise(setImmediate);
    expect(table.counts).toMatchObject({ open: 1, waiting: 1 });
    await table.close(id, owner);
    const group = await opening;
    expect(resets).toBe(2);
    const expected = expectedObservations(3, ['add 5']);
    for (const { session, turn } of group) {
      expect(turn).toMatchObject({ observation: expected[0], stepCount: 0, reward: null });
      expect(session).toMatchObject({ seed: 3, status: 'running' });
      expect((await table.step(session.id, { action: 'add 5' }, owner)).observation).toBe(expected[1]);
    }
    expect(new Set(group.map(({ turn }) => turn.episodeId)).size).toBe(3);
  });

  it('leaves nothing behind where it cannot be made', async () => {
    const table = tableOf(
      { slots: 4 },
      {
        hinder: () => {
          throw new Error('no');
        },
      },
    );
    await expect(table.openGroup({ count: 3, owner }, {})).rejects.toThrow('no');
    await expect(table.openGroup({ count: 5, owner }, {})).rejects.toEqual(code('CAPACITY_REACHED'));
    await expect(table.openGroup({ count: 2, owner }, { snapshot: 'x' })).rejects.toEqual(code('SNAPSHOT_UNKNOWN'));
    expect(table.counts).toMatchObject({ open: 0, active: 0, waiting: 0 });
  });
});

describe('quotas', () => {
  it('bound open sessions, each owner for itself', async () => {
    const table = tableOf({}, {}, { sessions: 2 });
    const { id } = table.open({ owner });
    table.open({ owner: 'other' });
    await table.reset(id, {}, owner);
    await expect(table.fork(id, 2, owner)).rejects.toEqual(code('QUOTA_EXCEEDED'));
    table.open({ owner });
    expect(() => table.open({ owner })).toThrow(code('QUOTA_EXCEEDED'));
    await table.close(id, owner);
    table.open({ owner });
  });

  it('count slots that are waited for, and no more once the wait is over', async () => {
    const table = tableOf({ slots: 2, slotWaitSeconds: 0.02 }, {}, { sessions: 3 });
    const { id } = table.open({ owner });
    await table.reset(id, {}, owner);
    const waiting = table.holdSlots(2, owner);
    await expect(table.holdSlots(1, owner)).rejects.toEqual(code('QUOTA_EXCEEDED'));
    await expect(waiting).rejects.toEqual(code('CAPACITY_REACHED'));
    (await table.holdSlots(1, owner)).release();
  });

  it('are waited for by a server that ends, as sessions are', async () => {
    const table = tableOf({ slots: 2 });
    const lease = await table.holdSlots(2, owner);
    const order: string[] = [];
    const drained = table.drain(60).then(() => order.push('drained'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    order.push('released');
    lease.release();
    await drained;
    expect(order).toEqual(['released', 'drained']);
  });

  it('bound steps a minute', async () => {
    const table = tableOf({}, { length: 10 }, { stepsPerMinute: 2 });
    const { id } = table.open({ owner });
    await table.reset(id, {}, owner);
    for (let i = 0; i < 2; i++) await table.step(id, { action: 'add 1', requestId: `${i}` }, owner);
    await table.step(id, { action: 'add 1', requestId: '1' }, owner);
    await expect(table.step(id, { action: 'add 1' }, owner)).rejects.toEqual(code('QUOTA_EXCEEDED'));
  });
});

it('snapshots of each owner are kept: the latest', async () => {
  const table = tableOf({ snapshots: 1 }, { length: 10 });
  const { id } = table.open({ owner });
  await table.reset(id, {}, owner);
  const first = await table.snapshot(id, owner);
  await table.step(id, { action: 'add 1' }, owner);
  const second = await table.snapshot(id, owner);
  await expect(table.restore(id, first.id, owner)).rejects.toEqual(code('SNAPSHOT_UNKNOWN'));
  await table.restore(id, second.id, owner);
});

it('idle sessions are closed, but never while something is under way', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
  const slow = barrier();
  const table = tableOf({ idleSeconds: 10 }, { hinder: (what) => (what === 'step' ? slow.wait() : undefined) });
  const [busy, idle, touched] = Array.from({ length: 3 }, () => table.open({ owner }).id);
  await table.reset(busy, { seed: 3 }, owner);
  const step = table.step(busy, { action: 'add 1' }, owner);
  await vi.advanceTimersByTimeAsync(8_000);
  table.touch(touched, owner);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(table.list().map(({ id }) => id)).toEqual([busy, touched]);
  expect(() => table.state(idle, owner)).toThrow(code('SESSION_GONE'));
  expect(() => table.state(idle, 'other')).toThrow(code('SESSION_UNKNOWN'));
  expect(table.counts.closed).toMatchObject({ idle: 1 });
  slow.open();
  await step;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(table.counts).toMatchObject({ open: 0, active: 0, closed: { idle: 3 } });
});
