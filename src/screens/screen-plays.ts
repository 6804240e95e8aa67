// Episodes on pages in a browser. A page cannot be saved, so what brings a moment of it back is what was done: the browser holds several
// pages, each where it was left, and one that is wanted elsewhere is opened anew and acted on again.

import { LRUCache } from 'lru-cache';
import { sha256 } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { type Seat, SeatPool } from '../env/replayed/seat-pool.js';
import { actionLine } from '../env/screens/screen-actions.js';
import type { CallSpec, Picture } from '../env/tools/domain.js';
import type { PageMoment, PageSpec } from './page/page-browser.js';
import { ActionRefused, BrowserDied, type PageMachine, PageThrown } from './page-machine.js';

/** A page by the id of its task. */
export interface PlayedPage {
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

export class ScreenPlays {
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

  /** A page standing there, which nobody else has. */
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

/** Of what is told of it: its picture is none of that. */
function hashOf({ picture: _, ...moment }: PageMoment): string {
  return sha256(JSON.stringify(moment));
}
