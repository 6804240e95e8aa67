// Pages in headless Chromium, by playwright-core: real layout, and a real mouse and keyboard.

import type { CallSpec } from '../../tools/domain.js';
import {
  ActionFailed,
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

/** How long an element may take to be ready for an action, in milliseconds. */
const ACTION_MS = 2_000;
const LOAD_MS = 30_000;
const VIEWPORT = { width: 500, height: 320 };

/** As much of playwright-core as is used. */
interface Handle {
  click(options: object): Promise<void>;
  dblclick(options: object): Promise<void>;
  hover(options: object): Promise<void>;
  focus(): Promise<void>;
  fill(value: string, options: object): Promise<void>;
  press(key: string, options: object): Promise<void>;
  selectOption(options: readonly { readonly label: string }[], settings: object): Promise<unknown>;
  boundingBox(): Promise<{
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  } | null>;
  asElement(): Handle | null;
}

interface ChromiumPage {
  addInitScript(script: { readonly content: string }): Promise<unknown>;
  goto(url: string, options: object): Promise<unknown>;
  evaluate(script: string): Promise<unknown>;
  evaluateHandle(script: string): Promise<Handle>;
  readonly mouse: {
    move(x: number, y: number, options?: object): Promise<void>;
    down(): Promise<void>;
    up(): Promise<void>;
    wheel(x: number, y: number): Promise<void>;
  };
  close(): Promise<void>;
}

interface Playwright {
  readonly chromium: {
    launch(options: object): Promise<{
      newContext(options: object): Promise<{ newPage(): Promise<ChromiumPage> }>;
      close(): Promise<void>;
    }>;
  };
}

/** @param executable path of the program. @throws where there is no playwright-core, or no such program */
export async function openChromium(executable: string): Promise<PageBrowser> {
  const { chromium } = (await import(PACKAGE)) as Playwright;
  const browser = await chromium.launch({
    executablePath: executable,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--allow-file-access-from-files'],
  });
  const context = await browser.newContext({ viewport: VIEWPORT, locale: 'en-US', timezoneId: 'UTC' });
  const open = async (spec: PageSpec): Promise<OpenPage> => {
    const page = await context.newPage();
    await page.addInitScript({ content: installScript(spec) });
    await page.goto(new URL(`file://${spec.file}`).href, { waitUntil: 'load', timeout: LOAD_MS });
    const opened = new ChromiumTab(page, spec);
    await opened.begin();
    return opened;
  };
  return { open, close: () => browser.close() };
}

class ChromiumTab implements OpenPage {
  constructor(
    private readonly page: ChromiumPage,
    private readonly spec: PageSpec,
  ) {}

  async begin(): Promise<void> {
    await this.page.evaluate(`(${this.spec.contract.begin})(${this.spec.seed})`);
    await this.pass(this.spec.settle);
  }

  async act({ name, arguments: given }: CallSpec): Promise<void> {
    try {
      await this.carryOut(name, given);
    } catch (error) {
      throw new ActionFailed((error as Error).message.split('\n')[0]);
    }
    await this.pass(name === 'noop' ? Number(given['wait_ms'] ?? 1000) : this.spec.settle);
  }

  async look(): Promise<PageMoment> {
    return momentOf(await this.page.evaluate(momentScript(this.spec.contract)));
  }

  async close(): Promise<void> {
    await this.page.close();
  }

  private async carryOut(name: string, given: CallSpec['arguments']): Promise<void> {
    const wait = { timeout: ACTION_MS };
    const target = 'bid' in given ? await this.element(given['bid']) : undefined;
    switch (name) {
      case 'noop':
        return;
      case 'click':
        return target!.click(wait);
      case 'dblclick':
        return target!.dblclick(wait);
      case 'hover':
        return target!.hover(wait);
      case 'focus':
        return target!.focus();
      case 'fill':
        return target!.fill(String(given['value']), wait);
      case 'clear':
        return target!.fill('', wait);
      case 'press':
        return target!.press(String(given['key_comb']), wait);
      case 'select_option':
        await target!.selectOption(
          [given['options']].flat().map((label) => ({ label: String(label) })),
          wait,
        );
        return;
      case 'drag_and_drop':
        return this.drag(await this.element(given['from_bid']), await this.element(given['to_bid']));
      case 'scroll':
        return this.page.mouse.wheel(Number(given['delta_x']), Number(given['delta_y']));
      default:
        throw new Error(`no such action as ${name}`);
    }
  }

  private async element(id: unknown): Promise<Handle> {
    const found = await this.page.evaluateHandle(`window.reverieView.element(${JSON.stringify(String(id))})`);
    const element = found.asElement();
    if (element === null) throw new Error(`element "${String(id)}" is no longer on the page`);
    return element;
  }

  private async drag(from: Handle, to: Handle): Promise<void> {
    const [start, end] = [await centreOf(from), await centreOf(to)];
    await this.page.mouse.move(...start);
    await this.page.mouse.down();
    await this.page.mouse.move(...end, { steps: 5 });
    await this.page.mouse.up();
  }

  private async pass(milliseconds: number): Promise<void> {
    await this.page.evaluate(`window.reverieClock.advance(${milliseconds})`);
  }
}

async function centreOf(element: Handle): Promise<[number, number]> {
  const box = await element.boundingBox();
  if (box === null) throw new Error('the element has no place on the screen');
  return [box.x + box.width / 2, box.y + box.height / 2];
}
