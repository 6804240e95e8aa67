// What runs pages: jsdom, or Chromium. Both are shown the same by the same scripts; they differ in who runs the page's own.

import type { Json } from '../../core/canonical-json.js';
import type { ScreenView } from '../../env/screens/screen-state.js';
import type { CallSpec, Picture } from '../../env/tools/domain.js';
import { PageClock } from './page-clock.js';
import { PageView } from './page-view.js';

/** How pages of a kind are begun and read: JavaScript, evaluated in the page. */
export interface PageContract {
  /** A function of the seed, called once the page is loaded: begins the task. */
  readonly begin: string;
  /** Expressions: what is to be done in words, what was earned, whether it is over. */
  readonly goal: string;
  readonly reward: string;
  readonly done: string;
  /** Selectors of elements that are no part of the screen. */
  readonly hidden: readonly string[];
}

/** Pages pay 1 for a task that is done, and less for a part of it, which is no success. Sums of shares may fall short by rounding. */
export const WHOLE_REWARD = 1 - 1e-9;

/** An application: a server of its own for each page that is opened of it, on this machine alone. */
export interface AppSpec {
  /** What it is called. */
  readonly name: string;
  /** Program and arguments; `{port}` stands for its port on 127.0.0.1, `{data}` for a folder of its own. */
  readonly command: readonly string[];
  /** What that folder begins with: text by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Where a task begins, and what answers once the application is ready: a path below its address. */
  readonly path: string;
  /** What is to be done, in words. */
  readonly goal: string;
  readonly judge: AppJudge;
}

/** Who says what was earned, by the application's own data. */
export interface AppJudge {
  /** Absolute path of a module whose default export is `({ url, folder }, task) => Promise<number>`: 1 where the task is done. */
  readonly module: string;
  readonly task: Json;
}

/** A page that a task is done on; structured-clonable. */
export interface PageSpec {
  /** Absolute path of the HTML file; empty for a page of an application. */
  readonly file: string;
  readonly app?: AppSpec;
  readonly seed: number;
  readonly contract: PageContract;
  /** Milliseconds of the page's time that pass after an action. */
  readonly settle: number;
  /** Whether moments have a picture. */
  readonly screenshots?: true;
}

/** What there is to see of a page. */
export interface PageMoment extends ScreenView {
  readonly goal: string;
  readonly reward: number;
  readonly done: boolean;
  /** Where the page's spec asks for it, and the browser draws. */
  readonly picture?: Picture;
}

/** An action could not be carried out, through no fault of the browser; the page may stand anywhere. */
export class ActionFailed extends Error {}

export interface OpenPage {
  /** @throws ActionFailed */
  act(call: CallSpec): Promise<void>;
  look(): Promise<PageMoment>;
  close(): Promise<void>;
}

export interface PageBrowser {
  open(spec: PageSpec): Promise<OpenPage>;
  /** Whether its process is still there: asked where something failed, as what a dying browser throws looks like a refusal. */
  isAlive(): Promise<boolean>;
  close(): Promise<void>;
}

/** The value that a page's state is read as: an expression, evaluated in the page. */
export function momentScript({ goal, reward, done }: PageContract): string {
  return `JSON.stringify({ goal: String(${goal}), reward: Number(${reward}) || 0, done: Boolean(${done}), view: JSON.parse(window.reverieView.look()) })`;
}

export function momentOf(json: unknown): PageMoment {
  const { view, ...rest } = JSON.parse(String(json));
  return { ...view, ...rest };
}

/** What is run in a page before any script of its own: its clock as `reverieClock`, the view of it as `reverieView`. */
export function installScript({ seed, contract }: PageSpec): string {
  const clock = `new (${PageClock})(window, ${seed})`;
  const view = `new (${PageView})(window, ${JSON.stringify(contract.hidden)})`;
  return `Object.defineProperties(window, { reverieClock: { value: ${clock} }, reverieView: { value: ${view} } })`;
}

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
