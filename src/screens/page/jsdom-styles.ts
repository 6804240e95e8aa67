// Which elements of a page in jsdom are shown. jsdom's own cascade weighs every rule of every sheet for each element, which takes
// longer than the page's scripts; whether something is shown hangs on the few rules that speak of `display` and `visibility`.

import type { PageElement, PageWindow } from './page-dom.js';

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
export function installStyles(window: StyledWindow): void {
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
