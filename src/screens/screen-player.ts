// Who plays the pages of a domain of screens: a browser, or exact data. Which it is shows in nothing but what it can do.

import type { CallSpec, Picture } from '../env/tools/domain.js';
import type { PageContract, PageMoment, PageSpec } from './page/page-browser.js';
import type { BrowserName } from './page/page-requests.js';
import { PageMachine } from './page-machine.js';
import { ScreenPlays } from './screen-plays.js';
import type { ScreenPage } from './seeded-pages.js';
import type { Uploads } from './uploads.js';

export interface ScreenPlayer {
  /** @param page the id of its task */
  begin(page: string): PageMoment;
  /** What follows an action after those before it; a text where it could not be carried out. */
  act(page: string, before: readonly CallSpec[], call: CallSpec): PageMoment | string;
  /** Actions that do the task, where they are known without looking at screens. */
  solution?(page: string): readonly CallSpec[] | undefined;
  /** What a task that asks for an answer could be answered with on a screen; absent: no task asks for one. */
  answers?(page: string, moment: Pick<PageMoment, 'elements'>): readonly string[];
  /** What a screen looks like, after these actions; absent, or nothing: there are no pictures. */
  picture?(page: string, calls: readonly CallSpec[]): Picture | undefined;
  close(): void;
}

/** Pages that a browser plays. */
export interface BrowserPages {
  readonly pages: readonly ScreenPage[];
  readonly contract: PageContract;
  readonly browser: BrowserName;
  /** Milliseconds of the page's time that pass after an action; 500. */
  readonly settle?: number;
  /** Longest time for an answer before the browser counts as hung; 60. */
  readonly timeoutSeconds?: number;
  /** Screens have a picture, and boxes of their elements, beside what is told of them: in Chromium. */
  readonly screenshots?: boolean;
}

export const SETTLE_MS = 500;
const TIMEOUT_SECONDS = 60;

/** Pages in a browser, which starts when the first is opened. @param uploads what can be uploaded there */
export function browserPlayer(
  { pages, contract, browser, settle = SETTLE_MS, timeoutSeconds = TIMEOUT_SECONDS, screenshots }: BrowserPages,
  uploads?: Uploads,
): ScreenPlayer {
  const plays = new ScreenPlays(new PageMachine(browser, timeoutSeconds));
  const known = new Map(pages.map((page) => [page.id, page]));
  const played = (id: string): { id: string; spec: PageSpec } => {
    const { file, app, seed } = known.get(id)!;
    const more = { ...(app && { app }), ...(screenshots && { screenshots }), ...(uploads && { uploads }) };
    return { id, spec: { file, seed, contract, settle, ...more } };
  };
  return {
    begin: (page) => plays.begin(played(page)),
    act: (page, before, call) => plays.act(played(page), before, call),
    ...(screenshots && { picture: (page: string, calls: readonly CallSpec[]) => plays.picture(played(page), calls) }),
    close: () => plays.close(),
  };
}
