// Our pages: run as a screen, forked, and pages that never end. Behaviour of each browser:
// page-browser.test.ts.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { checkEnvironment } from '../../src/env/check-environment.js';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { viewOf } from '../../src/kinds/registry.js';
import { screenEnvironment } from '../../src/screens/screen-environment.js';
import { chromiumProgram } from '../../src/screens/screen-player.js';
import type { ScreensDomainOptions } from '../../src/screens/screens-domain.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { pagesDomain } from './fixture.js';

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

let shared: ToolsDomain | undefined;
afterAll(() => shared?.close());
/** One for all tests that ask for nothing else: a browser takes seconds to start. */
function order(): ToolsDomain {
  shared ??= pagesDomain('order');
  return shared;
}

function domainOf(name: string, options: Partial<ScreensDomainOptions> = {}): ToolsDomain {
  const domain = pagesDomain(name, options);
  open.push(domain);
  return domain;
}

function screenOf(domain: ToolsDomain) {
  return screenEnvironment(rulesEnvironment(domain));
}

/** The id of the element whose line in the tree has these words. */
function idOf(tree: string, words: string): string {
  const line = tree.split('\n').find((one) => one.includes(words));
  return /\[(\w+)\]/.exec(line ?? '')?.[1] ?? `nothing like ${words}`;
}

it('a page is used line by line', async () => {
  const env = screenOf(order());
  const { observation: first } = await env.reset({ task: 'order.1', seed: 1 });
  const [, cake] = /Order "(\w+)" for "O'Neil" with cream\./.exec(first) ?? [];
  expect(first).toContain("RootWebArea 'Order'\n\t[");
  expect(first).toContain("] link 'More'");
  expect(first).not.toMatch(/not for agents|nowhere|nothing yet/);

  const act = async (line: string) => env.step(line);
  await act(`fill('${idOf(first, "textbox 'Name'")}', "O'Neil")`);
  const { observation: chosen } = await act(`select_option('${idOf(first, 'combobox')}', '${cake}')`);
  expect(chosen).toMatch(new RegExp(`combobox 'Cake', value='${cake}'`));
  // By the label, which ticks the box and gives it the keyboard.
  const lines = first.split('\n');
  const label = lines[lines.findIndex((line) => line.includes("checkbox 'cream'")) - 1];
  const { observation: ticked } = await act(`click('${idOf(label, 'LabelText')}')`);
  expect(ticked).toContain("checkbox 'cream', focused, checked='true'");
  const end = await act(`click('${idOf(first, "button 'Send'")}')`);
  expect(end).toMatchObject({ reward: 1, terminated: true, truncated: false });
}, 60_000);

describe('a page of scripts', () => {
  it.each([
    ['some of it', 0],
    ['all of it', 1],
  ])(
    'is a success where the reward is whole: %s',
    async (button, verdict) => {
      const env = screenOf(domainOf('partial'));
      const { observation } = await env.reset({ task: 'partial.1', seed: 1 });
      const end = await env.step(`click('${idOf(observation, `button '${button}'`)}')`);
      expect(end).toMatchObject({ terminated: true, info: { verdict: { reward: verdict } } });
    },
    60_000,
  );

  it('shows what a script chose', async () => {
    const env = screenOf(domainOf('scripted-choice'));
    const { observation: first } = await env.reset({ task: 'scripted-choice.1', seed: 1 });
    expect(first).toMatch(/combobox .*value='red'/);
    const { observation: chosen } = await env.step(`click('${idOf(first, 'button')}')`);
    expect(chosen).toMatch(/combobox .*value='blue'/);
  }, 60_000);
});

