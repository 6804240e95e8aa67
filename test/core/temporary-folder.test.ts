// Folders of a process: taken away by it, and by the next where it was killed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../../src/core/files.js';
import { compiledUrl } from '../../src/core/threads.js';

const before = process.env.TMPDIR;
const folder = mkdtempSync(join(tmpdir(), 'reverie-test-'));
beforeAll(() => {
  process.env.TMPDIR = folder;
});
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true });
});

it('goes with its process, or with the next where that was killed', async () => {
  const module = compiledUrl(new URL('../../src/core/files.ts', import.meta.url).href, './files.js');
  const program = `import { temporaryFolder } from '${module}';
    console.log(temporaryFolder('child').path); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [told] = await once(child.stdout!, 'data');
  const theirs = String(told).trim();
  const ours = temporaryFolder('ours');
  expect([existsSync(theirs), existsSync(ours.path)]).toEqual([true, true]);

  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  const next = temporaryFolder('next');
  expect([existsSync(theirs), existsSync(ours.path)]).toEqual([false, true]);
  for (const one of [ours, next]) one.remove();
  expect([existsSync(ours.path), existsSync(next.path)]).toEqual([false, false]);
});

it('is left alone where nobody here can say that its process is gone', () => {
  const found = ['reverie-run', 'reverie-elsewhere', 'reverie-torn'].map((name) => join(folder, name));
  for (const path of found) mkdirSync(path);
  // A run of a user's, of a process that is gone; another machine's; one that is being written.
  writeFileSync(join(found[0], 'run.lock'), JSON.stringify({ pid: 2 ** 30, host: hostname(), began: null }));
  writeFileSync(join(found[1], '.owner.json'), JSON.stringify({ pid: 2 ** 30, host: 'elsewhere', began: null }));
  writeFileSync(join(found[2], '.owner.json'), '{"pid":');
  temporaryFolder('ours').remove();
  expect(found.map((path) => existsSync(path))).toEqual([true, true, true]);
});
