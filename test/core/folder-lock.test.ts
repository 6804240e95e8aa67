import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { lockFolder } from '../../src/core/files.js';

const turns = vi.hoisted(() => ({ before: () => {} }));

// Every file operation of a lock is a moment at which another process may come in between.
vi.mock('node:fs', async (original) => {
  const files = await original<typeof import('node:fs')>();
  const watched = ['linkSync', 'readFileSync', 'renameSync', 'rmSync', 'statSync', 'writeFileSync'] as const;
  const wrapped = watched.map((name) => [
    name,
    (...args: unknown[]) => {
      if (/run\.lock/.test(String(args[0]))) turns.before();
      return (files[name] as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return { ...files, ...Object.fromEntries(wrapped) };
});

let folder: string;
let lock: string;
const holder = () => JSON.parse(readFileSync(lock, 'utf8'));
const gone = spawnSync(process.execPath, ['-e', '']).pid;
const hold = (fields: object) =>
  writeFileSync(lock, JSON.stringify({ pid: process.pid, host: hostname(), began: null, ...fields }));

beforeEach(() => {
  turns.before = () => {};
  folder = mkdtempSync(join(tmpdir(), 'reverie-lock-'));
  lock = join(folder, 'run.lock');
});

/** What releases the lock, or undefined where another holds it. */
function attempt(): (() => void) | undefined {
  try {
    return lockFolder(folder);
  } catch (error) {
    expect(error).toMatchObject({ code: 'RUN_IN_USE' });
    return undefined;
  }
}

describe('the lock of a folder', () => {
  it('is held by one at a time, and leaves nothing', () => {
    const unlock = lockFolder(folder);
    expect(holder()).toMatchObject({ pid: process.pid, host: hostname() });
    expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ code: 'RUN_IN_USE' }));
    unlock();
    expect(readdirSync(folder)).toEqual([]);
    lockFolder(folder)();
  });

  it('falls to the next when its holder is gone', () => {
    hold({ pid: gone });
    const unlock = lockFolder(folder);
    expect(holder().pid).toBe(process.pid);
    expect(readdirSync(folder)).toEqual(['run.lock']);
    unlock();
    expect(existsSync(lock)).toBe(false);
  });

  it('falls to the next when its holder was killed while it wrote, and not while it may be writing', () => {
    writeFileSync(lock, '{"pid": 1');
    expect(attempt()).toBeUndefined();
    utimesSync(lock, 1, 1);
    lockFolder(folder)();
  });

  it.skipIf(platform() !== 'linux')('knows a process that merely has the number of one that is gone', () => {
    hold({ began: 'another-boot:1' });
    lockFolder(folder)();
  });

  it('of another machine is not taken', () => {
    hold({ host: 'elsewhere' });
    expect(() => lockFolder(folder)).toThrow(/is in use by process \d+ on elsewhere/);
  });
});

/** Turns of file operations: the n-th belongs to whoever is deepest; each in `cuts` lets one more process in. */
function interleave(cuts: readonly number[]): (() => void)[] {
  const held: (() => void)[] = [];
  const enter = (depth: number): void => {
    let turn = 0;
    turns.before = () => {
      if (turn++ !== cuts[depth]) return;
      const outer = turns.before;
      enter(depth + 1);
      turns.before = outer;
    };
    const unlock = attempt();
    if (unlock) held.push(unlock);
  };
  enter(0);
  turns.before = () => {};
  return held;
}

const STATES: Readonly<Record<string, () => void>> = {
  'is free': () => {},
  'was held by one that is gone': () => hold({ pid: gone, token: 'first' }),
  'was claimed by one that is gone, too': () => {
    hold({ pid: gone, token: 'first' });
    const second = { pid: gone, host: hostname(), began: null, token: 'second' };
    writeFileSync(`${lock}.after-first`, JSON.stringify(second));
  },
};

describe.each(Object.keys(STATES))('a lock that %s', (state) => {
  it('falls to exactly one of three, wherever each is when the next comes in', () => {
    for (let first = 0; first < 16; first++) {
      for (let second = 0; second < 16; second += 1 + (second >> 2)) {
        for (const name of readdirSync(folder)) unlinkSync(join(folder, name));
        STATES[state]();
        const held = interleave([first, second]);
        expect(held.length, `came in at ${first} and ${second}`).toBe(1);
        held[0]();
        expect(existsSync(lock)).toBe(false);
      }
    }
  });
});
