// Rows in memory and on disk keep the same promises; those on disk survive what disks and kills do.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as nodeFiles from 'node:fs';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/canonical-json.js';
import { Rng } from '../../src/core/rng.js';
import { compiledUrl } from '../../src/core/threads.js';
import { DiskRows } from '../../src/replay/disk-rows.js';
import { MemoryRows } from '../../src/replay/memory-rows.js';
import { type RowStorage, takeRows } from '../../src/replay/row-storage.js';
import { allocate, type ColumnSet, checkColumns, scalar, tensor } from '../../src/replay/schema.js';
import { ALL_DTYPES, markedRows, rowStorageContract } from './row-storage-contract.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-rows-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

let stores = 0;
const onDisk = (chunkRows?: number) => (schema: typeof ALL_DTYPES, capacity: number) =>
  DiskRows.create({ folder: join(folder, `store-${stores++}`), schema, capacity, chunkRows });

rowStorageContract('memory', (schema, capacity) => new MemoryRows(schema, capacity));
rowStorageContract('disk', onDisk());
rowStorageContract('disk, in small chunks', onDisk(7));

describe('a schema', () => {
  it('is refused where a dtype, a shape or a name is none', () => {
    const refuse = (schema: object, column: RegExp) =>
      expect(() => new MemoryRows(schema as typeof ALL_DTYPES, 4)).toThrow(column);
    refuse({}, /there must be one/);
    refuse({ a: { dtype: 'float16', shape: [] } }, /Column "a" of the schema.*dtype/);
    refuse({ a: { dtype: 'uint8', shape: [3, 0] } }, /Column "a" of the schema.*shape/);
    refuse({ '../a': scalar('bool') }, /Column "..\/a"/);
    expect(() => new MemoryRows(ALL_DTYPES, 0)).toThrow(/capacity = 0/);
  });

  it('says which columns a batch must have, and what is wrong with one', () => {
    const schema = { image: tensor('uint8', 2, 2), token: scalar('int32'), mask: scalar('bool') };
    const good = () => allocate(schema, 3);
    expect(() => checkColumns(schema, good(), 3)).not.toThrow();
    const refuse = (change: object, message: RegExp) =>
      expect(() => checkColumns(schema, { ...good(), ...change }, 3)).toThrow(message);
    refuse({ image: undefined }, /"image" does not fit the schema: it is missing/);
    refuse({ other: new Uint8Array(3) }, /"other" does not fit the schema: it is unknown/);
    refuse({ token: new Float32Array(3) }, /it is of Float32Array, not of Int32Array/);
    refuse({ image: new Uint8Array(11) }, /"image" has 11 values where 12/);
    refuse({ mask: Uint8Array.of(0, 2, 1) }, /element 1 is 2, and a bool is 0 or 1/);
  });
});

/** A store of 100 rows, flushed. */
function filled(capacity = 200, chunkRows = 16): DiskRows {
  const store = DiskRows.create({ folder: join(folder, 'rows'), schema: ALL_DTYPES, capacity, chunkRows });
  store.append(markedRows(ALL_DTYPES, 0, 100), 100);
  store.flush();
  return store;
}

/** Equal for equal rows; a digest, as comparing long arrays element by element takes longer than all the rest. */
function digest(columns: ColumnSet): string {
  const parts = Object.entries(columns).flatMap(([name, { buffer, byteOffset, byteLength }]) => [
    name,
    new Uint8Array(buffer, byteOffset, byteLength),
  ]);
  return sha256(...parts);
}

function contentOf(store: RowStorage): string {
  return digest(store.slice(0, store.size));
}

const rowsOf = (first: number, rows: number) => digest(markedRows(ALL_DTYPES, first, rows));

