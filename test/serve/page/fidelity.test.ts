import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFidelityReport } from '../../../src/fidelity/report/report-file.js';
import { ARM_COLOURS, armProperties } from '../../../src/run/report/arm-colours.js';
import { fidelityPage } from '../../../src/run/report/fidelity/fidelity-page.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { inventedReport, inventedSingle } from '../../fidelity/report/invented-report.js';
import { ask, serveScenarios } from '../running-server.js';
import { builtPage, launchBrowser, noBrowser, PHONE, watchedPage } from './browser.js';

let root: string;
let server: RunningServer;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'reverie-page-fidelity-'));
  for (const [name, report] of [
    ['judged', inventedReport],
    ['alone', inventedSingle],
  ] as const) {
    mkdirSync(join(root, name));
    await writeFidelityReport(join(root, name, 'fidelity.json'), report);
    writeFileSync(join(root, name, 'fidelity.html'), await fidelityPage(report));
  }
  const pageFiles = noBrowser === undefined ? await builtPage('web-fidelity') : undefined;
  server = await serveScenarios(['pendulum'], { runs: root, ...(pageFiles && { pageFiles }) });
}, 120_000);
afterAll(() => server.stop(0));

const ARM_COUNT = /export const COLOURS = (?<COLOURS>\d+);/;
const get = (path: string) => ask(`${server.url}/web/api/${path}`);

it('draws what it compares in the colours of reports', () => {
  const css = readFileSync(new URL('../../../web/src/style/base.css', import.meta.url), 'utf8');
  for (const scheme of ['light', 'dark'] as const) expect(css).toContain(armProperties(scheme));
  const { COLOURS } = ARM_COUNT.exec(
    readFileSync(new URL('../../../web/src/parts/line-chart.tsx', import.meta.url), 'utf8'),
  )!.groups!;
  expect(Number(COLOURS)).toBe(ARM_COLOURS.light.length);
});

describe('reports of fidelity', () => {
  it('are listed once, by their scenario', async () => {
    const { body } = await get('reports');
    expect(body).toHaveLength(2);
    expect(body).toContainEqual(
      expect.objectContaining({
        path: 'judged/fidelity.json',
        run: 'judged',
        kind: 'fidelity',
        title: 'Fidelity: helpdesk',
      }),
    );
  });

  it('are told without the samples that nobody reads', async () => {
    const { status, body } = await get('fidelity?path=judged/fidelity.json');
    expect(status).toBe(200);
    const subjects = inventedReport.subjects.map(({ samples: _, ...subject }) => subject);
    expect(body).toEqual({ ...inventedReport, subjects });
    expect((await fetch(`${server.url}/web/api/report?path=judged/fidelity.html`)).status).toBe(200);
  }, 20_000);

  it('are nothing else, nothing outside and nothing that was edited', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'reverie-page-outside-'));
    await writeFidelityReport(join(outside, 'fidelity.json'), inventedSingle);
    symlinkSync(outside, join(root, 'linked'));
    writeFileSync(join(root, 'judged', 'other.json'), '{}');
    mkdirSync(join(root, 'edited'));
    writeFileSync(join(root, 'edited', 'fidelity.json'), '{"scenario": "x"}');
    const codeOf = async (path: string) => (await get(`fidelity?path=${path}`)).body.error.code;
    expect(await codeOf('linked/fidelity.json')).toBe('RUN_PATH_REFUSED');
    expect(await codeOf('../x/fidelity.json')).toBe('RUN_PATH_REFUSED');
    expect(await codeOf('judged/other.json')).toBe('RUN_NOT_FOUND');
    expect(await codeOf('edited/fidelity.json')).toBe('FILE_INVALID');
  });
});

describe.skipIf(noBrowser !== undefined)(`their view (${noBrowser ?? 'in Chromium'})`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  it('shows what the report says, from the list', async () => {
    const { page, complaints } = await watchedPage(browser, server.url);
    await page.goto(`${server.url}/web/#/reports`);
    await page.locator('tr', { hasText: 'judged' }).getByRole('link', { name: 'Fidelity: helpdesk' }).click();
    await page.getByRole('heading', { name: 'How far the dream of helpdesk is from the real' }).waitFor();
    expect(await page.locator('.trust b').allTextContents()).toEqual(['3 steps', '0 steps', '50 steps']);
    expect(await page.getByRole('list', { name: 'Gates' }).textContent()).toMatch(/✗ failed.*one-step.state-exact/);
    const manySteps = page.getByRole('region', { name: 'Many steps' });
    expect(await manySteps.locator('svg[role=img]').count()).toBe(4);
    expect(await manySteps.locator('svg[role=img]').first().locator('path.line').count()).toBe(3);
    const worst = page.getByRole('region', { name: 'One step' }).locator('details').first();
    await worst.locator('summary').click();
    expect(await worst.locator('.diff li').first().textContent()).toBe(
      '/accounts/EMP-1042/statusreal"active"dreamt"locked"',
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 30_000);

  it('has a list of contents that leads to each section, also by its address', async () => {
    const { page, complaints } = await watchedPage(browser, server.url, PHONE);
    const top = () =>
      page.evaluate<number>("document.getElementById('section-horizon').getBoundingClientRect().top / innerHeight");
    await page.goto(`${server.url}/web/#/fidelity?path=judged/fidelity.json`);
    const contents = page.getByRole('list', { name: 'Contents' }).getByRole('link');
    await contents.first().waitFor();
    expect(await contents.allTextContents()).toEqual(
      await page.locator('section[id^=section-] > h2').allTextContents(),
    );
    expect(await top()).toBeGreaterThan(1);
    await contents.getByText('Trust horizon').click();
    await expect.poll(top, { timeout: 10_000 }).toBeLessThan(1);
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.locator('#section-horizon').waitFor();
    await expect.poll(top, { timeout: 10_000 }).toBeLessThan(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 30_000);

  it('fits a phone, with one model or several', async () => {
    const { page, complaints } = await watchedPage(browser, server.url, PHONE);
    for (const run of ['judged', 'alone']) {
      await page.goto(`${server.url}/web/#/fidelity?path=${run}/fidelity.json`);
      await page.getByRole('region', { name: 'Trust horizon' }).waitFor();
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect(over, run).toBeLessThanOrEqual(0);
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 30_000);
});
