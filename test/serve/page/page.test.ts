import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';
import { builtPage, launchBrowser, noBrowser, PHONE, watchedPage } from './browser.js';
import { makeRuns } from './runs-fixture.js';
import { SessionClient, unlockAccount } from './session-client.js';
import { tokenOf } from './token-entry.js';

let server: RunningServer;
let pageFiles: string;
let browser: Browser;
let page: Page;
let complaints: readonly string[];

async function look(options?: Parameters<typeof watchedPage>[2], origin = server.url) {
  ({ page, complaints } = await watchedPage(browser, origin, options));
}

async function go(place: string) {
  await page.goto(`${server.url}/web/#/${place}`);
}

/** What has the focus: its name, and how that is shown. Run in the page. */
const FOCUSED = `({
  text: document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent,
  outline: getComputedStyle(document.activeElement).outlineStyle,
})`;

/** An inline script and a request to elsewhere; answers what was refused. Run in the page. */
const BREAK_IN = `new Promise((resolve) => {
  const refused = [];
  document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
    refused.push(effectiveDirective);
    if (refused.length === 2) resolve({ refused: refused.sort(), wasRun: 'wasRun' in window });
  });
  const inline = document.createElement('script');
  inline.textContent = 'window.wasRun = true';
  document.body.append(inline);
  fetch('https://example.org/').catch(() => {});
})`;

