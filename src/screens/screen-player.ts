// Who plays the pages of a domain of screens: a browser, or exact data. Which it is shows in nothing but what it can do.

import { LRUCache } from 'lru-cache';
import { sha256 } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { AskedThread, compiledUrl } from '../core/threads.js';
import { actionLine } from '../env/screens/screen-actions.js';
import type { CallSpec, Picture } from '../env/tools/domain.js';
import type {
  BrowserName,
  BrowserStart,
  PageContract,
  PageMoment,
  PageReply,
  PageRequest,
  PageSpec,
} from './page/page-browser.js';
import type { ScreenPage } from './seeded-pages.js';

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
  /** Screens have a picture, and boxes of their elements, beside their description: in Chromium. */
  readonly screenshots?: boolean;
}

export const SETTLE_MS = 500;
const TIMEOUT_SECONDS = 60;

/** Pages in a browser, which starts when the first is opened. */
export function browserPlayer({
  pages,
  contract,
  browser,
  settle = SETTLE_MS,
  timeoutSeconds = TIMEOUT_SECONDS,
  screenshots,
}: BrowserPages): ScreenPlayer {
  const plays = new ScreenPlays(new PageMachine(browser, timeoutSeconds));
  const known = new Map(pages.map((page) => [page.id, page]));
  const played = (id: string): { id: string; spec: PageSpec } => {
    const { file, app, seed } = known.get(id)!;
    const more = { ...(app && { app }), ...(screenshots && { screenshots }) };
    return { id, spec: { file, seed, contract, settle, ...more } };
  };
  return {
    begin: (page) => plays.begin(played(page)),
    act: (page, before, call) => plays.act(played(page), before, call),
    ...(screenshots && { picture: (page: string, calls: readonly CallSpec[]) => plays.picture(played(page), calls) }),
    close: () => plays.close(),
  };
}

/** A page by the id of its task. */
interface PlayedPage {
  readonly id: string;
  readonly spec: PageSpec;
}

/** Pages that are held at once: each takes tens of megabytes. */
export const SEATS = 8;
/** Browsers that may end in a row on one request. */
const DEATHS = 3;
/** Times that a page which throws is opened. */
const TRIES = 2;
/** Moments of which the hash is remembered, so that a page played again is known to have come out there. */
const MOMENTS = 4_096;

/** Pictures that are held, of some ten kilobytes each: those of the moments that were come to last. */
const PICTURES = 64;

/** A slot of the browser with a page in it. */
interface Seat {
  readonly slot: string;
  /** Page and actions that it stands after. */
  readonly place: string;
}

/** Plays pages; each stands where it was left, so that who goes on there need not have it played again. */
class ScreenPlays {
  /** Seats whose page is continued, the one that was left longest ago first. */
  private standing: Seat[] = [];
  private idle: string[] = [];
  private slots = 0;
  private readonly moments = new LRUCache<string, string>({ max: MOMENTS });
  /** By the place where their moments stand. */
  private readonly pictures = new LRUCache<string, Picture>({ max: PICTURES });
  /** The slot in the hands of the request that is being answered. */
  private taken: string | undefined;

  constructor(private readonly machine: PageMachine) {}

  /** @throws PAGE_FAILED, BROWSER_DIED, ENV_UNUSABLE, PAGE_NOT_REPEATABLE */
  begin(page: PlayedPage): PageMoment {
    return this.surviving(page, 'its beginning', () => {
      this.taken = this.free();
      return this.leave(placeOf(page.id, []), this.machine.play(this.taken, page.spec, []));
    });
  }

  /** What follows an action after those before it; a text where the browser could not carry it out. @throws as `begin` */
  act(page: PlayedPage, before: readonly CallSpec[], call: CallSpec): PageMoment | string {
    return this.surviving(page, `action ${before.length + 1}, ${actionLine(call)}`, () => {
      const slot = this.slotAt(page, before);
      try {
        return this.leave(placeOf(page.id, [...before, call]), this.machine.act(slot, call));
      } catch (error) {
        if (!(error instanceof ActionRefused)) throw error;
        this.retire();
        return error.message;
      }
    });
  }

  /** What a moment looks like: that of a page that asks for pictures. @throws as `begin` */
  picture(page: PlayedPage, calls: readonly CallSpec[]): Picture | undefined {
    const known = this.pictures.get(placeOf(page.id, calls));
    if (known !== undefined || page.spec.screenshots === undefined) return known;
    if (calls.length === 0) this.begin(page);
    else this.act(page, calls.slice(0, -1), calls.at(-1)!);
    return this.pictures.get(placeOf(page.id, calls));
  }

  close(): void {
    this.pictures.clear();
    this.forget();
    this.moments.clear();
    this.machine.close();
  }

  /** The slot of a page standing there, for one caller. */
  private slotAt(page: PlayedPage, before: readonly CallSpec[]): string {
    const key = placeOf(page.id, before);
    const at = this.standing.findLastIndex(({ place }) => place === key);
    if (at >= 0) {
      const [seat] = this.standing.splice(at, 1);
      this.taken = seat.slot;
      return seat.slot;
    }
    this.taken = this.free();
    const { picture: _, ...moment } = this.machine.play(this.taken, page.spec, before);
    const seen = this.moments.get(key);
    if (seen !== undefined && seen !== hashOf(moment))
      throw reverieError('PAGE_NOT_REPEATABLE', { page: page.id, steps: before.length });
    return this.taken;
  }

