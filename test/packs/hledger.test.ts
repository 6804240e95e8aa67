// hledger-web in Chromium. Skipped where either is not there: apt-get install hledger-web, or HLEDGER_WEB.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import {
  applyOperations,
  initialStateOf,
  makeDomain,
  parseAction,
  SCREEN_ACTIONS,
  type ScreenState,
  type ToolsDomain,
  type ToolsTask,
} from '../../src/env/index.js';
import { chromiumProgram } from '../../src/env/screens/page-machine.js';

function isInstalled(): boolean {
  try {
    execFileSync(process.env.HLEDGER_WEB ?? 'hledger-web', ['--version'], { stdio: 'ignore' });
    return existsSync(chromiumProgram());
  } catch {
    return false;
  }
}

const able = isInstalled();
if (!able) console.warn('Tests of hledger-web are skipped: it, or Chromium, is not installed');

const open: ToolsDomain[] = [];
afterAll(() => {
  for (const domain of open) domain.close();
});

async function domainOf(screens: readonly string[]): Promise<ToolsDomain> {
  const domain = await makeDomain({ id: 'hledger', seeds: 1, screens }, { folder: '.' });
  open.push(domain);
  return domain;
}

/** The state after lines, as far as they can be carried out. */
function after(domain: ToolsDomain, task: ToolsTask, lines: readonly string[]): ScreenState {
  let state = initialStateOf(domain, task) as ScreenState;
  for (const line of lines) {
    const call = { id: '', ...(parseAction(line, SCREEN_ACTIONS) as { name: string; arguments: object }) };
    state = applyOperations(state, domain.rules!.execute(state, call as never).operations) as ScreenState;
  }
  return state;
}

it('tells how hledger-web is installed where it is not', async () => {
  const made = makeDomain({ id: 'hledger', app: 'nowhere' }, { folder: '.' });
  await expect(made).rejects.toMatchObject({ code: 'APP_NOT_FOUND', hint: expect.stringContaining('apt-get install') });
});

describe.skipIf(!able)('hledger-web', () => {
  it('pays each task to its solution, and to nobody who does nothing or hits the elements beside', async () => {
    const domain = await domainOf(['add-purchase', 'delete-entry']);
    for (const task of domain.tasks.filter(({ split }) => split === 'train')) {
      // Opens its page: undefined where the solution did not win.
      const { calls } = task.reference!;
      expect(calls.length).toBeGreaterThan(3);
      const lines = calls.map(({ name, arguments: given }) => {
        const beside = String(Number(given['bid']) + 1);
        return name === 'fill' ? `fill('${beside}', 'beside')` : `${name}('${beside}')`;
      });
      expect(after(domain, task, lines)).toMatchObject({ done: false, reward: 0 });
      expect(after(domain, task, ['noop()', 'noop()'])).toMatchObject({ done: false, reward: 0 });
    }
  }, 300_000);

  it('shows nothing of where its data lies, so that its screens are found again', async () => {
    const domain = await domainOf(['add-purchase']);
    const [state, again] = [0, 1].map(() => after(domain, domain.tasks[0], ["goto('/manage')"]));
    expect(again).toEqual(state);
    const cells = Object.values(state.elements).map(({ name }) => name);
    expect(cells).toContain('{data}/household.journal');
    const edited = after(domain, domain.tasks[0], ["goto('/edit/{data}%2Fhousehold.journal')"]);
    expect(Object.values(edited.elements).some(({ multiline }) => multiline === true)).toBe(true);
  }, 300_000);
});
