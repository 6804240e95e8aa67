// What every browser does with a page: opened here in the test's process, as in the thread that has it otherwise.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../src/screens/page/chromium-browser.js';
import { openJsdom } from '../../src/screens/page/jsdom-browser.js';
import {
  ActionFailed,
  type AppSpec,
  type OpenPage,
  type PageBrowser,
  type PageMoment,
  type PageSpec,
} from '../../src/screens/page/page-browser.js';
import { chromiumProgram } from '../../src/screens/screen-player.js';
import { CONTRACT, pageFile } from './fixture.js';

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const NOTES: AppSpec = {
  name: 'Notes',
  command: [process.execPath, fileOf('notes-server.mjs'), '{port}', '{data}'],
  files: { 'notes.json': JSON.stringify(['milk']) },
  path: '/',
  goal: 'Add the note "eggs".',
  judge: { module: fileOf('notes-judge.mjs'), task: 'eggs' },
};
const hasChromium = existsSync(chromiumProgram());

const named = ({ elements }: PageMoment, name: string, role?: string) =>
  Object.keys(elements).find((id) => elements[id].name === name && (role ?? elements[id].role) === elements[id].role);

/** Acts on the element of a name, and answers what is seen then. */
async function acted(page: OpenPage, name: string, on: string, given = {}, role?: string): Promise<PageMoment> {
  const bid = named(await page.look(), on, role);
  await page.act({ name, arguments: { bid: bid ?? `no ${on}`, ...given } });
  return page.look();
}

const writtenIn = (moment: PageMoment, name: string, role = 'textbox') =>
  moment.elements[named(moment, name, role)!].value ?? '';

const OPENERS: Readonly<Record<string, () => Promise<PageBrowser>>> = {
  jsdom: openJsdom,
  ...(hasChromium && { chromium: () => openChromium(chromiumProgram()) }),
};

describe.each(Object.keys(OPENERS))('a page in %s', (name) => {
  let browser: PageBrowser;
  const opened = (file: string, options: Partial<PageSpec> = {}) =>
    browser.open({ file: pageFile(file), seed: 1, contract: CONTRACT, settle: 500, ...options });
  beforeAll(async () => {
    browser = await OPENERS[name]();
  }, 60_000);
  afterAll(() => browser?.close());

  it('pays who does its task, and shows what its time brings', async () => {
    const page = await opened('order');
    const { goal } = await page.look();
    expect(named(await acted(page, 'click', 'More'), 'At 00:00:00')).toBeDefined();
    await acted(page, 'fill', 'Name', { value: "O'Neil" }, 'textbox');
    await acted(page, 'select_option', 'Cake', { options: /"(\w+)"/.exec(goal)![1] }, 'combobox');
    const ticked = await acted(page, 'click', 'cream', {}, 'checkbox');
    expect(ticked.elements[named(ticked, 'cream', 'checkbox')!].checked).toBe(true);
    expect(await acted(page, 'click', 'Send', {}, 'button')).toMatchObject({ goal, reward: 1, done: true });
    await page.close();
    expect(await browser.isAlive()).toBe(true);
  });

  it('takes keys, a mouse and the keyboard from field to field', async () => {
    const page = await opened('choices', { settle: 0 });
    await acted(page, 'focus', 'Note', {}, 'textbox');
    expect(writtenIn(await acted(page, 'clear', 'Note', {}, 'textbox'), 'Note')).toBe('');
    for (const key_comb of ['a', 'b', ' ', 'Backspace']) await acted(page, 'press', 'Note', { key_comb }, 'textbox');
    expect(writtenIn(await page.look(), 'Note')).toBe('ab');
    const tabbed = await acted(page, 'press', 'Note', { key_comb: 'Tab' }, 'textbox');
    expect(tabbed.focused).toBe(named(tabbed, 'More', 'textbox'));
    await acted(page, 'press', 'More', { key_comb: 'Enter' }, 'textbox');
    await acted(page, 'hover', 'small', {}, 'radio');
    await acted(page, 'dblclick', 'small', {}, 'radio');
    const chosen = await acted(page, 'press', 'large', { key_comb: ' ' }, 'radio');
    const checked = ['small', 'large'].map((one) => chosen.elements[named(chosen, one, 'radio')!].checked);
    expect(checked).toEqual([false, true]);
    await page.act({ name: 'noop', arguments: { wait_ms: 5 } });
    await page.close();
  });

  it('refuses what cannot be done', async () => {
    const page = await opened('choices', { settle: 0 });
    await expect(acted(page, 'click', 'what is not there')).rejects.toThrow(ActionFailed);
    await expect(acted(page, 'press', 'Note', { key_comb: 'Hyper' }, 'textbox')).rejects.toThrow(ActionFailed);
    const drag = { name: 'drag_and_drop', arguments: { from_bid: 'no', to_bid: 'no' } };
    await expect(page.act(drag)).rejects.toThrow(ActionFailed);
    await page.close();
  });
});

describe.skipIf(!hasChromium)('an application', () => {
  let browser: PageBrowser;
  beforeAll(async () => {
    browser = await openChromium(chromiumProgram());
  }, 60_000);
  afterAll(() => browser?.close());

  it('is used in tabs, drawn, and judged by its data', async () => {
    const page = await browser.open({
      ...{ file: '', app: NOTES, seed: 1, contract: CONTRACT, settle: 100 },
      screenshots: true,
    });
    const tabs = async () =>
      (await page.look()) as PageMoment & { readonly tabs: readonly unknown[]; readonly tab: number };
    expect((await tabs()).picture).toMatchObject({ width: 1280, height: 800 });
    await acted(page, 'click', 'First in a tab', {}, 'link');
    expect(await tabs()).toMatchObject({ tab: 1, tabs: { length: 2 } });
    await page.act({ name: 'tab_close', arguments: {} });
    await page.act({ name: 'goto', arguments: { url: '/note/0' } });
    expect(named(await page.look(), 'milk', 'heading')).toBeDefined();
    await page.act({ name: 'go_back', arguments: {} });
    await page.act({ name: 'scroll', arguments: { delta_x: 0, delta_y: 50 } });
    await acted(page, 'fill', 'New', { value: 'eggs' }, 'textbox');
    expect(await acted(page, 'click', 'Add', {}, 'button')).toMatchObject({ reward: 1, done: true });
    await page.close();
  }, 60_000);

  it('that ends as it starts says what it wrote', async () => {
    const app = { ...NOTES, command: [process.execPath, '-e', 'console.error("no such database"); process.exit(3)'] };
    const open = browser.open({ file: '', app, seed: 1, contract: CONTRACT, settle: 0 });
    await expect(open).rejects.toThrow(/Notes ended as it started: no such database/);
  });
});
