// What is seen of a page: its elements with roles, names and states, by ids that last as long as the elements do. Roles and names
// follow the HTML Accessibility API Mappings and the Accessible Name Computation of the W3C, as far as pages without layout allow.

import type { ScreenElement } from '../../env/screens/screen-state.js';

// As much of a page's objects as our scripts within pages touch. They run in jsdom and in Chromium alike, where more is there.

interface PageNode {
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

/** How a page is seen. The text of this class is sent into the page, and so stands alone. */
export class PageView {
  private static readonly ROLES: Readonly<Record<string, string>> = {
    BUTTON: 'button',
    FORM: 'form',
    H1: 'heading',
    H2: 'heading',
    H3: 'heading',
    H4: 'heading',
    H5: 'heading',
    H6: 'heading',
    IMG: 'image',
    LABEL: 'LabelText',
    LI: 'listitem',
    NAV: 'navigation',
    OL: 'list',
    OPTGROUP: 'group',
    OPTION: 'option',
    P: 'paragraph',
    PROGRESS: 'progressbar',
    TABLE: 'table',
    TD: 'cell',
    TEXTAREA: 'textbox',
    TH: 'columnheader',
    TR: 'row',
    UL: 'list',
  };
  private static readonly INPUT_ROLES: Readonly<Record<string, string>> = {
    button: 'button',
    checkbox: 'checkbox',
    color: 'ColorWell',
    date: 'Date',
    image: 'button',
    number: 'spinbutton',
    radio: 'radio',
    range: 'slider',
    reset: 'button',
    search: 'searchbox',
    submit: 'button',
    time: 'InputTime',
  };
  private static readonly SHAPES = /^(circle|ellipse|line|path|polygon|polyline|rect)$/;
  private static readonly SILENT =
    /^(BR|CANVAS|COL|COLGROUP|HEAD|HR|LINK|META|NOSCRIPT|SCRIPT|STYLE|TEMPLATE|WBR|defs)$/;
  private static readonly FROM_CONTENT = new Set(
    ['button', 'cell', 'columnheader', 'heading', 'link', 'menuitem', 'option', 'radio', 'tab', 'treeitem'].concat(
      'switch',
      'checkbox',
      'gridcell',
    ),
  );
  private static readonly IS_TEXT = 3;
  private static readonly IS_ELEMENT = 1;
  private readonly ids = new WeakMap<PageNode, string>();
  private readonly elements = new Map<string, PageElement>();
  private count = 0;

  /** @param hidden selectors of elements that are no part of the screen */
  constructor(
    private readonly page: PageWindow,
    private readonly hidden: readonly string[],
  ) {}

  private idOf(node: PageNode): string {
    let id = this.ids.get(node);
    if (id === undefined) {
      id = String(++this.count);
      this.ids.set(node, id);
      if (node.nodeType === PageView.IS_ELEMENT) this.elements.set(id, node as PageElement);
    }
    return id;
  }

  private words(text: string | null | undefined): string {
    return (text ?? '').replace(/\s+/g, ' ').trim();
  }

  private isShown(element: PageElement): boolean {
    if (PageView.SILENT.test(element.tagName) || (element.tagName === 'INPUT' && element.type === 'hidden'))
      return false;
    if (this.hidden.some((selector) => element.matches(selector))) return false;
    const { display, visibility } = this.page.reverieStyles?.(element) ?? this.page.getComputedStyle(element);
    return display !== 'none' && visibility !== 'hidden' && visibility !== 'collapse';
  }

  private roleOf(element: PageElement): string {
    const given = this.words(element.getAttribute('role')).split(' ')[0];
    if (given !== '' && given !== 'presentation' && given !== 'none') return given;
    const { tagName } = element;
    if (tagName === 'A') return element.hasAttribute('href') ? 'link' : 'generic';
    if (tagName === 'INPUT') return PageView.INPUT_ROLES[element.type ?? ''] ?? 'textbox';
    if (tagName === 'SELECT') return element.multiple || (element.size ?? 0) > 1 ? 'listbox' : 'combobox';
    if (tagName.toLowerCase() === 'svg') return 'SvgRoot';
    return PageView.SHAPES.test(tagName) ? 'graphics-symbol' : (PageView.ROLES[tagName] ?? 'generic');
  }

  private isPlain(element: PageElement): boolean {
    return Array.from(element.childNodes).every(({ nodeType }) => nodeType !== PageView.IS_ELEMENT);
  }

  private labelsOf(element: PageElement): string {
    const by = this.words(element.getAttribute('aria-labelledby')).split(' ');
    const labelled = by.map((id) => this.words(id && this.page.document.getElementById(id)?.textContent)).join(' ');
    const labels = Array.from(element.labels ?? []).map((label) => this.words(label.textContent));
    return this.words(labelled) || this.words(element.getAttribute('aria-label')) || this.words(labels.join(' '));
  }