describe.skipIf(noBrowser !== undefined)(`the page${noBrowser === undefined ? '' : ` (${noBrowser})`}`, () => {
  beforeAll(async () => {
    pageFiles = await builtPage();
    const runs = await makeRuns();
    server = await serveScenarios(['helpdesk', 'pendulum'], { runs, pageFiles });
    browser = await launchBrowser();
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await server?.stop(0);
  });
  beforeEach(() => look());

  it('shows a session as a client opens it and acts in it', async () => {
    await go('');
    await page.getByText('No session yet').waitFor();
    const client = await SessionClient.open(server.url, 'helpdesk', { task: 'unlock-after-holiday', seed: 1 });
    const row = page.getByRole('region', { name: 'Sessions' }).locator('tbody tr', { hasText: client.id.slice(0, 8) });
    await row.getByText('running').waitFor();
    await unlockAccount(client);
    await row.getByText('done').waitFor();
    expect(await row.textContent()).toMatch(/helpdesk.*unlock-after-holiday61/s);
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: /helpdesk · session/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what was said, who answered, what changed and the verdict', async () => {
    const client = await SessionClient.open(server.url, 'helpdesk', { task: 'unlock-after-holiday', seed: 1 });
    await go(`session?id=${client.id}`);
    await page.getByText('locked out').waitFor();
    await unlockAccount(client);
    const step = page.locator('.turn', { hasText: 'restore_access' });
    await step.waitFor();
    expect(await step.locator('.call').textContent()).toMatch(/employee_idEMP-1042actionunlock/);
    expect(await step.locator('.answer').textContent()).toMatch(/rules.*answered restore_access/);
    const diff = await step.locator('.diff').textContent();
    expect(diff).toMatch(/status\s*\+\s*active/);
    await page.getByRole('region', { name: 'Verdict' }).getByText('policy_followed').waitFor();
    expect(await page.locator('.turn').count()).toBe(7);
    expect(complaints).toEqual([]);
  });

  it('opens reports, which can do nothing', async () => {
    await go('runs');
    await page.getByRole('link', { name: 'report', exact: true }).first().click();
    const report = page.frameLocator('iframe');
    await report.getByRole('heading', { level: 1 }).waitFor();
    expect(await report.locator('body').evaluate('self.origin')).toBe('null');
    expect(complaints).toEqual([]);
  });

  it('lets one play the service desk to the end', async () => {
    await go('play');
    await page.getByLabel('environment').selectOption('helpdesk');
    await page.getByLabel('task').selectOption('unlock-after-holiday');
    await page.getByRole('button', { name: 'Begin' }).click();
    const branch = page.getByRole('region', { name: 'Branch A' });
    const say = async (text: string) => {
      await branch.locator('.act > label > select').selectOption('say to the user');
      await branch.getByLabel('message').fill(text);
      await branch.getByRole('button', { name: 'Say it' }).click();
    };
    const call = async (tool: string, given: Record<string, string>) => {
      await branch.locator('.act > label > select').selectOption(tool);
      for (const [name, value] of Object.entries(given)) {
        const field = branch.locator(`form [name=${name}]`);
        if ((await field.locator('option').count()) > 0) await field.selectOption(value);
        else await field.fill(value);
      }
      await branch.getByRole('button', { name: `Call ${tool}` }).click();
    };
    const steps = (count: number) => branch.locator('.turn').nth(count).waitFor();
    await say('Please tell me your employee number and badge number.');
    await steps(1);
    await call('verify_identity', { employee_id: 'EMP-1042', badge_number: 'LK-41042' });
    await steps(2);
    await call('get_employee', { employee_id: 'EMP-1042' });
    await steps(3);
    await branch.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => branch.locator('.turn').count()).toBe(3);
    await call('get_employee', { employee_id: 'EMP-1042' });
    await steps(3);
    await call('restore_access', { employee_id: 'EMP-1042', action: 'unlock' });
    await steps(4);
    await call('update_ticket', { ticket_id: 'TCK-20831', status: 'closed', resolution: 'access_granted' });
    await steps(5);
    await say('Your account is unlocked and I have closed TCK-20831. Is there anything else I can do for you?');
    await branch.getByRole('region', { name: 'Verdict' }).waitFor();
    expect(await branch.locator('header').textContent()).toMatch(/steps\s*6\s*return\s*1\s*done/);
    expect(complaints).toEqual([]);
  });

  it('can be used with a keyboard alone', async () => {
    await go('');
    await page.getByRole('heading', { name: 'Environments' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('one step back').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Begin' }).waitFor();
    const reach = async (name: string) => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate<{ text: string; outline: string }>(FOCUSED);
        expect(at.outline, at.text).not.toBe('none');
        if (at.text === name) return;
      }
      throw new Error(`no Tab leads to ${name}`);
    };
    await reach('Begin');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Branch A' }).getByLabel('message').waitFor();
    await reach('Say it');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.type('Hello, who are you?');
    await page.keyboard.press('Enter');
    await page.getByText('Hello, who are you?').waitFor();
    await page.keyboard.press('g');
    expect(page.url()).toContain('#/play');
    expect(complaints).toEqual([]);
  });

  it('fits a phone on every page', async () => {
    const client = await SessionClient.open(server.url, 'helpdesk', { task: 'unlock-after-holiday', seed: 1 });
    await unlockAccount(client);
    const swinging = await SessionClient.open(server.url, 'pendulum', { seed: 1 });
    await swinging.act([1]);
    await look(PHONE);
    const places = ['', 'play', 'runs'];
    const episodes = [`session?id=${client.id}`, `session?id=${swinging.id}`];
    for (const place of [...places, ...episodes, 'report?path=desk/report.html']) {
      await go(place);
      await page.waitForLoadState('networkidle').catch(() => {});
      await page.locator('main > *').first().waitFor({ state: 'attached' });
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect(over, place).toBeLessThanOrEqual(0);
    }
    expect(complaints).toEqual([]);
  });

  it('lets in who gives a token as the password that the browser asks for', async () => {
    const guarded = await serveScenarios(['pendulum'], { pageFiles, tokens: [tokenOf('boss', true)] });
    await look({ httpCredentials: { username: 'any', password: 'boss' } }, guarded.url);
    await page.goto(`${guarded.url}/web/`);
    await page.getByRole('heading', { name: 'Environments' }).waitFor();
    await guarded.stop(0);
  });

  it('lets no script in but its own', async () => {
    await go('');
    const blocked = await page.evaluate(BREAK_IN);
    expect(blocked).toEqual({ refused: ['connect-src', 'script-src-elem'], wasRun: false });
  });
});
