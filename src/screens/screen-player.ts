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

const NOWHERE: PageMoment = { focused: '', root: '', elements: {}, goal: '', reward: 0, done: false };

class ScreenPlays {
  private slots = 0;
  private readonly pool = new SeatPool<PageMoment>(SEATS, () => String(++this.slots), NOWHERE);
  private readonly moments = new LRUCache<string, string>({ max: MOMENTS });
  /** By the place where their moments stand. */
  private readonly pictures = new LRUCache<string, Picture>({ max: PICTURES });
  /** In the hands of the request that is being answered. */
  private taken: Seat<PageMoment> | undefined;

  constructor(private readonly machine: Pick<PageMachine, 'play' | 'act' | 'close'>) {}

  /** @throws PAGE_FAILED, BROWSER_DIED, ENV_UNUSABLE, PAGE_NOT_REPEATABLE */
  begin(page: PlayedPage): PageMoment {
    return this.surviving(page, 'its beginning', () => {
      this.taken = this.pool.free();
      const moment = this.machine.play(this.taken.object, page.spec, []);
      this.leave(keyOf(page, []), moment);
      return moment;
    });
  }

  /** What follows an action after those before it; a text where the browser could not carry it out. @throws as `begin` */
  act(page: PlayedPage, before: readonly CallSpec[], call: CallSpec): PageMoment | string {
    return this.surviving(page, `action ${before.length + 1}, ${actionLine(call)}`, () => {
      const seat = this.seatAt(page, before);
      try {
        const moment = this.machine.act(seat.object, call);
        this.leave(keyOf(page, [...before, call]), moment);
        return moment;
      } catch (error) {
        if (!(error instanceof ActionRefused)) throw error;
        this.pool.retire(seat);
        this.taken = undefined;
        return error.message;
      }
    });
  }

  /** What a moment looks like: that of a page that asks for pictures. @throws as `begin` */
  picture(page: PlayedPage, calls: readonly CallSpec[]): Picture | undefined {
    const known = this.pictures.get(keyOf(page, calls));
    if (known !== undefined || page.spec.screenshots === undefined) return known;
    if (calls.length === 0) this.begin(page);
    else this.act(page, calls.slice(0, -1), calls.at(-1)!);
    return this.pictures.get(keyOf(page, calls));
  }

  close(): void {
    this.pictures.clear();
    this.forget();
    this.moments.clear();
    this.machine.close();
  }

  /** A page standing there, for one caller. */
  private seatAt(page: PlayedPage, before: readonly CallSpec[]): Seat<PageMoment> {
    const key = keyOf(page, before);
    this.taken = this.pool.take(key);
    if (this.taken !== undefined) return this.taken;
    const seat = this.pool.free();
    this.taken = seat;
    seat.moment = this.machine.play(seat.object, page.spec, before);
    const seen = this.moments.get(key);
    if (seen !== undefined && seen !== hashOf(seat.moment)) {
      throw reverieError('PAGE_NOT_REPEATABLE', { page: page.id, steps: before.length });
    }
    return seat;
  }

  private leave(key: string, { picture, ...moment }: PageMoment): void {
    if (picture !== undefined) this.pictures.set(key, picture);
    this.moments.set(key, hashOf(moment));
    if (this.taken !== undefined) this.pool.leave(this.taken, key, moment);
    this.taken = undefined;
  }

  private forget(): void {
    this.pool.forget();
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
        if (this.taken !== undefined) this.pool.retire(this.taken);
        this.taken = undefined;
        if (!(error instanceof PageThrown)) throw error;
        if (++throws < TRIES) continue;
        throw reverieError('PAGE_FAILED', { page: page.id, where, problem: error.message }, error);
      }
    }
  }
}

/** Between actions, as no line holds it. */
const SEPARATOR = '\u001e';

function keyOf({ id }: PlayedPage, calls: readonly CallSpec[]): string {
  return [id, ...calls.map(actionLine)].join(SEPARATOR);
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

// Games or pages held elsewhere, each where it was left, so that who goes on there need not have it played again.

/** `M`: what is known of a moment of a game. */
interface Seat<M> {
  /** Its id where it is held. */
  readonly object: string;
  /** Where its game stands. */
  moment: M;
  /** When it was left; the first is 1. */
  left: number;
}

class SeatPool<M extends { readonly done: boolean }> {
  /** By the place where their games stand; several may stand at the same. */
  private readonly standing = new Map<string, Seat<M>[]>();
  /** Those whose game is not continued. */
  private idle: Seat<M>[] = [];
  private count = 0;
  private clock = 0;

  /**
   * @param make makes another one where they are held, and answers its id there
   * @param nowhere the moment of a game that has not begun
   */
  constructor(
    private readonly size: number,
    private readonly make: () => string,
    private readonly nowhere: M,
  ) {}

  /** One whose game stands there; it belongs to one caller then. */
  take(place: string): Seat<M> | undefined {
    return this.standing.get(place)?.pop();
  }

  /** One that can begin any game: idle, new, or the one that was left longest ago. */
  free(): Seat<M> {
    return this.idle.pop() ?? (this.count < this.size ? this.made() : this.oldest());
  }

  leave(seat: Seat<M>, place: string, moment: M): void {
    if (moment.done) {
      this.retire(seat);
      return;
    }
    seat.moment = moment;
    seat.left = ++this.clock;
    const there = this.standing.get(place);
    if (there === undefined) this.standing.set(place, [seat]);
    else there.push(seat);
    if (this.standing.size > 4 * this.size) this.sweep();
  }

  /** Its game is over, or of no more use. */
  retire(seat: Seat<M>): void {
    this.idle.push(seat);
  }

  /** What held them is no more. */
  forget(): void {
    this.standing.clear();
    this.idle = [];
    this.count = 0;
  }

  private made(): Seat<M> {
    const object = this.make();
    this.count++;
    return { object, moment: this.nowhere, left: 0 };
  }

  private oldest(): Seat<M> {
    const places = [...this.standing.values()].filter((seats) => seats.length > 0);
    // At any place the one that came first was left first.
    return places.reduce((a, b) => (b[0].left < a[0].left ? b : a)).shift()!;
  }

  private sweep(): void {
    for (const [place, seats] of this.standing) if (seats.length === 0) this.standing.delete(place);
  }
}
