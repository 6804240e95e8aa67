// Pages that are shown and nothing else: HTML that somebody wrote, read as real pages are. No script of it runs, whatever it holds, and
// nothing that it names is fetched.

import type { ScreenView } from '../../env/screens/screen-state.js';
import { installStyles } from './jsdom-styles.js';
import type { PageElement, PageWindow } from './page-dom.js';
import { PageView } from './page-view.js';

/** What is seen of a page that was drawn, by ids of its own, and what its elements are said to be. */
export interface DrawnPage extends ScreenView {
  /** `data-bid` of the elements that have one, by the ids of the view. */
  readonly given: Readonly<Record<string, string>>;
  /** What the page's `title` says. */
  readonly title: string;
}

/** Of the HTML, in characters, and of what is seen of it. */
export const MAX_MARKUP = 200_000;
const MAX_ELEMENTS = 2_000;

/** Attributes by which markup speaks of elements that there were before, and of the one that has the keyboard. */
export const BID = 'data-bid';
export const FOCUSED = 'data-focused';

interface StillJsdom {
  readonly window: PageWindow & { close(): void };
}

interface JsdomPackage {
  readonly JSDOM: new (html: string, options: object) => StillJsdom;
  readonly VirtualConsole: new () => object;
}

/** Optional, so that nothing resolves it before it is asked for. */
const PACKAGE = 'jsdom' as string;

/** @throws where there is no jsdom, for HTML that is too long, and for a page that shows too much */
export async function drawnPage(html: string): Promise<DrawnPage> {
  if (html.length > MAX_MARKUP)
    throw new Error(`it has ${html.length} characters, and at most ${MAX_MARKUP} are drawn`);
  const { JSDOM, VirtualConsole } = (await import(PACKAGE)) as JsdomPackage;
  // Without `runScripts` no script and no handler runs; without `resources` nothing is fetched, not even a style sheet.
  const { window } = new JSDOM(html, { virtualConsole: new VirtualConsole() });
  try {
    installStyles(window as never);
    return seen(window);
  } finally {
    window.close();
  }
}

function seen(window: PageWindow): DrawnPage {
  const view = new PageView(window, []);
  const { root, elements } = JSON.parse(view.look()) as ScreenView;
  const ids = Object.keys(elements);
  if (ids.length > MAX_ELEMENTS)
    throw new Error(`it shows ${ids.length} elements, and at most ${MAX_ELEMENTS} are drawn`);
  const attribute = (id: string, name: string) => (view.element(id) as PageElement | undefined)?.getAttribute(name);
  const given = ids.flatMap((id): [string, string][] => {
    const bid = attribute(id, BID)?.trim() ?? '';
    return bid === '' ? [] : [[id, bid]];
  });
  const focused = ids.find((id) => typeof attribute(id, FOCUSED) === 'string') ?? '';
  return { root, elements, focused, given: Object.fromEntries(given), title: elements[root].name };
}
