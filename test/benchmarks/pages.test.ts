// Pages of benchmarks are drawn from what is kept, and none lies in the repository.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawPages, keepReport } from '../../benchmarks/pages.js';
import { temporaryFolder } from '../temporary-folder.js';

it('what is kept is drawn', async () => {
  const root = temporaryFolder('pages');
  await keepReport(root, 'some.id', {
    title: 'A title that is kept',
    blocks: [{ kind: 'paragraph', text: 'A sentence.' }],
  });
  const [page] = await drawPages(root, join(root, 'pages'));
  expect(page).toBe(join(root, 'pages', 'some.id.html'));
  expect(readFileSync(page, 'utf8')).toContain('A title that is kept');
});

it('no generated page lies in the repository', () => {
  const pages = execFileSync('git', ['ls-files', '*.html'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  expect(pages.filter((page) => !/^(web|test)\//.test(page) && existsSync(page))).toEqual([]);
});