  /** One that can begin any page: idle, new, or the one that was left longest ago. */
  private free(): string {
    return this.idle.pop() ?? (this.slots < SEATS ? String(++this.slots) : this.standing.shift()!.slot);
  }

  private leave(place: string, moment: PageMoment): PageMoment {
    if (moment.picture !== undefined) this.pictures.set(place, moment.picture);
    this.moments.set(place, hashOf(moment));
    if (moment.done) this.retire();
    else if (this.taken !== undefined) this.standing.push({ slot: this.taken, place });
    this.taken = undefined;
    return moment;
  }

  /** The page in hand is over, or of no more use. */
  private retire(): void {
    if (this.taken !== undefined) this.idle.push(this.taken);
    this.taken = undefined;
  }

  /** What held the pages is no more. */
  private forget(): void {
    this.standing = [];
    this.idle = [];
    this.slots = 0;
    this.taken = undefined;
  }

  /** Once more where the browser ended, in another one, and where the page threw; each a few times. */
  private surviving<T>(page: PlayedPage, where: string, work: () => T): T {
    let [deaths, throws] = [0, 0];
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (error instanceof BrowserDied) {
          this.forget();
          if (++deaths < DEATHS) continue;
          throw reverieError('BROWSER_DIED', { page: page.id, where, times: deaths, problem: error.message }, error);
        }
        this.retire();
        if (!(error instanceof PageThrown)) throw error;
        if (++throws < TRIES) continue;
        throw reverieError('PAGE_FAILED', { page: page.id, where, problem: error.message }, error);
      }
    }
  }
}

/** Between actions, as no line holds it. */
const SEPARATOR = '\u001e';

/** Where a page stands after actions. */
export function placeOf(page: string, calls: readonly CallSpec[]): string {
  return [page, ...calls.map(actionLine)].join(SEPARATOR);
}

/** Of its description: its picture is none of that. */
function hashOf({ picture: _, ...moment }: PageMoment): string {
  return sha256(JSON.stringify(moment));
}

/** The browser ended, or was ended as it did not answer. */
class BrowserDied extends Error {}

/** The page threw, or did not load. */
class PageThrown extends Error {}

/** The browser could not carry an action out. */
class ActionRefused extends Error {}

const WORKER_URL = new URL(compiledUrl(import.meta.url, './page/page-thread.js'));

/** For a browser to start, on a machine that is busy. */
const START_MS = 60_000;
const HEAP_MB = 2_048;

/** The program: REVERIE_CHROMIUM, else where Debian has it. */
export function chromiumProgram(): string {
  return process.env.REVERIE_CHROMIUM || '/usr/bin/chromium';
}

export const INSTALLS: Readonly<Record<BrowserName, string>> = {
  jsdom: 'Run "npm install jsdom@26.1.0" beside reverie.',
  chromium:
    'Run "npm install playwright-core" beside reverie, and install Chromium (on Debian: apt-get install chromium), or name it: REVERIE_CHROMIUM=PATH.',
};

class PageMachine {
  private thread: AskedThread<PageReply> | undefined;
  private closed = false;

  /** Starts nothing yet. */
  constructor(
    private readonly browser: BrowserName,
    private readonly timeoutSeconds: number,
  ) {}

  /** Opens a page in a slot and does on it what was done. @throws BrowserDied, PageThrown, ENV_UNUSABLE */
  play(slot: string, spec: PageSpec, calls: readonly CallSpec[]): PageMoment {
    return this.ask({ verb: 'play', slot, spec, calls });
  }

  /** @throws as `play`, ActionRefused: the slot is empty then, as it is after PageThrown */
  act(slot: string, call: CallSpec): PageMoment {
    return this.ask({ verb: 'act', slot, call });
  }

  close(): void {
    this.closed = true;
    this.end();
  }

  private ask(request: PageRequest): PageMoment {
    this.thread ??= this.started();
    const reply = this.thread.ask(request, this.timeoutSeconds * 1000);
    if (reply === undefined) throw this.died(this.timeoutSeconds);
    if ('moment' in reply) return reply.moment;
    if ('ended' in reply) {
      this.end();
      throw new BrowserDied(`its process ended: ${reply.ended}`);
    }
    if ('refused' in reply) throw new ActionRefused(reply.refused);
    throw new PageThrown('failed' in reply ? reply.failed : 'no answer came');
  }

  private started(): AskedThread<PageReply> {
    if (this.closed) throw new BrowserDied('it was closed');
    const { browser } = this;
    const start: BrowserStart = { browser, executable: chromiumProgram() };
    this.thread = new AskedThread(WORKER_URL, { start }, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    const reply = this.thread.receive(START_MS);
    if (reply === undefined) throw this.died(START_MS / 1000);
    if (!('missing' in reply)) return this.thread;
    this.end();
    throw reverieError('ENV_UNUSABLE', {
      problem: `This world runs in ${browser}, which could not be started: ${reply.missing}.`,
      hint: INSTALLS[browser],
    });
  }

  private died(seconds: number): BrowserDied {
    this.end();
    return new BrowserDied(`it did not answer within ${seconds} s`);
  }

  /** jsdom's pages run in the thread itself, which may be in the midst of one; Chromium's thread is free to put it away. */
  private end(): void {
    if (this.browser === 'jsdom') this.thread?.end();
    else this.thread?.dismiss();
    this.thread = undefined;
  }
}
