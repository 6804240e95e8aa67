// What `npm pack` puts into the package: packs are found by their names in an installed one too.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { filesUnder } from '../architecture/source-files.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('ships every pack whole, and nothing that the compiler or a test reads alone', () => {
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    shell: process.platform === 'win32',
  });
  const [{ files }] = JSON.parse(told) as [{ files: { path: string }[] }];
  const shipped = files.map(({ path }) => path);
  const content = filesUnder('packs').filter((file) => !/\.ts$|tsconfig\.json$/.test(file));
  expect(content.filter((file) => !shipped.includes(file))).toEqual([]);
  for (const pack of readdirSync(join(ROOT, 'packs'))) {
    const module = new RegExp(`^packs/${pack}/(index\\.mjs|dist/index\\.js)$`);
    expect(
      shipped.filter((file) => module.test(file)),
      pack,
    ).toHaveLength(1);
  }
  expect(shipped.filter((file) => /^packs\/.*(?<!\.d)\.ts$|^(src|test)\//.test(file))).toEqual([]);
});
