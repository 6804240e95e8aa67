import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lockRun } from '../../src/run/run-lock.js';

let folder: string;
let lock: string;
const holder = () => JSON.parse(readFileSync(lock, 'utf8'));
const hold = (fields: object) =>
  writeFileSync(lock, JSON.stringify({ pid: process.pid, host: hostname(), began: null, ...fields }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-lock-'));
  lock = join(folder, 'run.lock');
});

describe('the lock of a run', () => {
  it('is held by one at a time, and leaves nothing', () => {
    const unlock = lockRun(folder);
    expect(holder()).toMatchObject({ pid: process.pid, host: hostname() });
    expect(() => lockRun(folder)).toThrow(expect.objectContaining({ code: 'RUN_IN_USE' }));
    unlock();
    expect(existsSync(lock)).toBe(false);
    lockRun(folder)();
  });

  it('falls to the next when its holder is gone', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    hold({ pid });
    const unlock = lockRun(folder);
    expect(holder().pid).toBe(process.pid);
    unlock();
  });

  it('falls to the next when its holder was killed while it wrote', () => {
    writeFileSync(lock, '{"pid": 1');
    lockRun(folder)();
  });

  it.skipIf(platform() !== 'linux')('knows a process that merely has the number of one that is gone', () => {
    hold({ began: 'another-boot:1' });
    lockRun(folder)();
  });

  it('of another machine is not taken', () => {
    hold({ host: 'elsewhere' });
    expect(() => lockRun(folder)).toThrow(/is in use by process \d+ on elsewhere/);
  });
});
