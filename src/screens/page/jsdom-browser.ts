// Pages in jsdom: no layout and no pictures, and a page's scripts run in this very thread.

import type { CallSpec } from '../../env/tools/domain.js';
import { type InputWindow, JsdomInput } from './jsdom-input.js';
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
import type { PageElement, PageWindow } from './page-view.js';

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

// Which elements are shown. jsdom's own cascade weighs every rule of every sheet for each element, which takes longer than the page's
// scripts; whether something is shown hangs on the few rules that speak of `display` and `visibility`.

const PROPERTIES = ['display', 'visibility'] as const;
type Property = (typeof PROPERTIES)[number];

interface Declarations {
  getPropertyValue(name: string): string;
  getPropertyPriority(name: string): string;
}

interface SheetRule {
  readonly selectorText?: string;
  readonly style?: Declarations;
}

interface StyledWindow extends PageWindow {
  readonly document: PageWindow['document'] & {
    readonly styleSheets: ArrayLike<{ readonly cssRules: ArrayLike<SheetRule> }>;
  };
}

interface Rule {
  readonly selector: string;
  /** Ids, classes and the like, types; then its place. */
  readonly weight: readonly number[];
  readonly style: Declarations;
}

/** Installs `window.reverieStyles`: both properties as the cascade has them (CSS Cascading Level 4, section 6), without inheritance. */
function installStyles(window: StyledWindow): void {
  let known = { size: -1, rules: [] as readonly Rule[] };
  const rules = () => {
    const sheets = Array.from(window.document.styleSheets);
    const size = sheets.reduce((sum, { cssRules }) => sum + 1 + cssRules.length, 0);
    if (size !== known.size) known = { size, rules: rulesOf(sheets.flatMap(({ cssRules }) => Array.from(cssRules))) };
    return known.rules;
  };
  const reverieStyles = (element: PageElement) => {
    const matching = rules().filter(({ selector }) => matches(element, selector));
    return { display: declared(element, 'display', matching), visibility: declared(element, 'visibility', matching) };
  };
  Object.defineProperty(window, 'reverieStyles', { value: reverieStyles, enumerable: false });
}

/** Those that say something of either property, the strongest last. */
function rulesOf(rules: readonly SheetRule[]): Rule[] {
  const found = rules.flatMap(({ selectorText, style }, place): Rule[] => {
    if (selectorText === undefined || style === undefined) return [];
    if (PROPERTIES.every((property) => style.getPropertyValue(property) === '')) return [];
    return selectorsOf(selectorText).map((selector) => ({
      selector,
      style,
      weight: [...specificity(selector), place],
    }));
  });
  return found.sort((a, b) => compare(a.weight, b.weight));
}

function declared(element: PageElement, property: Property, rules: readonly Rule[]): string {
  const inline = (element as PageElement & { readonly style?: Declarations }).style;
  const styles = [...rules.map(({ style }) => style), ...(inline === undefined ? [] : [inline])];
  const said = styles.filter((style) => style.getPropertyValue(property) !== '');
  const important = said.filter((style) => style.getPropertyPriority(property) === 'important');
  const value = (important.at(-1) ?? said.at(-1))?.getPropertyValue(property);
  return value ?? (property === 'display' && element.hasAttribute('hidden') ? 'none' : '');
}

function matches(element: PageElement, selector: string): boolean {
  try {
    return element.matches(selector);
  } catch {
    // What jsdom cannot read, it cannot apply.
    return false;
  }
}

/** At the commas that stand in no brackets. */
function selectorsOf(list: string): string[] {
  return (list.match(/(?:[^,([]|\([^)]*\)|\[[^\]]*\])+/g) ?? []).map((selector) => selector.trim());
}

/** Selectors Level 4, section 17. */
function specificity(selector: string): number[] {
  const bare = selector.replace(/\[[^\]]*\]/g, '.attribute').replace(/::[\w-]+/g, ' element');
  const count = (pattern: RegExp) => bare.match(pattern)?.length ?? 0;
  return [count(/#[\w-]+/g), count(/[.:](?!not\b|is\b)[\w-]+/g), count(/(^|[\s>+~(])[a-zA-Z][\w-]*/g)];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
}
