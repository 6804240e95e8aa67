// TiddlyWiki and its server in Chromium. Skipped where either is not there: `npm install tiddlywiki@5.4.1`, TIDDLYWIKI_PATH.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDomain } from '../../src/env/tools/domains.js';
import { chromiumProgram } from '../../src/screens/screen-player.js';
import { answerHere } from '../e2e/reverie.js';
import { temporaryFolder } from '../temporary-folder.js';

const folder = temporaryFolder('tiddlywiki');

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve(`${process.env.TIDDLYWIKI_PATH ?? 'tiddlywiki'}/package.json`);
    return existsSync(chromiumProgram());
  } catch {
    return false;
  }
}

const able = isInstalled();
if (!able) console.warn('Tests of TiddlyWiki are skipped: it, or Chromium, is not installed');

it('tells how TiddlyWiki is installed where it is not', async () => {
  const made = makeDomain({ id: 'tiddlywiki', app: 'nowhere' }, { folder });
  await expect(made).rejects.toMatchObject({
    code: 'ENV_UNUSABLE',
    hint: expect.stringContaining('npm install tiddlywiki'),
  });
});

describe.skipIf(!able)('TiddlyWiki', () => {
  it('is evaluated by the command line, each task done by its solution', async () => {
    const some = ['--set', 'domain.screens=[write-note, tick-note]', '--set', 'synth.episodes=2'];
    const done = await answerHere('eval', 'tiddlywiki', '--profile', 'smoke', ...some, '--out', join(folder, 'eval'));
    expect(done).toMatchObject({ success: { value: 1, of: 2 } });
  }, 300_000);
});
