// Archives that are read as folders: unpacked once, whole or not at all, and never outside of their place.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import AdmZip from 'adm-zip';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { unpackedArchive } from '../../src/env/unpacked-archive.js';

let folder = '';
const at = (...names: string[]) => join(folder, ...names);
const unpacked = () => readdirSync(at('cache', 'unpacked'));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-archive-'));
  vi.stubEnv('REVERIE_CACHE', at('cache'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const CONTENT = { 'pack/pages/one.html': '<p>one', 'pack/pages/deep/two.html': '<p>two', 'pack/code.py': 'pass' };

/** @param rename what an entry is called in the end, whatever the library would let through */
function archive(name: string, content: Readonly<Record<string, string>> = CONTENT, rename?: string): string {
  const zip = new AdmZip();
  for (const [path, text] of Object.entries(content)) zip.addFile(path, Buffer.from(text));
  if (rename !== undefined) zip.getEntries()[0].entryName = rename;
  zip.writeZip(at(name));
  return at(name);
}

it('are the folder that holds what is looked for', () => {
  const pages = unpackedArchive(archive('a.whl'), 'one.html')!;
  expect(readFileSync(join(pages, 'one.html'), 'utf8')).toBe('<p>one');
  expect(readFileSync(join(pages, 'deep', 'two.html'), 'utf8')).toBe('<p>two');
  expect(unpackedArchive(at('a.whl'), 'three.html')).toBeUndefined();
});

it('are unpacked once by what they hold, whatever they are called', () => {
  const pages = unpackedArchive(archive('a.whl'), 'one.html')!;
  writeFileSync(join(pages, 'mark'), '');
  writeFileSync(at('b.zip'), readFileSync(at('a.whl')));
  expect(unpackedArchive(at('b.zip'), 'one.html')).toBe(pages);
  expect(readdirSync(pages)).toContain('mark');
  const other = unpackedArchive(archive('c.whl', { 'one.html': 'another' }), 'one.html')!;
  expect(readFileSync(join(other, 'one.html'), 'utf8')).toBe('another');
  expect(unpacked()).toHaveLength(2);
});

it('take away what one that was killed has left', () => {
  const pages = unpackedArchive(archive('a.whl'), 'one.html')!;
  const [hash] = unpacked();
  rmSync(at('cache', 'unpacked', hash), { recursive: true });
  mkdirSync(at('cache', 'unpacked', `${hash}.half`));
  expect(unpackedArchive(at('a.whl'), 'one.html')).toBe(pages);
  expect(unpacked()).toEqual([hash]);
});

it('are refused where they are damaged, and leave nothing', () => {
  const file = archive('a.whl', { 'one.html': 'x'.repeat(1000) + Math.PI });
  const bytes = readFileSync(file);
  // Within the packed content of the only file: the name is eight bytes, its header thirty.
  bytes[40] ^= 0xff;
  writeFileSync(at('damaged.whl'), bytes);
  const refused = (name: string) => () => unpackedArchive(at(name), 'one.html');
  expect(refused('damaged.whl')).toThrow(expect.objectContaining({ code: 'FILE_INVALID' }));
  expect(unpacked()).toEqual([]);
  writeFileSync(at('half.whl'), readFileSync(file).subarray(0, 60));
  expect(refused('half.whl')).toThrow(/The archive ".*half\.whl" cannot be unpacked: .*No END header/);
});

it.each(['../one.html', '/one.html', 'a/../../one.html', 'a\\..\\one.html', 'C:/one.html'])(
  'are refused where a file would lie outside: %s',
  (name) => {
    const file = archive('a.whl', { 'one.html': 'x' }, name);
    expect(() => unpackedArchive(file, 'one.html')).toThrow(`it would write outside of its folder: "${name}"`);
    expect(readdirSync(folder)).toEqual(['a.whl']);
  },
);

it('name the way out where the cache cannot be written to', () => {
  writeFileSync(at('cache'), 'a file');
  expect(() => unpackedArchive(archive('a.whl'), 'one.html')).toThrow(
    expect.objectContaining({ code: 'STORAGE_FAILED', hint: expect.stringContaining('REVERIE_CACHE') }),
  );
});