  private nameOf(element: PageElement, role: string): string {
    const { tagName } = element;
    if (tagName === 'INPUT' && /^(button|submit|reset)$/.test(element.type ?? '')) {
      return (
        this.words(element.value) || (element.type === 'submit' ? 'Submit' : element.type === 'reset' ? 'Reset' : '')
      );
    }
    if (role === 'graphics-symbol') return tagName;
    const told = this.labelsOf(element) || this.words(element.getAttribute('alt'));
    if (told !== '') return told;
    const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(tagName);
    const content = !isField && (PageView.FROM_CONTENT.has(role) || this.isPlain(element));
    const said = content ? this.words(element.textContent) : '';
    if (said !== '') return said;
    return this.words(element.getAttribute('title')) || this.words(element.getAttribute('placeholder'));
  }

  private statesOf(element: PageElement, role: string): Record<string, string | boolean> {
    const states: Record<string, string | boolean> = {};
    const { tagName, type } = element;
    const isTicked = tagName === 'INPUT' && (type === 'checkbox' || type === 'radio');
    const isButton = tagName === 'INPUT' && /^(button|submit|reset|image)$/.test(type ?? '');
    if (isTicked) states['checked'] = element.checked === true;
    else if (tagName === 'TEXTAREA' || (tagName === 'INPUT' && !isButton)) states['value'] = element.value ?? '';
    if (tagName === 'SELECT') {
      // Not `selectedOptions`: jsdom keeps what that was where a script chooses by `selectedIndex`.
      const chosen = Array.from(element.options ?? []).filter(({ selected }) => selected === true);
      states['value'] = chosen.map((option) => this.words(option.textContent)).join(', ');
      if (element.multiple) states['multiselectable'] = true;
    }
    if (tagName === 'TEXTAREA') states['multiline'] = true;
    if (tagName === 'OPTION') states['selected'] = element.selected === true;
    const aria = ['checked', 'selected', 'expanded'].filter((key) => states[key] === undefined);
    for (const key of aria) {
      const value = element.getAttribute(`aria-${key}`);
      if (value === 'true' || value === 'false') states[key] = value === 'true';
    }
    if (element.disabled === true || element.getAttribute('aria-disabled') === 'true') states['disabled'] = true;
    if (element.readOnly === true && role !== 'checkbox') states['readonly'] = true;
    return states;
  }

  /** How an element without words is told from others: what its authors call it, and its colour. */
  private looksOf(element: PageElement, role: string, name: string, children: number): Record<string, string> {
    const looks: Record<string, string> = {};
    const classes = this.words(element.getAttribute('class'));
    const colour = this.words(element.getAttribute('fill'));
    if (role === 'generic' && name === '' && children === 0 && classes !== '') looks['classes'] = classes;
    if (role === 'graphics-symbol' && colour !== '') looks['color'] = colour;
    return looks;
  }

  /** Text that is all there is in an element is its name, and no child. */
  private childrenOf(element: PageElement, seen: Record<string, ScreenElement>): string[] {
    if (element.tagName === 'TEXTAREA' || this.isPlain(element)) return [];
    return Array.from(element.childNodes).flatMap((node) => {
      if (node.nodeType === PageView.IS_ELEMENT)
        return this.isShown(node as PageElement) ? [this.read(node as PageElement, seen)] : [];
      const name = node.nodeType === PageView.IS_TEXT ? this.words(node.textContent) : '';
      if (name === '') return [];
      seen[this.idOf(node)] = { role: 'StaticText', name, children: [] };
      return [this.idOf(node)];
    });
  }

  private read(element: PageElement, seen: Record<string, ScreenElement>): string {
    const id = this.idOf(element);
    const role = this.roleOf(element);
    const name = this.nameOf(element, role);
    const children = this.childrenOf(element, seen);
    const states = { ...this.statesOf(element, role), ...this.looksOf(element, role, name, children.length) };
    seen[id] = { role, name, ...states, children };
    return id;
  }

  /**
   * JSON of a ScreenView.
   * @param taken  ids that other pages of the same browser have: from 1 to this one
   */
  look(taken = 0): string {
    const { document } = this.page;
    if (this.count === 0) this.count = taken;
    const seen: Record<string, ScreenElement> = {};
    const root = this.idOf(document.body);
    seen[root] = {
      role: 'RootWebArea',
      name: this.words(document.title),
      children: this.childrenOf(document.body, seen),
    };
    const { activeElement: active } = document;
    const focused = active === null || active === document.body ? '' : this.idOf(active);
    return JSON.stringify({ focused: seen[focused] === undefined ? '' : focused, root, elements: seen });
  }

  /** JSON of where elements are that were seen last and take room: left, top, width and height in the window, by id. */
  boxes(): string {
    const found: Record<string, number[]> = {};
    for (const [id, element] of this.elements) {
      if (!element.isConnected) continue;
      const { x, y, width, height } = element.getBoundingClientRect();
      if (width > 0 && height > 0) found[id] = [x, y, width, height].map((pixels) => Math.round(pixels * 100) / 100);
    }
    return JSON.stringify(found);
  }

  /** The element of an id, where it still is on the page. */
  element(id: string): PageElement | undefined {
    const found = this.elements.get(id);
    return found?.isConnected ? found : undefined;
  }
}
