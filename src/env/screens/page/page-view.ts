// What is seen of a page: its elements with roles, names and states, by ids that last as long as the elements do. Roles and names
// follow the HTML Accessibility API Mappings and the Accessible Name Computation of the W3C, as far as pages without layout allow.
// The function is sent into the page as it is written, and so stands alone.

import type { ScreenElement } from '../screen-state.js';
import type { PageElement, PageNode, PageWindow } from './page-dom.js';

/** Installs `window.reverieView`. `hidden`: selectors of elements that are no part of the screen. */
export function installView(page: PageWindow, hidden: readonly string[]): void {
  const ROLES: Readonly<Record<string, string>> = {
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
  const INPUT_ROLES: Readonly<Record<string, string>> = {
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
  const SHAPES = /^(circle|ellipse|line|path|polygon|polyline|rect)$/;
  const SILENT = /^(BR|CANVAS|COL|COLGROUP|HEAD|HR|LINK|META|NOSCRIPT|SCRIPT|STYLE|TEMPLATE|WBR|defs)$/;
  const FROM_CONTENT = new Set(
    ['button', 'cell', 'columnheader', 'heading', 'link', 'menuitem', 'option', 'radio', 'tab', 'treeitem'].concat(
      'switch',
      'checkbox',
      'gridcell',
    ),
  );
  const IS_TEXT = 3;
  const IS_ELEMENT = 1;
  const ids = new WeakMap<PageNode, string>();
  const elements = new Map<string, PageElement>();
  let count = 0;

  function idOf(node: PageNode): string {
    let id = ids.get(node);
    if (id === undefined) {
      id = String(++count);
      ids.set(node, id);
      if (node.nodeType === IS_ELEMENT) elements.set(id, node as PageElement);
    }
    return id;
  }

  function words(text: string | null | undefined): string {
    return (text ?? '').replace(/\s+/g, ' ').trim();
  }

  function isShown(element: PageElement): boolean {
    if (SILENT.test(element.tagName) || (element.tagName === 'INPUT' && element.type === 'hidden')) return false;
    if (hidden.some((selector) => element.matches(selector))) return false;
    const { display, visibility } = (page.reverieStyles ?? page.getComputedStyle)(element);
    return display !== 'none' && visibility !== 'hidden' && visibility !== 'collapse';
  }

  function roleOf(element: PageElement): string {
    const given = words(element.getAttribute('role')).split(' ')[0];
    if (given !== '' && given !== 'presentation' && given !== 'none') return given;
    const { tagName } = element;
    if (tagName === 'A') return element.hasAttribute('href') ? 'link' : 'generic';
    if (tagName === 'INPUT') return INPUT_ROLES[element.type ?? ''] ?? 'textbox';
    if (tagName === 'SELECT') return element.multiple || (element.size ?? 0) > 1 ? 'listbox' : 'combobox';
    if (tagName.toLowerCase() === 'svg') return 'SvgRoot';
    return SHAPES.test(tagName) ? 'graphics-symbol' : (ROLES[tagName] ?? 'generic');
  }

  function isPlain(element: PageElement): boolean {
    return Array.from(element.childNodes).every(({ nodeType }) => nodeType !== IS_ELEMENT);
  }

  function labelsOf(element: PageElement): string {
    const by = words(element.getAttribute('aria-labelledby')).split(' ');
    const labelled = by.map((id) => words(id && page.document.getElementById(id)?.textContent)).join(' ');
    const labels = Array.from(element.labels ?? []).map((label) => words(label.textContent));
    return words(labelled) || words(element.getAttribute('aria-label')) || words(labels.join(' '));
  }

  function nameOf(element: PageElement, role: string): string {
    const { tagName } = element;
    if (tagName === 'INPUT' && /^(button|submit|reset)$/.test(element.type ?? '')) {
      return words(element.value) || (element.type === 'submit' ? 'Submit' : element.type === 'reset' ? 'Reset' : '');
    }
    if (role === 'graphics-symbol') return tagName;
    const told = labelsOf(element) || words(element.getAttribute('alt'));
    if (told !== '') return told;
    const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(tagName);
    if (!isField && (FROM_CONTENT.has(role) || isPlain(element))) return words(element.textContent);
    return words(element.getAttribute('title')) || words(element.getAttribute('placeholder'));
  }

  function statesOf(element: PageElement, role: string): Record<string, string | boolean> {
    const states: Record<string, string | boolean> = {};
    const { tagName, type } = element;
    const isTicked = tagName === 'INPUT' && (type === 'checkbox' || type === 'radio');
    const isButton = tagName === 'INPUT' && /^(button|submit|reset|image)$/.test(type ?? '');
    if (isTicked) states['checked'] = element.checked === true;
    else if (tagName === 'TEXTAREA' || (tagName === 'INPUT' && !isButton)) states['value'] = element.value ?? '';
    if (tagName === 'SELECT') {
      const chosen = Array.from(element.selectedOptions ?? []).map((option) => words(option.textContent));
      states['value'] = chosen.join(', ');
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
  function looksOf(element: PageElement, role: string, name: string, children: number): Record<string, string> {
    const looks: Record<string, string> = {};
    const classes = words(element.getAttribute('class'));
    const colour = words(element.getAttribute('fill'));
    if (role === 'generic' && name === '' && children === 0 && classes !== '') looks['classes'] = classes;
    if (role === 'graphics-symbol' && colour !== '') looks['color'] = colour;
    return looks;
  }

  /** Text that is all there is in an element is its name, and no child. */
  function childrenOf(element: PageElement, seen: Record<string, ScreenElement>): string[] {
    if (element.tagName === 'TEXTAREA' || isPlain(element)) return [];
    return Array.from(element.childNodes).flatMap((node) => {
      if (node.nodeType === IS_ELEMENT) return isShown(node as PageElement) ? [read(node as PageElement, seen)] : [];
      const name = node.nodeType === IS_TEXT ? words(node.textContent) : '';
      if (name === '') return [];
      seen[idOf(node)] = { role: 'StaticText', name, children: [] };
      return [idOf(node)];
    });
  }

  function read(element: PageElement, seen: Record<string, ScreenElement>): string {
    const id = idOf(element);
    const role = roleOf(element);
    const name = nameOf(element, role);
    const children = childrenOf(element, seen);
    const states = { ...statesOf(element, role), ...looksOf(element, role, name, children.length) };
    seen[id] = { role, name, ...states, children };
    return id;
  }

  function look(): string {
    const { document } = page;
    const seen: Record<string, ScreenElement> = {};
    const root = idOf(document.body);
    seen[root] = { role: 'RootWebArea', name: words(document.title), children: childrenOf(document.body, seen) };
    const { activeElement: active } = document;
    const focused = active === null || active === document.body ? '' : idOf(active);
    return JSON.stringify({ focused: seen[focused] === undefined ? '' : focused, root, elements: seen });
  }

  function element(id: string): PageElement | undefined {
    const found = elements.get(id);
    return found?.isConnected ? found : undefined;
  }

  Object.defineProperty(page, 'reverieView', { value: { look, element }, enumerable: false });
}
