// Sessions that outlive their server: written down before they are answered, there again afterwards.

import { once } from 'node:events';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SessionStore } from '../../../src/serve/core/session-store.js';
import { openSessions, type Sessions } from '../../../src/serve/core/sessions.js';
import type { QuotaLimits } from '../../../src/serve/index.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { barrier, type CounterOptions, code, expectedObservations, owner, servedCounter } from './doubles.js';

let folder: string;
const open: Sessions[] = [];
beforeEach(() => {
  folder = temporaryFolder('sessions');
});
afterEach(async () => {
  for (const table of open.splice(0)) await table.drain(0);
});

async function started(options: CounterOptions = {}, version = '1', quota: QuotaLimits = {}): Promise<Sessions> {
  const served = servedCounter({ length: 100, ...options }, 'counter', version);
  const table = await openSessions([served], { persist: folder, quotaOf: () => quota });
  open.push(table);
  return table;
}

async function restarted(...args: Parameters<typeof started>): Promise<Sessions> {
  await open.pop()?.drain(0);
  return started(...args);
}

const expected = expectedObservations(3, ['add 1', 'add 2', 'add 3', 'add 4']);

it.each([true, false])('go on exactly where the last answer left them (marks: %s)', async (canMark) => {
  let table = await started({ canMark });
  const { id } = table.open({ owner });
  const step = (n: number, requestId?: string) => table.step(id, { action: `add ${n}`, requestId }, owner);
  const reset = await table.reset(id, { seed: 3, episodeId: 'e', requestId: 'r' }, owner);
  await step(1);
  const second = await step(2, 'two');
  const before = table.state(id, owner);
  table = await restarted({ canMark });
  expect(table.state(id, owner)).toEqual({ ...before, lastUsedAt: expect.any(Number) });
  expect(table.observe(id, owner)).toEqual(second);
  expect(await step(2, 'two')).toEqual(second);
  await expect(step(3, 'two')).rejects.toEqual(code('REQUEST_CONFLICT'));
  expect(await table.reset(id, { seed: 3, episodeId: 'e', requestId: 'r' }, owner)).toEqual(reset);
  expect(table.counts.active).toBe(0);
  expect(await step(3)).toMatchObject({ observation: expected[3], stepCount: 3, return: 6, episodeId: 'e' });
  table = await restarted({ canMark });
  const { id: snapshot } = await table.snapshot(id, owner);
  expect((await step(4)).observation).toBe(expected[4]);
  table = await restarted({ canMark });
  expect((await table.restore(id, snapshot, owner)).observation).toBe(expected[3]);
  const [fork] = await table.fork(id, 1, owner);
  table = await restarted({ canMark });
  expect((await table.step(fork.id, { action: 'add 4' }, owner)).observation).toBe(expected[4]);
  expect(table.state(fork.id, owner).parent).toBe(id);
});

it('know nothing of a step that came too late', async () => {
  const slow = barrier();
  let table = await started({ hinder: (_, action) => (action === 'add 9' ? slow.wait() : undefined) });
  const { id } = table.open({ owner });
  await table.reset(id, { seed: 3 }, owner);
  const late = table.step(id, { action: 'add 9', timeoutSeconds: 0.01, requestId: 'x' }, owner);
  await expect(late).rejects.toEqual(code('STEP_DEADLINE'));
  slow.open();
  await table.snapshot(id, owner);
  table = await restarted();
  expect((await table.step(id, { action: 'add 1', requestId: 'x' }, owner)).observation).toBe(expected[1]);
});

it('are closed when idle even where that cannot be written, which is warned of', async () => {
  const table = await openSessions([servedCounter()], { persist: folder, limits: { idleSeconds: 0.01 } });
  open.push(table);
  const failing = vi.spyOn(SessionStore.prototype, 'forget').mockRejectedValue(new Error('disk full'));
  const [warned, kinds] = [once(process, 'warning'), [] as string[]];
  table.events.on('event', ({ kind }) => kinds.push(kind));
  table.open({ owner });
  expect((await warned)[0].message).toBe('disk full');
  expect([kinds, table.counts.open]).toEqual([['opened', 'closed'], 0]);
  failing.mockRestore();
});

it('are closed where their environment has changed, or is served no more', async () => {
  let table = await started();
  const { id } = table.open({ owner });
  await table.reset(id, { seed: 3 }, owner);
  table = await restarted({}, '2');
  await expect(table.step(id, { action: 'add 1' }, owner).catch((error) => error.message)).resolves.toContain(
    'version',
  );
  expect(table.counts).toMatchObject({ open: 0, closed: { version: 1 } });
  table = await restarted();
  expect(() => table.state(id, owner)).toThrow(code('SESSION_UNKNOWN'));
});

it('that cannot be written are not answered, and stay as they were', async () => {
  const table = await started();
  const { id } = table.open({ owner });
  await table.reset(id, { seed: 3 }, owner);
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC', syscall: 'write' });
  const { keep } = SessionStore.prototype;
  SessionStore.prototype.keep = () => Promise.reject(full);
  try {
    await expect(table.step(id, { action: 'add 9' }, owner)).rejects.toBe(full);
  } finally {
    SessionStore.prototype.keep = keep;
  }
  expect((await table.step(id, { action: 'add 1' }, owner)).observation).toBe(expected[1]);
});

it('are lost where what was written of them is damaged, and others are not', async () => {
  const table = await started();
  const ids = [table.open({ owner, id: 'a session to damage' }).id, table.open({ owner }).id];
  for (const id of ids) await table.reset(id, { seed: 3 }, owner);
  await open.pop()!.drain(0);
  const path = join(folder, 'data.mdb');
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(ids[0]); at >= 0; at = bytes.indexOf(ids[0], at)) bytes[at] ^= 1;
  writeFileSync(path, bytes);
  const again = await started();
  expect(again.list().map(({ id }) => id)).toEqual([ids[1]]);
  expect((await again.step(ids[1], { action: 'add 1' }, owner)).observation).toBe(expected[1]);
});

it('refuse a file that is cut off or none of theirs', async () => {
  const table = await started();
  for (let i = 0; i < 20; i++) await table.reset(table.open({ owner }).id, { seed: i }, owner);
  await open.pop()!.drain(0);
  const path = join(folder, 'data.mdb');
  truncateSync(path, Math.floor(statSync(path).size / 2));
  await expect(SessionStore.open(folder)).rejects.toEqual(code('FILE_INVALID'));
  writeFileSync(path, 'this is no database at all');
  await expect(SessionStore.open(folder)).rejects.toEqual(code('FILE_INVALID'));
});

it('belong to one server at a time', async () => {
  await started();
  await expect(SessionStore.open(folder)).rejects.toEqual(code('RUN_IN_USE'));
  await restarted();
});
