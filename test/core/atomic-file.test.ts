import * as nodeFiles from 'node:fs/promises';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { reverieError } from '../../src/core/errors.js';
import {
  ensureFolder,
  openSealed,
  recoverFolder,
  replaceFolderAtomic,
  sealedText,
  writeFileAtomic,
} from '../../src/core/files.js';
import { type Fault, faultyFiles } from '../faulty-files.js';
import { temporaryFolder } from '../temporary-folder.js';

let folder: string;
beforeEach(async () => {
  folder = temporaryFolder('atomic');
});

/** Runs `work` with a fault at the 1st, 2nd, ... call until it gets through untouched. */
async function atEveryCall(
  fault: Omit<Fault, 'at'>,
  work: (files: ReturnType<typeof faultyFiles>, at: number) => Promise<void>,
): Promise<number> {
  for (let at = 1; at < 200; at++) {
    const files = faultyFiles({ ...fault, at });
    await work(files, at);
    if (files.calls() < at) return at - 1;
  }
  throw new Error('no end of calls');
}

describe('writeFileAtomic', () => {
  it('writes strings, bytes and pieces, replacing what was there', async () => {
    const path = join(folder, 'a');
    for (const content of ['über', new TextEncoder().encode('bytes'), [Uint8Array.of(65), Uint8Array.of(66, 67)]]) {
      await writeFileAtomic(path, content);
    }
    expect(await readFile(path, 'utf8')).toBe('ABC');
    await writeFileAtomic(path, 'über');
    expect(await readFile(path, 'utf8')).toBe('über');
    expect(await readdir(folder)).toEqual(['a']);
  });

  it('says what does not allow it', async () => {
    for (const [code, problem] of [
      ['EACCES', 'permissions'],
      ['EROFS', 'read-only'],
    ] as const) {
      const { files } = faultyFiles({ kind: 'error', code, at: 1 });
      await expect(writeFileAtomic(join(folder, 'a'), 'content', files)).rejects.toMatchObject({
        code: 'STORAGE_DENIED',
        message: expect.stringContaining(problem),
      });
    }
  });

  it('creates what is missing of a path, where another made some of it, and says why not', async () => {
    await Promise.all([1, 2].map((n) => ensureFolder(join(folder, 'a', 'b', `${n}`))));
    await ensureFolder(join(folder, 'a', 'b', '1'));
    expect(await readdir(join(folder, 'a', 'b'))).toEqual(['1', '2']);
    await writeFile(join(folder, 'file'), '');
    for (const path of [join(folder, 'file'), join(folder, 'file', 'inner', 'most'), '/proc/none/of/these'])
      await expect(ensureFolder(path)).rejects.toMatchObject({ code: expect.stringMatching(/^STORAGE_/) });
  });

  it.each([
    ['error', 'ENOSPC'],
    ['crash', 'EIO'],
  ] as const)('leaves the old or the new content whole at a %s (%s) in any call', async (kind, code) => {
    const path = join(folder, 'a');
    const outcomes = new Set<string>();
    const calls = await atEveryCall({ kind, code }, async ({ files }) => {
      await writeFileAtomic(path, 'the old content');
      const result = await writeFileAtomic(path, 'the new content, longer', files).catch((error) => error);
      const content = await readFile(path, 'utf8');
      outcomes.add(content);
      expect(['the old content', 'the new content, longer']).toContain(content);
      if (result === undefined) expect(content).toBe('the new content, longer');
      else expect(result.code).toBe(code === 'ENOSPC' ? 'STORAGE_FULL' : 'STORAGE_FAILED');
      if (kind === 'error') expect(await readdir(folder)).toEqual(['a']);
    });
    expect(calls).toBeGreaterThan(6);
    expect(outcomes.size).toBe(2);
  });

  it('passes on what the content throws, and keeps the old', async () => {
    const path = join(folder, 'a');
    await writeFileAtomic(path, 'old');
    const broken = (function* () {
      yield Uint8Array.of(1);
      throw reverieError('REPLAY_EMPTY');
    })();
    await expect(writeFileAtomic(path, broken)).rejects.toMatchObject({ code: 'REPLAY_EMPTY' });
    expect(await readFile(path, 'utf8')).toBe('old');
  });
});

