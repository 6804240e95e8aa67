// The house does not grow: lines and files of each room, and modules that the two walks load. The numbers in ratchet.json fall with the
// house; one rises only in a commit that adds a capability somebody asked for, and says so.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadedModules } from './loaded-modules.js';
import { filesUnder, ROOT, roomOf, textOf } from './source-files.js';

interface Ratchet {
  readonly rooms: Readonly<Record<string, { readonly lines: number; readonly files: number }>>;
  readonly walks: Readonly<Record<string, number>>;
}

const ratchet: Ratchet = JSON.parse(readFileSync(new URL('ratchet.json', import.meta.url), 'utf8'));

/** Lines and files of each room of `src`; `.` stands for the files that lie in none. */
function measuredRooms(): Record<string, { lines: number; files: number }> {
  const rooms: Record<string, { lines: number; files: number }> = {};
  for (const file of filesUnder('src', '.ts')) {
    rooms[roomOf(file) ?? '.'] ??= { lines: 0, files: 0 };
    const room = rooms[roomOf(file) ?? '.'];
    room.lines += textOf(file).split('\n').length - 1;
    room.files += 1;
  }
  return rooms;
}

describe('a room', () => {
  it.each(Object.entries(measuredRooms()))('%s has no more lines and files than it had', (name, { lines, files }) => {
    expect(ratchet.rooms).toHaveProperty([name]);
    expect(lines).toBeLessThanOrEqual(ratchet.rooms[name].lines);
    expect(files).toBeLessThanOrEqual(ratchet.rooms[name].files);
  });
});

describe('a walk', () => {
  it.each(Object.entries(ratchet.walks))('%s loads no more modules than it did', async (command, most) => {
    const loaded = await loadedModules(ROOT, command.split(' '));
    expect(loaded.length).toBeGreaterThan(10);
    expect(loaded.length).toBeLessThanOrEqual(most);
  });
});
