// As much of a page's objects as our scripts within pages touch. They run in jsdom and in Chromium alike, where more is there.

export interface PageNode {
  readonly nodeType: number;
  readonly textContent: string | null;
  readonly childNodes: ArrayLike<PageNode>;
}

export interface PageElement extends PageNode {
  readonly tagName: string;
  readonly parentElement: PageElement | null;
  readonly type?: string;
  readonly value?: string;
  readonly checked?: boolean;
  readonly selected?: boolean;
  readonly disabled?: boolean;
  readonly readOnly?: boolean;
  readonly multiple?: boolean;
  readonly size?: number;
  readonly options?: ArrayLike<PageElement>;
  readonly labels?: ArrayLike<PageElement> | null;
  readonly isConnected: boolean;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  matches(selector: string): boolean;
  closest(selector: string): PageElement | null;
  getBoundingClientRect(): { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

interface PageDocument {
  readonly title: string;
  readonly body: PageElement;
  readonly activeElement: PageElement | null;
  getElementById(id: string): PageElement | null;
}

/** A page's `window`. */
export interface PageWindow {
  readonly document: PageDocument;
  getComputedStyle(element: PageElement): { readonly display: string; readonly visibility: string };
  setTimeout: unknown;
  clearTimeout: unknown;
  setInterval: unknown;
  clearInterval: unknown;
  requestAnimationFrame: unknown;
  cancelAnimationFrame: unknown;
  Date: unknown;
  readonly performance: object;
  readonly Math: { random: () => number };
  eval(source: string): unknown;
  reverieClock?: { advance(milliseconds: number): Promise<void> };
  reverieView?: { element(id: string): PageElement | undefined };
  /** Where asking for computed styles takes too long. */
  reverieStyles?: PageWindow['getComputedStyle'];
}
