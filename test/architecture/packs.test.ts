// Packs are content: they know the engine by its public doors alone, and it knows them by a line each.

import { readdirSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { packDomains, packModule, packsFolder } from '../../src/core/packs.js';
import { filesUnder, ROOT, textOf } from './source-files.js';

/** Doors that a plugin of anyone may enter by. */
const DOORS = ['reverie', 'reverie/tools', 'reverie/extend'];

const packs = readdirSync(join(ROOT, 'packs'));
const code = filesUnder('packs').filter((file) => /\.(ts|mjs)$/.test(file));
const importsOf = (file: string) => ts.preProcessFile(textOf(file), true, true).importedFiles.map((i) => i.fileName);

describe('a pack', () => {
  it('imports what anyone could: its own files, modules of Node, and the public doors', () => {
    const broken = code.flatMap((file) =>
      importsOf(file)
        .filter((name) => !DOORS.includes(name) && !name.startsWith('node:') && !isOwn(file, name))
        .map((name) => `${file} imports ${name}`),
    );
    expect(broken).toEqual([]);
  });

  it('has a line in the table of packs, whose module is there', () => {
    const modules = packDomains.map((domain) => packModule(domain)!);
    expect(modules.filter((file) => !statSync(file, { throwIfNoEntry: false })?.isFile())).toEqual([]);
    const listed = modules.map((file) => posix.relative(packsFolder(), file).split('/')[0]);
    expect([...new Set(listed)].sort()).toEqual(packs.sort());
  });
});

describe('the engine', () => {
  const sources = filesUnder('src', '.ts');

  it('imports nothing of packs', () => {
    const named = sources.filter((file) => importsOf(file).some((name) => /(^|\/)packs\//.test(name)));
    expect(named).toEqual([]);
  });

  it('names them in their table, and else in examples of commands alone', () => {
    const names = new RegExp(`['"\`](${[...packs, ...packDomains].join('|')})['"\`/]`);
    const naming = sources.filter((file) => names.test(textOf(file)));
    expect(naming.filter((file) => !EXAMPLES.includes(file))).toEqual(['src/core/packs.ts']);
  });
});

/** What a client sends as an example of a request. */
const EXAMPLES = ['src/serve/protocols/ors.ts'];

function isOwn(file: string, name: string): boolean {
  const pack = file.split('/').slice(0, 2).join('/');
  return name.startsWith('.') && posix.join(posix.dirname(file), name).startsWith(`${pack}/`);
}
