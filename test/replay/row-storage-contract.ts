// What every storage of rows promises, told by a slow one that keeps each row by itself.

import { afterEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { MemoryRows } from '../../src/replay/memory-rows.js';
import { PrioritizedSelector } from '../../src/replay/prioritized.js';
import { type RowStorage, takeRows } from '../../src/replay/row-storage.js';
import { allocate, type ColumnArray, type ColumnSet, type Schema, scalar, tensor } from '../../src/replay/schema.js';
import type { Selector } from '../../src/replay/selector.js';
import { UniformSelector } from '../../src/replay/uniform.js';

/** One column of every dtype, with shapes narrow, wide and of several dimensions. */
export const ALL_DTYPES: Schema = {
  'obs.pixels': tensor('uint8', 5, 5, 3),
  'obs.joints': tensor('float32', 3),
  done: scalar('bool'),
  token: scalar('int32'),
  history: tensor('int32', 70),
  origin: scalar('uint32'),
  time: scalar('float64'),
  flags: tensor('bool', 3),
  stateHash: scalar('uint64'),
};

/** Rows first .. first + rows - 1, in which every value tells which it is. */
export function markedRows(schema: Schema, first: number, rows: number): Record<string, ColumnArray> {
  const columns = allocate(schema, rows);
  for (const [name, { dtype }] of Object.entries(schema)) {
    const values = columns[name];
    const width = values.length / rows;
    for (let i = 0; i < values.length; i++) {
      const value = (first + Math.floor(i / width)) * 7 + (i % width);
      if (values instanceof BigUint64Array) values[i] = BigInt(value) << 32n;
      else values[i] = dtype === 'bool' ? value % 2 : dtype === 'uint8' ? value % 256 : value;
    }
  }
  return columns;
}

/** Rows as objects in a list, in the order of their numbers. */
class PlainRows {
  readonly rows: Record<string, unknown>[] = [];

  constructor(
    readonly schema: Schema,
    readonly capacity: number,
  ) {}

  append(columns: ColumnSet, rows: number): void {
    for (let i = 0; i < rows; i++) {
      const row = Object.entries(columns).map(([name, values]) => {
        const width = values.length / rows;
        return [name, [...values.subarray(i * width, (i + 1) * width)]];
      });
      this.rows.push(Object.fromEntries(row));
    }
  }

  get size(): number {
    return Math.min(this.rows.length, this.capacity);
  }

  /** By index of the ring. */
  at(index: number): Record<string, unknown> {
    const newest = this.rows.length - 1;
    for (let id = newest; id > newest - this.size; id--) if (id % this.capacity === index) return this.rows[id];
    throw new Error(`no row ${index}`);
  }
}

function rowAt(columns: ColumnSet, row: number, rows: number): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, values]) => {
    const width = values.length / rows;
    return [name, [...values.subarray(row * width, (row + 1) * width)]];
  });
  return Object.fromEntries(entries);
}

