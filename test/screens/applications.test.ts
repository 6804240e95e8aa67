// An application with a server of its own, in Chromium: its pages and tabs, data that tell what was earned, episodes that are found
// again from what was done, and a server that ends with its page.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { compiledUrl } from '../../src/core/threads.js';
import { parseAction, SCREEN_ACTIONS } from '../../src/env/screens/screen-actions.js';
import { type ScreenState, screenText } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import type { AppSpec } from '../../src/screens/page/page-browser.js';
import { chromiumProgram } from '../../src/screens/screen-player.js';
import { screensDomain } from '../../src/screens/screens-domain.js';
import { temporaryFolder } from '../temporary-folder.js';
import { CONTRACT } from './fixture.js';

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const NOTES: AppSpec = {
  name: 'Notes',
  command: [process.execPath, fileOf('notes-server.mjs'), '{port}', '{data}'],
  files: { 'notes.json': JSON.stringify(['milk', 'bread']) },
  path: '/',
  goal: 'Add the note "eggs".',
  judge: { module: fileOf('notes-judge.mjs'), task: 'eggs' },
};

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

function domainOf(app: Partial<AppSpec> = {}): ToolsDomain {
  const pages = [{ id: 'notes.1', file: '', seed: 1, app: { ...NOTES, ...app } }];
  const domain = screensDomain({ id: 'notes', version: '1', contract: CONTRACT, browser: 'chromium', pages });
  open.push(domain);
  return domain;
}

/** The screen after a line; `{NAME}` in it stands for the element of that name. */
function after(domain: ToolsDomain, state: ScreenState, line: string): ScreenState | string {
  const named = line.replace(/\{(.*?)\}/, (_, name: string) => {
    return Object.keys(state.elements).find((id) => state.elements[id].name === name)!;
  });
  const call = { id: '', ...(parseAction(named, SCREEN_ACTIONS) as { name: string; arguments: object }) };
  const { isError, observation, operations } = domain.rules!.execute(state, call as never);
  return isError ? observation : (applyOperations(state, operations) as ScreenState);
}

function walked(domain: ToolsDomain, from: ScreenState, lines: readonly string[]): ScreenState[] {
  const states: ScreenState[] = [];
  for (const line of lines) states.push(after(domain, states.at(-1) ?? from, line) as ScreenState);
  return states;
}

describe.skipIf(!existsSync(chromiumProgram()))('an application', () => {
  it('is used from page to page and from tab to tab', () => {
    const domain = domainOf();
    const begun = initialStateOf(domain, domain.tasks[0]) as ScreenState;
    expect(screenText(begun)).toMatch(/^Tab 0 \(active\): \/ Notes\nRootWebArea 'Notes'/);
    const lines = [
      'click({milk})',
      'go_back()',
      'click({First in a tab})',
      'tab_focus(0)',
      'tab_focus(1)',
      'tab_close()',
    ];
    const [note, back, tab, first, second, closed] = walked(domain, begun, lines);
    expect(screenText(note)).toMatch(/^Tab 0 \(active\): \/note\/0 A note\n.*\n.*heading 'milk'/);
    expect(screenText(back)).toContain("link 'bread'");
    expect(screenText(tab)).toMatch(/^Tab 0: \/ Notes\nTab 1 \(active\): \/note\/0 A note/);
    expect(screenText(first)).toMatch(/^Tab 0 \(active\): \/ Notes\nTab 1: /);
    expect(second.elements).toEqual(tab.elements);
    expect(screenText(closed)).toMatch(/^Tab 0 \(active\): \/ Notes\nRoot/);
    // An id is that of one element, whichever page it is on.
    expect(Object.keys(note.elements).filter((id) => begun.elements[id] !== undefined)).toEqual([]);
    expect(after(domain, closed, 'tab_close()')).toBe('Error: it is the only tab');
    expect(after(domain, closed, 'tab_focus(3)')).toBe('Error: there is no tab 3');
    expect(after(domain, closed, "goto('http://example.org')")).toContain('which begin with "/"');
    expect(screenText(after(domain, closed, 'click({Elsewhere})') as ScreenState)).toContain('ERR_FAILED');
    expect(domain.rules!.admissible!(tab)).toEqual(
      expect.arrayContaining(['go_back()', 'tab_focus(0)', 'tab_close()']),
    );
  }, 120_000);

  it('waits for its server, is judged by its data, and is found again', () => {
    const domain = domainOf();
    const begun = initialStateOf(domain, domain.tasks[0]) as ScreenState;
    const [counted, , added] = walked(domain, begun, ['click({Later})', "fill({New}, 'eggs')", 'click({Add})']);
    expect(screenText(counted)).toContain("paragraph '2 notes'");
    expect(added).toMatchObject({ done: true, reward: 1 });
    // From the middle once more, which another server must be brought to.
    const [, again] = walked(domain, counted, ["fill({New}, 'eggs')", 'click({Add})']);
    expect(again).toEqual(added);
  }, 120_000);

  it('that does not start says what it wrote, and leaves nothing', () => {
    const browsers = readdirSync(tmpdir()).filter((name) => name.startsWith('reverie-browser-'));
    const domain = domainOf({
      command: [process.execPath, '-e', 'console.error("no such database"); process.exit(3)'],
    });
    expect(() => initialStateOf(domain, domain.tasks[0])).toThrow(/Notes ended as it started: no such database/);
    const here = readdirSync(tmpdir()).find((name) => /^reverie-browser-/.test(name) && !browsers.includes(name));
    expect(readdirSync(join(tmpdir(), here!)).filter((name) => name.startsWith('reverie-app-'))).toEqual([]);
  }, 120_000);
});

it('the keeper of an application takes its folder away when it is ended', async () => {
  const folder = temporaryFolder('kept');
  const keeper = fileURLToPath(
    compiledUrl(new URL('../../src/screens/screens-domain.ts', import.meta.url).href, './page/app-keeper.js'),
  );
  const app = 'console.log(process.pid); setInterval(() => {}, 1000)';
  const kept = spawn(process.execPath, [keeper, folder, process.execPath, '-e', app], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [pid] = await once(kept.stdout!, 'data');
  const ended = once(kept, 'exit');
  kept.kill('SIGTERM');
  await ended;
  expect(existsSync(folder)).toBe(false);
  expect(() => process.kill(Number(pid), 0)).toThrow();
});
