// Requests that are sent again: done once, answered the same.

import { afterEach, describe, expect, it } from 'vitest';
import { Sessions } from '../../../src/serve/core/sessions.js';
import { code, owner, servedCounter } from './doubles.js';

const tables: Sessions[] = [];

function begun() {
  const table = new Sessions([servedCounter({ length: 100 })]);
  tables.push(table);
  const { id } = table.open({ owner });
  const step = (n: number, requestId?: string) => table.step(id, { action: `add ${n}`, requestId }, owner);
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
