// Pages in jsdom: no layout and no pictures, and a page's scripts run in this very thread.

import type { CallSpec } from '../../env/tools/domain.js';
import { type InputWindow, JsdomInput } from './jsdom-input.js';
import { installStyles } from './jsdom-styles.js';
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
import type { PageElement, PageWindow } from './page-dom.js';

/** It brings no types of its own, and those that others wrote for it bring a browser's globals into all of ours. */
interface JsdomPackage {
  readonly JSDOM: {
    fromFile(file: string, options: object): Promise<Jsdom>;
  };
  readonly VirtualConsole: new () => object;
}

interface Jsdom {
  readonly window: JsdomWindow;
}

interface JsdomWindow extends PageWindow {
  addEventListener(type: string, listener: () => void): void;
  close(): void;
}

/** Optional, so that nothing resolves it before it is asked for. */
const PACKAGE = 'jsdom' as string;

/** How long the files of a page may take to load, in milliseconds. */
const LOAD_MS = 30_000;

/** @throws where there is no jsdom */
export async function openJsdom(): Promise<PageBrowser> {
  const { JSDOM, VirtualConsole } = (await import(PACKAGE)) as JsdomPackage;
  const open = async (spec: PageSpec): Promise<OpenPage> => {
    const dom = await JSDOM.fromFile(spec.file, {
      runScripts: 'dangerously',
      resources: 'usable',
      pretendToBeVisual: true,
      // What pages write, and what they throw, is theirs.
      virtualConsole: new VirtualConsole(),
      beforeParse: (window: JsdomWindow) => prepare(window, spec),
    });
    await loaded(dom, spec.file);
    installStyles(dom.window as never);
    const page = new JsdomPage(dom, spec);
    await page.begin();
    return page;
  };
  return { open, isAlive: async () => true, close: async () => {} };
}

function prepare(window: JsdomWindow, spec: PageSpec): void {
  window.eval(installScript(spec));
  window.eval(`(${installCanvas})(window)`);
}

/** A canvas that can be drawn on and shows nothing. Sent into the page as it is written. */
function installCanvas(page: { HTMLCanvasElement: { prototype: { getContext: unknown } } }): void {
  const nothing: object = new Proxy(() => nothing, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => 0 : nothing),
    set: () => true,
  });
  page.HTMLCanvasElement.prototype.getContext = () => nothing;
}

function loaded({ window }: Jsdom, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${file} did not load within ${LOAD_MS / 1000} s`)), LOAD_MS);
    window.addEventListener('load', () => {
      clearTimeout(late);
      // Its own handlers of the event come first.
      setImmediate(resolve);
    });
  });
}

class JsdomPage implements OpenPage {
  private readonly input: JsdomInput;

  constructor(
    private readonly dom: Jsdom,
    private readonly spec: PageSpec,
  ) {
    this.input = new JsdomInput(dom.window as unknown as InputWindow);
  }

  async begin(): Promise<void> {
    this.dom.window.eval(`(${this.spec.contract.begin})(${this.spec.seed})`);
    await this.pass(this.spec.settle);
  }

  async act({ name, arguments: given }: CallSpec): Promise<void> {
    const elements = ['bid', 'from_bid', 'to_bid'].flatMap((key) => (key in given ? [this.element(given[key])] : []));
    this.input.act(name, elements, given);
    await this.pass(name === 'noop' ? Number(given['wait_ms'] ?? 1000) : this.spec.settle);
  }

  async look(): Promise<PageMoment> {
    return momentOf(this.dom.window.eval(momentScript(this.spec.contract)));
  }

  async close(): Promise<void> {
    this.dom.window.close();
  }

  private element(id: unknown): PageElement {
    const element = this.dom.window.reverieView!.element(String(id));
    if (element === undefined) throw new ActionFailed(`element "${String(id)}" is no longer on the page`);
    return element;
  }

  private async pass(milliseconds: number): Promise<void> {
    await this.dom.window.reverieClock!.advance(milliseconds);
  }
}
