// What all dynamics must do with memories, whatever they are made of and whatever a row is: numbers and structured worlds run it.

import { describe, expect, it } from 'vitest';
import type { Carry, Dynamics, Imagined, RowCodec, Rows } from '../../src/core/dynamics.js';
import { Rng } from '../../src/core/rng.js';

export interface DynamicsSubject<R extends Rows> {
  /** Asked for within tests alone. */
  model(): Dynamics<Carry, R>;
  /** Rows there are; 12 at least. */
  readonly rows: number;
  starts(rows: Uint32Array): R['starts'];
  /** What these rows do in step 0, 1 or 2. */
  actions(rows: Uint32Array, step: number): R['actions'];
  readonly observations: RowCodec<R['observations']>;
}

export function dynamicsContract<R extends Rows>(name: string, subject: DynamicsSubject<R>): void {
  const all = Uint32Array.from({ length: subject.rows }, (_, row) => row);
  const few = all.slice(0, 12);
  const streams = (rows: Uint32Array, step: number) => Array.from(rows, (row) => Rng.fromSeed(4).split(row, step));
  const begun = (rows: Uint32Array) => subject.model().begin(subject.starts(rows), streams(rows, 0));
  const imagine = (carry: Carry, rows: Uint32Array, step: number) =>
    subject.model().imagine(carry, subject.actions(rows, step), streams(rows, step));

  const rowOf = (imagined: Imagined<Carry, R['observations']>, row: number) => {
    const { observation, reward, terminated, confidence, truncated, answeredBy } = imagined;
    const seen = subject.observations.pick(observation, Uint32Array.of(row));
    return {
      seen: subject.observations.pack(seen),
      ...{ reward: reward[row], terminated: terminated[row], truncated: truncated?.[row] },
      ...{ confidence: confidence?.[row], answeredBy: answeredBy?.[row] },
    };
  };
  const rowsOf = (imagined: Imagined<Carry, R['observations']>) =>
    Array.from({ length: imagined.carry.rows }, (_, row) => rowOf(imagined, row));

  describe(`${name} as dynamics`, () => {
    it('goes on from a memory, which stays as it is', async () => {
      const carry = await begun(all);
      const first = await imagine(carry, all, 1);
      const second = rowsOf(await imagine(first.carry, all, 2));
      expect(first.carry.rows).toBe(subject.rows);
      const again = await imagine(carry, all, 1);
      expect(rowsOf(again)).toEqual(rowsOf(first));
      expect(rowsOf(await imagine(again.carry, all, 2))).toEqual(second);
    });

    it('answers nothing for no rows', async () => {
      const none = await imagine(await begun(all.slice(0, 0)), all.slice(0, 0), 0);
      expect([none.carry.rows, none.reward.length, rowsOf(none)]).toEqual([0, 0, []]);
    });

    it('answers a row with its own stream the same alone and beside others', async () => {
      const whole = await imagine(await begun(few), few, 0);
      for (const row of [0, 5, 11]) {
        const one = Uint32Array.of(row);
        expect(rowOf(await imagine(await begun(one), one, 0), 0)).toEqual(rowOf(whole, row));
      }
    });

    it('goes on from what was seen as from what it imagined itself', async () => {
      const carry = await begun(few);
      const first = await imagine(carry, few, 0);
      const followed = await subject.model().follow(carry, subject.actions(few, 0), first.observation);
      expect(followed.rows).toBe(few.length);
      expect(rowsOf(await imagine(followed, few, 1))).toEqual(rowsOf(await imagine(first.carry, few, 1)));
    });

    it('forks and joins rows: each goes on as it would have', async () => {
      const model = subject.model();
      const { carry } = await imagine(await begun(few), few, 0);
      const whole = await imagine(carry, few, 1);
      const order = Uint32Array.of(7, 2, 2, 11, 0);
      const parts = [order.slice(0, 2), order.slice(2)].map((part) => model.pick(carry, part));
      for (const some of [model.pick(carry, order), model.join(parts)]) {
        expect(some.rows).toBe(order.length);
        const answer = await imagine(some, order, 1);
        for (const [at, row] of order.entries()) expect(rowOf(answer, at)).toEqual(rowOf(whole, row));
      }
    });

    it('remembers the same after JSON and after a structured clone, and no other model remembers it', async () => {
      const model = subject.model();
      const { carry } = await imagine(await begun(all), all, 0);
      const expected = rowsOf(await imagine(carry, all, 1));
      const frozen = model.freeze(carry);
      expect(JSON.stringify(model.freeze(carry))).toBe(JSON.stringify(frozen));
      for (const kept of [JSON.parse(JSON.stringify(frozen)), structuredClone(frozen)]) {
        const revived = model.revive(kept);
        expect(revived.rows).toBe(subject.rows);
        expect(JSON.stringify(model.freeze(revived))).toBe(JSON.stringify(frozen));
        expect(rowsOf(await imagine(revived, all, 1))).toEqual(expected);
      }
      const foreign = { ...frozen, version: 'other' };
      expect(() => model.revive(foreign)).toThrowError(expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }));
    });

    it('refuses actions, observations and streams of another number of rows', async () => {
      const model = subject.model();
      const carry = await begun(few);
      const { observation } = await imagine(carry, few, 0);
      const [actions, fewer] = [subject.actions(few, 0), few.slice(1)];
      const wrong = [
        () => model.imagine(carry, subject.actions(fewer, 0), streams(few, 0)),
        () => model.imagine(carry, actions, streams(fewer, 0)),
        async () => model.follow(carry, subject.actions(fewer, 0), observation),
        async () => model.follow(carry, actions, subject.observations.pick(observation, fewer)),
      ];
      for (const [i, ask] of wrong.entries())
        await expect(ask(), `case ${i}`).rejects.toMatchObject({ code: 'DATA_MISMATCH' });
    });
  });
}