describe('rows on disk', () => {
  it('are there when the store is opened again, and go on alike', () => {
    const store = filled(60);
    const reopened = DiskRows.open(join(folder, 'rows'));
    const memory = new MemoryRows(ALL_DTYPES, 60);
    memory.append(markedRows(ALL_DTYPES, 0, 100), 100);
    expect(contentOf(reopened)).toEqual(contentOf(memory));
    store.close();
    for (const either of [reopened, memory]) either.append(markedRows(ALL_DTYPES, 100, 41), 41);
    expect(contentOf(reopened)).toEqual(contentOf(memory));
    expect(reopened.inserted).toBe(141);
    reopened.close();
  });

  it('that were never flushed are not there', () => {
    const store = filled();
    store.append(markedRows(ALL_DTYPES, 100, 50), 50);
    store.close();
    const reopened = DiskRows.open(join(folder, 'rows'));
    expect(reopened.inserted).toBe(100);
    reopened.append(markedRows(ALL_DTYPES, 100, 5), 5);
    expect(contentOf(reopened)).toBe(rowsOf(0, 105));
    reopened.close();
  });

  it('take the space of the ring, however many were ever inserted', () => {
    const store = filled(40);
    for (let id = 100; id < 1000; id += 20) store.append(markedRows(ALL_DTYPES, id, 20), 20);
    const chunks = readdirSync(join(folder, 'rows')).filter((name) => name.endsWith('.bin'));
    expect(chunks.length).toBeLessThanOrEqual(6);
    expect(contentOf(store)).toBe(rowsOf(960, 40));
    store.close();
  });

  it('can be saved elsewhere, and stay as they were saved', () => {
    const store = filled();
    store.saveTo(join(folder, 'saved'));
    store.append(markedRows(ALL_DTYPES, 100, 60), 60);
    store.flush();
    const saved = DiskRows.open(join(folder, 'saved'));
    expect(contentOf(saved)).toBe(rowsOf(0, 100));
    saved.close();
    const copy = DiskRows.openCopy(join(folder, 'saved'), join(folder, 'copy'));
    copy.append(markedRows(ALL_DTYPES, 500, 30), 30);
    copy.flush();
    const again = DiskRows.open(join(folder, 'saved'));
    expect(contentOf(again)).toBe(rowsOf(0, 100));
    expect(copy.inserted).toBe(130);
    for (const open of [store, copy, again]) open.close();
  });

  it('share what is full with a copy of them', () => {
    const store = filled();
    store.saveTo(join(folder, 'saved'));
    const inode = (name: string, at: string) => nodeFiles.statSync(join(folder, at, name)).ino;
    expect(inode('rows-00000000.bin', 'saved')).toBe(inode('rows-00000000.bin', 'rows'));
    expect(inode('rows-00000006.bin', 'saved')).not.toBe(inode('rows-00000006.bin', 'rows'));
    store.close();
  });

  it('do not replace files that are not theirs', () => {
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    DiskRows.create({ folder, schema: ALL_DTYPES, capacity: 4 }).close();
    expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('mine');
  });
});

describe('damaged files', () => {
  it('any bit of a chunk: one error that names file and row, when the row is read', () => {
    filled().close();
    const rng = Rng.fromSeed(4);
    for (let round = 0; round < 60; round++) {
      const path = join(folder, 'rows', `rows-0000000${rng.int(6)}.bin`);
      const whole = readFileSync(path);
      const damaged = Buffer.from(whole);
      damaged[rng.int(whole.length)] ^= 1 << rng.int(8);
      writeFileSync(path, damaged);
      const store = DiskRows.open(join(folder, 'rows'));
      expect(() => contentOf(store)).toThrow(
        expect.objectContaining({ code: 'CHECKPOINT_CORRUPT', message: expect.stringContaining(path) }),
      );
      store.close();
      writeFileSync(path, whole);
    }
  });

  it('any bit of the header, a chunk cut short, exchanged or gone', () => {
    filled().close();
    const rows = join(folder, 'rows');
    const header = readFileSync(join(rows, 'store.json'));
    for (let at = 0; at < header.length; at += 5) {
      const damaged = Buffer.from(header);
      damaged[at] ^= 4;
      writeFileSync(join(rows, 'store.json'), damaged);
      expect(() => DiskRows.open(rows)).toThrow(expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }));
    }
    writeFileSync(join(rows, 'store.json'), header);
    const path = join(rows, 'rows-00000002.bin');
    const whole = readFileSync(path);
    const refuse = () => {
      const store = DiskRows.open(rows);
      expect(() => contentOf(store)).toThrow(expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }));
      store.close();
    };
    writeFileSync(path, whole.subarray(0, whole.length - 9));
    refuse();
    writeFileSync(path, readFileSync(join(rows, 'rows-00000001.bin')));
    refuse();
    rmSync(path);
    refuse();
    rmSync(join(rows, 'store.json'));
    expect(() => DiskRows.open(rows)).toThrow(expect.objectContaining({ code: 'FILE_INVALID' }));
  });
});

/** The file system, whose `at`-th call fails. */
function failingFiles(at: number, code: string) {
  let calls = 0;
  const files = new Proxy(nodeFiles, {
    get(target, name: keyof typeof nodeFiles) {
      const real = target[name] as (...args: unknown[]) => unknown;
      if (!['openSync', 'writeSync', 'fsyncSync', 'renameSync', 'mkdirSync', 'copyFileSync'].includes(name))
        return real;
      return (...args: unknown[]) => {
        if (++calls === at) throw Object.assign(new Error(`${code}: failed`), { code, syscall: 'write' });
        return real(...args);
      };
    },
  });
  return { files, calls: () => calls };
}