describe('a screen as an environment', () => {
  it('keeps every promise of the contract', async () => {
    const domain = order();
    const make = () => rulesEnvironment(domain);
    const report = await checkEnvironment(viewOf(domain, make) as never, { seed: 3 });
    expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
  }, 60_000);

  it('refuses what the screen does not have, at the price of a step', async () => {
    const env = screenOf(order());
    const { observation: first } = await env.reset({ task: 'order.1', seed: 1 });
    const shown = first.slice(first.indexOf('RootWebArea'));
    const { observation, reward, terminated } = await env.step("click('999')");
    expect([observation, reward, terminated]).toEqual([
      `Error: there is no element "999" on the screen\n\n${shown}`,
      0,
      false,
    ]);
    const saved = JSON.parse(JSON.stringify(await env.snapshot()));
    const { observation: unread } = await env.step("click('9'");
    expect(unread.split('\n')[0]).toMatch(/^Error: an action is written like click\('12'\)/);
    expect(await env.restore(saved)).toBe(observation);
    expect((await env.step(`click('${idOf(first, "button 'Cancel'")}')`)).observation).toContain('is disabled');
  }, 60_000);

  it('goes on from a fork in another browser, which does again what was done', async () => {
    const [one, other] = [order(), domainOf('order')];
    expect(one.tasks.map(({ user }) => user.goal)).toEqual(other.tasks.map(({ user }) => user.goal));
    const env = screenOf(one);
    const { observation: first } = await env.reset({ task: 'order.3', seed: 1 });
    await env.step(`fill('${idOf(first, "textbox 'Name'")}', 'Ada')`);
    const saved = env.snapshot();
    const fork = screenOf(other);
    fork.restore(await saved);
    const line = `click('${idOf(first, 'checkbox')}')`;
    const [a, b] = [await env.step(line), await fork.step(line)];
    expect(b).toEqual(a);
    expect(a.observation).toContain("textbox 'Name', value='Ada'");
  }, 60_000);
});

/** Processes of Chromium that a process started itself. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, called, rest] = /^\d+ \((.*)\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      return Number(rest) === parent && /chrom/.test(called) ? [Number(name)] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

describe('a page that fails', () => {
  const stateOf = ({ initialState, tasks }: ToolsDomain) =>
    applyOperations(initialState, tasks[0].initialOperations ?? []) as ScreenState;
  const press = (domain: ToolsDomain, name: string) => {
    const state = stateOf(domain);
    const [bid] = Object.entries(state.elements).find(([, element]) => element.name === name)!;
    return domain.rules!.execute(state, { id: '', name: 'click', arguments: { bid } });
  };

  it('that never ends its work costs its episode, and the browser goes on for others', () => {
    const domain = domainOf('endless', { timeoutSeconds: 3 });
    expect(() => press(domain, 'Loop')).toThrowError(
      expect.objectContaining({ code: 'BROWSER_DIED', message: expect.stringContaining('did not answer within 3 s') }),
    );
    expect(press(domain, 'Throw')).toMatchObject({ isError: false, terminated: false });
  }, 60_000);

  it.skipIf(!existsSync(chromiumProgram()))(
    'as Chromium was killed is opened in another, and nothing is refused',
    () => {
      const domain = domainOf('order', { browser: 'chromium' });
      const state = stateOf(domain);
      for (const pid of childrenOf(process.pid)) process.kill(pid, 'SIGKILL');
      const [bid] = Object.entries(state.elements).find(([, element]) => element.name === 'cream')!;
      const { isError, observation } = domain.rules!.execute(state, { id: '', name: 'click', arguments: { bid } });
      expect(isError).toBe(false);
      expect(observation).toContain("checkbox 'cream', focused, checked='true'");
    },
    60_000,
  );

  it('that is not there is told by its name', () => {
    const pages = [{ id: 'gone.1', file: '/nowhere/gone.html', seed: 1 }];
    const domain = domainOf('gone', { pages });
    expect(() => domain.tasks[0].user.goal).toThrowError(
      expect.objectContaining({ code: 'PAGE_FAILED', message: expect.stringContaining('gone.1') }),
    );
  }, 60_000);
});
