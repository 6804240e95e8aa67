// Files that agents may upload: those of the folder that a scenario names, and no others of the machine.

import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../src/env/tools/tools-environment.js';
import { chromiumProgram } from '../../src/screens/page-machine.js';
import { screenEnvironment } from '../../src/screens/screen-environment.js';
import type { ScreensDomainOptions } from '../../src/screens/screens-domain.js';
import { pagesDomain } from './fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'reverie-uploads-'));
const uploads = join(folder, 'uploads');
beforeAll(() => {
  mkdirSync(join(uploads, 'old'), { recursive: true });
  writeFileSync(join(uploads, 'letter.txt'), 'Dear all');
  writeFileSync(join(uploads, 'old', 'list.csv'), 'a,b');
  writeFileSync(join(folder, 'secret.txt'), 'nobody may have this');
  symlinkSync(join(folder, 'secret.txt'), join(uploads, 'link.txt'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

function domainOf(options: Partial<ScreensDomainOptions>): ToolsDomain {
  const domain = pagesDomain('files', { browser: 'chromium', ...options });
  open.push(domain);
  return domain;
}

function lived(domain: ToolsDomain) {
  return screenEnvironment(
    new ToolsEpisodeEnvironment({ id: 'files', domain, responder: rulesResponder(domain), user: new ScriptedUser() }),
  );
}

const idOf = (tree: string, name: string) => new RegExp(`\\[(\\w+)\\] textbox '${name}'`).exec(tree)?.[1];

describe.skipIf(!existsSync(chromiumProgram()))('files in Chromium', () => {
  it('are chosen by their names in the folder, one or several', async () => {
    const domain = domainOf({ uploads });
    const env = lived(domain);
    const { observation: first } = await env.reset({ task: 'files.1', seed: 1 });
    const act = async (line: string) => (await env.step(line)).observation;
    expect(await act(`upload_file('${idOf(first, 'One')}', 'letter.txt')`)).toContain('letter.txt of 8');
    const several = await act(`upload_file('${idOf(first, 'Many')}', ['old/list.csv', 'letter.txt'])`);
    expect(several).toContain('list.csv of 3, letter.txt of 8');
    const button = /\[(\w+)\] button 'Attach'/.exec(first)?.[1];
    expect(await act(`upload_file('${button}', 'letter.txt')`)).toContain('unseen: letter.txt of 8');
    // Done again elsewhere, from what is told of it.
    const fork = lived(domain);
    fork.restore(JSON.parse(JSON.stringify(await env.snapshot())));
    expect((await fork.step(`focus('${idOf(first, 'Text')}')`)).observation).toContain('unseen: letter.txt of 8');
  }, 60_000);

  it('are refused by any other name, and by a field of something else', async () => {
    const env = lived(domainOf({ uploads }));
    const { observation: first } = await env.reset({ task: 'files.1', seed: 1 });
    const refused = async (id: string, file: string) => {
      const { observation } = await env.step(`upload_file('${idOf(first, id)}', '${file}')`);
      expect(observation).toMatch(/^Error: /);
      expect(observation).toContain("paragraph 'none'");
      return observation.split('\n')[0];
    };
    for (const file of ['../secret.txt', 'link.txt', join(folder, 'secret.txt'), 'toString'])
      expect(await refused('One', file)).toBe(
        `Error: there is no file "${file}" to upload; there are: letter.txt, old/list.csv`,
      );
    expect(await refused('Text', 'letter.txt')).toBe('Error: a click on the element lets nobody choose files');
  }, 60_000);
});

it('are no action where no folder is named', async () => {
  const env = lived(domainOf({ browser: 'jsdom' }));
  const { observation: first } = await env.reset({ task: 'files.1', seed: 1 });
  const { observation } = await env.step(`upload_file('${idOf(first, 'One')}', 'letter.txt')`);
  expect(observation).toMatch(/^Error: unknown action "upload_file"; there are: noop, click/);
}, 60_000);

it('are part of the version of a world', () => {
  const before = domainOf({ uploads }).version;
  writeFileSync(join(uploads, 'letter.txt'), 'Dear you');
  expect(domainOf({ uploads }).version).not.toBe(before);
});

it.each([
  ['uploads', 'jsdom', 'jsdom has no files to choose among'],
  ['nowhere', 'chromium', 'there is no such folder'],
  ['empty', 'chromium', 'it holds 0 files'],
] as const)('are told where there can be none: %s in %s', (name, browser, problem) => {
  mkdirSync(join(folder, 'empty'), { recursive: true });
  expect(() => domainOf({ uploads: join(folder, name), browser })).toThrow(
    expect.objectContaining({
      code: 'ENV_UNUSABLE',
      message: `No files of "${join(folder, name)}" can be uploaded: ${problem}.`,
    }),
  );
});