describe('failing storage', () => {
  it.each([
    ['ENOSPC', 'STORAGE_FULL', 1],
    ['EIO', 'STORAGE_FAILED', 6],
  ])('%s in any call: the rows before are whole, and the store goes on', (code, expected, stride) => {
    // More than is kept in memory, so that appending writes too.
    const wide = markedRows(ALL_DTYPES, 100, 4000);
    for (let [at, isOver] = [1, false]; !isOver; at += stride) {
      filled(200, 1024).close();
      const { files, calls } = failingFiles(at, code);
      const store = DiskRows.open(join(folder, 'rows'), files);
      let failed = 0;
      const attempt = (work: () => void) => {
        try {
          work();
        } catch (error) {
          expect((error as { code: string }).code).toBe(expected);
          failed++;
          work();
        }
      };
      attempt(() => store.append(wide, 4000));
      attempt(() => store.flush());
      attempt(() => store.saveTo(join(folder, `saved-${at}`)));
      store.close();
      for (const place of ['rows', `saved-${at}`]) {
        const reopened = DiskRows.open(join(folder, place));
        expect(reopened.inserted).toBe(4100);
        expect(contentOf(reopened)).toBe(rowsOf(3900, 200));
        reopened.close();
      }
      isOver = calls() < at;
      expect(failed).toBe(isOver ? 0 : 1);
    }
  });

  it.skipIf(process.platform === 'win32')('a real size limit: STORAGE_FULL, what was flushed is intact', async () => {
    const lines = await written(`ulimit -f 64; exec "$0" "$@"`, (child) => once(child, 'close').then(() => undefined));
    expect(lines.at(-1)).toBe('STORAGE_FULL');
    expect(checkedRows()).toBe(Number(lines.at(-2)));
  });
});

describe('kill -9', () => {
  it.skipIf(process.platform === 'win32')(
    'at any moment leaves every acknowledged row, and only whole batches',
    async () => {
      const rng = Rng.fromSeed(6);
      let acknowledged = 0;
      for (let kill = 0; kill < 8; kill++) {
        const lines = await written('exec "$0" "$@"', async (child, first) => {
          await first;
          await new Promise((done) => setTimeout(done, rng.int(40)));
          child.kill('SIGKILL');
          await once(child, 'close');
        });
        acknowledged = Math.max(acknowledged, ...lines.map(Number));
        const rows = checkedRows();
        expect(rows).toBeGreaterThanOrEqual(acknowledged);
        expect(rows % 250).toBe(0);
      }
      expect(acknowledged).toBeGreaterThan(8 * 250);
    },
  );
});

/** Rows of the writer's store, each of which holds its own number. */
function checkedRows(): number {
  const store = DiskRows.open(join(folder, 'writer'));
  const { id } = store.slice(0, store.size, ['id']);
  const first = store.inserted - store.size;
  expect([...id].findIndex((value, i) => value !== first + i)).toBe(-1);
  takeRows(
    store,
    Uint32Array.from({ length: store.size }, (_, i) => i),
  );
  store.close();
  return store.inserted;
}

/** Lines of a process that goes on with a store, 250 rows at a time, and prints how many are flushed, or an error's code. */
async function written(
  shell: string,
  watch: (child: ReturnType<typeof spawn>, first: Promise<unknown>) => Promise<void>,
): Promise<string[]> {
  const replay = compiledUrl(new URL('../../src/replay/index.ts', import.meta.url).href, './index.js');
  const script = `
    import { DiskRows, allocate } from ${JSON.stringify(replay)};
    import { existsSync } from 'node:fs';
    const folder = process.argv[1];
    const schema = { id: { dtype: 'int32', shape: [] }, wide: { dtype: 'uint8', shape: [40] } };
    const store = existsSync(folder + '/store.json') ? DiskRows.open(folder)
      : DiskRows.create({ folder, schema, capacity: 20000, chunkRows: 1500 });
    const batch = allocate(schema, 250);
    try {
      for (;;) {
        batch.id.forEach((_, i) => { batch.id[i] = store.inserted + i; });
        store.append(batch, 250);
        store.flush();
        console.log(store.inserted);
      }
    } catch (error) {
      console.log(error.code);
    }`;
  const node = [process.execPath, '--input-type=module', '-e', script, join(folder, 'writer')];
  const child = spawn('/bin/sh', ['-c', shell, ...node], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface(child.stdout!);
  reader.on('line', (line) => lines.push(line));
  await watch(child, once(reader, 'line'));
  return lines;
}
