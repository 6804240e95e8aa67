// Pages in headless Chromium, by playwright-core: real layout, and a real mouse and keyboard.

import type { BrowserContext, Page } from 'playwright-core';
import type { CallSpec } from '../../env/tools/domain.js';
import { AppPage, AppServer } from './app-page.js';
import { actionFault, carryOut, pictureOf } from './chromium-input.js';
import {
  installScript,
  momentOf,
  momentScript,
  type OpenPage,
  type PageBrowser,
  type PageMoment,
  type PageSpec,
} from './page-browser.js';

/** Optional, so that nothing resolves it before it is asked for. */
const PACKAGE = 'playwright-core' as string;

const LOAD_MS = 30_000;
const VIEWPORT = { width: 500, height: 320 };
/** Of applications. */
const WINDOW = { width: 1280, height: 800 };

/** @param executable path of the program. @throws where there is no playwright-core, or no such program */
export async function openChromium(executable: string): Promise<PageBrowser> {
  const { chromium } = (await import(PACKAGE)) as typeof import('playwright-core');
  const browser = await chromium.launch({
    executablePath: executable,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--allow-file-access-from-files'],
  });
  const contextOf = (viewport: typeof VIEWPORT) => browser.newContext({ viewport, locale: 'en-US', timezoneId: 'UTC' });
  const context = await contextOf(VIEWPORT);
  const open = async (spec: PageSpec): Promise<OpenPage> => {
    if (spec.app !== undefined) return openApp(spec, await contextOf(WINDOW));
    const page = await context.newPage();
    await page.addInitScript({ content: installScript(spec) });
    await page.goto(new URL(`file://${spec.file}`).href, { waitUntil: 'load', timeout: LOAD_MS });
    const opened = new ChromiumTab(page, spec);
    await opened.begin();
    return opened;
  };
  // It learns of its process's end a little later than its pages are.
  const isAlive = () =>
    contextOf(VIEWPORT).then(
      (probe) => probe.close().then(() => true),
      () => false,
    );
  return { open, isAlive, close: () => browser.close() };
}

/** Both the server and its pages, or neither. */
async function openApp(spec: PageSpec, context: BrowserContext): Promise<OpenPage> {
  let server: AppServer | undefined;
  try {
    server = await AppServer.start(spec.app!);
    return await AppPage.open(spec, server, context);
  } catch (error) {
    await context.close();
    await server?.stop();
    throw error;
  }
}

class ChromiumTab implements OpenPage {
  constructor(
    private readonly page: Page,
    private readonly spec: PageSpec,
  ) {}

  async begin(): Promise<void> {
    await this.page.evaluate(`(${this.spec.contract.begin})(${this.spec.seed})`);
    await this.pass(this.spec.settle);
  }

  async act({ name, arguments: given }: CallSpec): Promise<void> {
    try {
      await carryOut(this.page, { name, arguments: given });
    } catch (error) {
      throw actionFault(error);
    }
    await this.pass(name === 'noop' ? Number(given['wait_ms'] ?? 1000) : this.spec.settle);
  }

  async look(): Promise<PageMoment> {
    const moment = momentOf(await this.page.evaluate(momentScript(this.spec.contract)));
    if (this.spec.screenshots === undefined) return moment;
    return { ...moment, picture: await pictureOf(this.page, this.spec.contract, moment) };
  }

  async close(): Promise<void> {
    await this.page.close();
  }

  private async pass(milliseconds: number): Promise<void> {
    await this.page.evaluate(`window.reverieClock.advance(${milliseconds})`);
  }
}
