// Requests that are sent again: done once, answered the same.

import { afterEach, describe, expect, it } from 'vitest';
import { Sessions } from '../../../src/serve/core/sessions.js';
import { barrier, type Hindrance, servedCounter } from './doubles.js';

const owner = 'local';
const code = (wanted: string) => expect.objectContaining({ code: wanted });
const tables: Sessions[] = [];

function begun(hinder?: Hindrance) {
  const table = new Sessions([servedCounter({ hinder, length: 100 })]);
  tables.push(table);
  const { id } = table.open({ owner });
  const step = (n: number, requestId?: string, signal?: AbortSignal) =>
    table.step(id, { action: `add ${n}`, requestId }, owner, signal);
  return { table, id, step };
}
afterEach(async () => {
  for (const table of tables.splice(0)) await table.drain(0);
});

describe('a repeated request', () => {
  it('is remembered among the last 16', async () => {
    const { table, id, step } = begun();
    await table.reset(id, { seed: 3 }, owner);
    const turns = [];
    for (let i = 0; i < 17; i++) turns.push(await step(i, `${i}`));
    expect(await step(1, '1')).toBe(turns[1]);
    expect((await step(0, '0')).stepCount).toBe(18);
  });

  it('goes on though the connection of the first broke', async () => {
    const slow = barrier();
    const { table, id, step } = begun((what) => (what === 'step' ? slow.wait() : undefined));
    await table.reset(id, { seed: 3 }, owner);
    const one = new AbortController();
    const first = step(1, 'a', one.signal);
    const again = step(1, 'a');
    await slow.reached;
    one.abort('broken');
    slow.open();
    expect((await again).stepCount).toBe(1);
    expect(await first).toBe(await again);
    const left = new AbortController();
    left.abort('left');
    await expect(step(2, 'b', left.signal)).rejects.toBe('left');
    expect((await step(2, 'b')).stepCount).toBe(2);
  });

  it('that asks for something else is refused', async () => {
    const { table, id, step } = begun();
    await table.reset(id, { seed: 3 }, owner);
    await step(1, 'a');
    await expect(step(2, 'a')).rejects.toEqual(code('REQUEST_CONFLICT'));
    await expect(table.reset(id, { requestId: 'a' }, owner)).rejects.toEqual(code('REQUEST_CONFLICT'));
    const other = table.open({ owner });
    await table.reset(other.id, { seed: 4, requestId: 'a' }, owner);
    expect((await step(1, 'a')).stepCount).toBe(1);
  });

  it('of a snapshot, a restore or a fork is done once too', async () => {
    const { table, id, step } = begun();
    await table.reset(id, { seed: 3 }, owner);
    const saved = await table.snapshot(id, owner, { requestId: 's' });
    await step(1);
    expect(await table.snapshot(id, owner, { requestId: 's' })).toBe(saved);
    await table.restore(id, saved.id, owner, { requestId: 'b' });
    await step(2);
    await table.restore(id, saved.id, owner, { requestId: 'b' });
    expect(table.state(id, owner).stepCount).toBe(1);
    const forks = await table.fork(id, 2, owner, { requestId: 'f' });
    expect(await table.fork(id, 2, owner, { requestId: 'f' })).toBe(forks);
    expect(table.counts.open).toBe(3);
  });
});