export function rowStorageContract(name: string, make: (schema: Schema, capacity: number) => RowStorage): void {
  const opened: RowStorage[] = [];
  const begin = (capacity: number, schema = ALL_DTYPES) => {
    const storage = make(schema, capacity);
    opened.push(storage);
    return { storage, plain: new PlainRows(schema, capacity) };
  };
  afterEach(() => {
    for (const storage of opened.splice(0)) storage.close();
  });

  describe(`${name}: rows`, () => {
    it.each([
      ['in part', 100, [7, 1, 30]],
      ['to the brim', 38, [7, 1, 30]],
      ['several times around', 25, [10, 10, 10, 24, 1, 25, 3]],
      ['by more than it holds', 16, [5, 50, 3, 33]],
    ])('are what a plain list answers, filled %s', (_, capacity, batches) => {
      const { storage, plain } = begin(capacity);
      for (const rows of batches) {
        const columns = markedRows(ALL_DTYPES, plain.rows.length, rows);
        storage.append(columns, rows);
        plain.append(columns, rows);
        expect([storage.size, storage.inserted]).toEqual([plain.size, plain.rows.length]);
        const all = Uint32Array.from({ length: plain.size }, (_, i) => i);
        const taken = takeRows(storage, all);
        const content = storage.content();
        const lived = storage.slice(0, plain.size);
        for (let i = 0; i < plain.size; i++) {
          expect(rowAt(taken, i, plain.size)).toEqual(plain.at(i));
          expect(rowAt(content, i, plain.size)).toEqual(plain.at(i));
          expect(rowAt(lived, i, plain.size)).toEqual(plain.rows[plain.rows.length - plain.size + i]);
        }
      }
    });

    it('can be appended from the middle of columns', () => {
      const { storage, plain } = begin(50);
      storage.append(markedRows(ALL_DTYPES, 0, 20), 6, 9);
      plain.append(markedRows(ALL_DTYPES, 9, 6), 6);
      for (let i = 0; i < 6; i++) expect(rowAt(takeRows(storage, Uint32Array.of(i)), 0, 1)).toEqual(plain.at(i));
    });

    it('come by column, in the order asked for, to their place, however often and far apart', () => {
      const { storage, plain } = begin(300);
      for (let done = 0; done < 700; done += 70) {
        const columns = markedRows(ALL_DTYPES, done, 70);
        storage.append(columns, 70);
        plain.append(columns, 70);
      }
      const indices = Rng.fromSeed(3)
        .fillUint32(new Uint32Array(500))
        .map((value) => value % 300);
      const into = allocate({ token: ALL_DTYPES.token, history: ALL_DTYPES.history }, 510);
      storage.gather(indices, into, 10);
      indices.forEach((index, i) => {
        expect(into.token[10 + i]).toBe((plain.at(index).token as number[])[0]);
        expect([...into.history.subarray((10 + i) * 70, (11 + i) * 70)]).toEqual(plain.at(index).history);
      });
      expect(into.token.subarray(0, 10)).toEqual(new Int32Array(10));
    });

    it('are told to listeners in stretches that never wrap', () => {
      const { storage } = begin(10);
      const told: number[][] = [];
      storage.onAppend((index, count) => told.push([index, count]));
      storage.append(markedRows(ALL_DTYPES, 0, 7), 7);
      storage.append(markedRows(ALL_DTYPES, 7, 6), 6);
      expect(told).toEqual([
        [0, 7],
        [7, 3],
        [0, 3],
      ]);
    });

    it('that do not exist, columns that do not and room that is too small are refused', () => {
      const { storage } = begin(10);
      storage.append(markedRows(ALL_DTYPES, 0, 4), 4);
      const into = () => allocate(ALL_DTYPES, 2);
      expect(() => storage.gather(Uint32Array.of(4), into())).toThrow(/Row 4 does not exist: the buffer holds 4 rows/);
      expect(() => storage.gather(Int32Array.of(-1), into())).toThrow(/Row -1 does not exist/);
      expect(() => storage.gather(Uint32Array.of(0, 1), into(), 1)).toThrow(/has \d+ values where/);
      expect(() => storage.slice(0, 2, ['nothing'])).toThrow(/Column "nothing"/);
    });
  });

  describe(`${name}: sampling`, () => {
    const selectors: readonly [string, (storage: RowStorage) => Selector][] = [
      ['uniform', (storage) => new UniformSelector(storage)],
      ['prioritized', (storage) => new PrioritizedSelector(storage)],
    ];
    it.each(selectors)('draws the rows that memory draws: %s', (_, selectorOf) => {
      const schema = { value: scalar('int32'), reward: scalar('float32') };
      const draws = [begin(64, schema).storage, new MemoryRows(schema, 64)].map((storage) => {
        const selector = selectorOf(storage);
        const rng = Rng.fromSeed(11);
        const drawn: unknown[] = [];
        for (let round = 0; round < 12; round++) {
          storage.append(markedRows(schema, round * 10, 10), 10);
          const indices = new Uint32Array(16);
          const weights = new Float32Array(16);
          selector.sample(16, rng, indices, weights);
          selector.update?.(
            indices,
            new Float32Array(16).map((_, i) => (i * round) % 5),
          );
          drawn.push([...indices], [...weights], takeRows(storage, indices));
        }
        return drawn;
      });
      expect(draws[0]).toEqual(draws[1]);
    });
  });
}
