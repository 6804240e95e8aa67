// What the thread that has a browser is asked, and answers.

import type { CallSpec } from '../../env/tools/domain.js';
import type { PageMoment, PageSpec } from './page-browser.js';
import type { DrawnPage } from './still-page.js';

export type BrowserName = 'jsdom' | 'chromium';

/** Which browser is started. */
export interface BrowserStart {
  readonly browser: BrowserName;
  /** Path of Chromium. */
  readonly executable: string;
}

export type PageRequest =
  /** Opens a page in a slot, in place of what is there, and does on it what was done. */
  | { readonly verb: 'play'; readonly slot: string; readonly spec: PageSpec; readonly calls: readonly CallSpec[] }
  | { readonly verb: 'act'; readonly slot: string; readonly call: CallSpec };

/** HTML to be looked at: in no slot, and no script of it runs. */
export interface DrawRequest {
  readonly verb: 'draw';
  readonly html: string;
}

export type DrawReply = { readonly drawn: DrawnPage } | { readonly undrawn: string };

export type PageReply =
  | { readonly moment: PageMoment }
  | { readonly ready: true }
  /** The browser could not carry the action out; the slot is empty now. */
  | { readonly refused: string }
  /** The page failed; the slot is empty now. */
  | { readonly failed: string }
  /** The browser's process ended. */
  | { readonly ended: string }
  /** There is no such browser. */
  | { readonly missing: string };
