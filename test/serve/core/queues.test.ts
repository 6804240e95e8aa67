// Slots, where leaving and being let in fall into one moment.

import { describe, expect, it } from 'vitest';
import { Deadline, Slots } from '../../../src/serve/core/limits.js';

const forever = () => new Deadline(Number.POSITIVE_INFINITY);

describe('slots', () => {
  it('let in one at a time, in order', async () => {
    const lock = new Slots(1);
    await lock.take(forever());
    const order: number[] = [];
    const others = [1, 2, 3].map((n) => lock.take(forever()).then(() => order.push(n)));
    for (let i = 0; i < 3; i++) {
      expect(order).toHaveLength(i);
      lock.release();
      await others[i];
    }
    expect(order).toEqual([1, 2, 3]);
    lock.release();
    expect(lock.active).toBe(0);
  });

  it('are not lost to one who leaves in the moment it gets them', async () => {
    const slots = new Slots(2, 1000);
    await slots.take(forever(), 2);
    const deadline = forever();
    const leaving = slots.take(deadline, 2);
    slots.release(2);
    deadline.callOff('left');
    await expect(leaving).rejects.toBe('left');
    expect(slots).toMatchObject({ active: 0, waiting: 0 });
  });

  it('go to one who needs many before those who came later and need few', async () => {
    const slots = new Slots(2, 1000);
    await slots.take(forever());
    const [many, few] = [slots.take(forever(), 2), slots.take(forever())];
    expect(() => slots.takeNow(1)).toThrow(expect.objectContaining({ code: 'CAPACITY_REACHED' }));
    slots.release();
    await many;
    expect(slots).toMatchObject({ active: 2, waiting: 1 });
    slots.release(2);
    await few;
  });

  it('serve those behind one who gives up', async () => {
    const slots = new Slots(2, 1000);
    await slots.take(forever());
    const deadline = forever();
    const [many, few] = [slots.take(deadline, 2), slots.take(forever())];
    deadline.callOff('left');
    await expect(many).rejects.toBe('left');
    await few;
    expect(slots.active).toBe(2);
  });

  it('are refused at once where nobody waits, or where there never are so many', async () => {
    const full = expect.objectContaining({ code: 'CAPACITY_REACHED' });
    await expect(new Slots(2, 1000).take(forever(), 3)).rejects.toEqual(full);
    const slots = new Slots(1, 0);
    await slots.take(forever());
    await expect(slots.take(forever())).rejects.toEqual(full);
  });
});