it('a sealed text keeps numbers to the bit', () => {
  const content = { zeros: [0, -0], deep: { zero: -0 }, text: '-0', small: 5e-324 };
  expect(openSealed(sealedText(content))).toEqual(content);
});

describe('replaceFolderAtomic', () => {
  const build = (version: string) => async (path: string) => {
    await mkdir(join(path, 'inner'));
    await writeFile(join(path, 'one'), version);
    await writeFile(join(path, 'inner', 'two'), version);
  };
  /** The version a folder holds; fails if its files are not of one version. */
  const versionOf = async (path: string): Promise<string> => {
    const version = await readFile(join(path, 'one'), 'utf8');
    expect(await readFile(join(path, 'inner', 'two'), 'utf8')).toBe(version);
    return version;
  };

  it('creates a folder and replaces it whole', async () => {
    const path = join(folder, 'deep', 'checkpoint');
    await ensureFolder(join(folder, 'deep'));
    await replaceFolderAtomic(path, build('1'));
    await replaceFolderAtomic(path, build('2'));
    expect(await versionOf(path)).toBe('2');
    expect(await readdir(join(folder, 'deep'))).toEqual(['checkpoint']);
  });

  it.each([
    ['error', 'ENOSPC'],
    ['crash', 'EIO'],
  ] as const)('leaves the old or the new folder whole at a %s (%s) in any call', async (kind, code) => {
    const path = join(folder, 'checkpoint');
    const outcomes = new Set<string>();
    await atEveryCall({ kind, code }, async ({ files }) => {
      await replaceFolderAtomic(path, build('old'));
      const result = await replaceFolderAtomic(path, build('new'), files).catch((error) => error);
      // The next process recovers before it reads.
      await recoverFolder(path);
      const version = await versionOf(path);
      outcomes.add(version);
      expect(['old', 'new']).toContain(version);
      if (result === undefined) expect(version).toBe('new');
      else expect(result.code).toBe(code === 'ENOSPC' ? 'STORAGE_FULL' : 'STORAGE_FAILED');
      await replaceFolderAtomic(path, build('next'));
      expect(await versionOf(path)).toBe('next');
      expect(await readdir(folder)).toEqual(['checkpoint']);
    });
    expect(outcomes).toEqual(new Set(['old', 'new']));
  });

  it('is whole after a crash in the first save, or not there at all', async () => {
    const path = join(folder, 'checkpoint');
    await atEveryCall({ kind: 'crash' }, async ({ files }) => {
      await rm(path, { recursive: true, force: true });
      const result = await replaceFolderAtomic(path, build('new'), files).catch((error) => error);
      await recoverFolder(path);
      if ((await readdir(folder)).includes('checkpoint')) expect(await versionOf(path)).toBe('new');
      else expect(result.code).toBe('STORAGE_FAILED');
    });
  });

  it('bears a reader that recovers between its two renames', async () => {
    const path = join(folder, 'checkpoint');
    await replaceFolderAtomic(path, build('old'));
    const rename: typeof nodeFiles.rename = async (from, to) => {
      if (String(from).endsWith('.new')) await Promise.all([recoverFolder(path), recoverFolder(path)]);
      await nodeFiles.rename(from, to);
    };
    await replaceFolderAtomic(path, build('new'), { ...nodeFiles, rename });
    expect(await versionOf(path)).toBe('new');
    expect(await readdir(folder)).toEqual(['checkpoint']);
  });

  it('passes on what the builder throws, and keeps the old', async () => {
    const path = join(folder, 'checkpoint');
    await replaceFolderAtomic(path, build('1'));
    const failing = async (temporary: string) => {
      await writeFile(join(temporary, 'half'), '');
      throw reverieError('REPLAY_EMPTY');
    };
    await expect(replaceFolderAtomic(path, failing)).rejects.toMatchObject({ code: 'REPLAY_EMPTY' });
    expect(await versionOf(path)).toBe('1');
    expect(await readdir(folder)).toEqual(['checkpoint']);
  });
});
