// Time within a page, and what it draws before it is seeded: timers, dates and frames go by a clock that moves only when it is told
// to, so that the same actions come to the same page on any machine.

import type { PageWindow } from './page-view.js';

interface Timer {
  at: number;
  /** Milliseconds until it is due again. */
  readonly every: number | undefined;
  readonly run: () => void;
}

/** A page's time, in milliseconds. The text of this class is sent into the page, and so stands alone. */
export class PageClock {
  private static readonly START = 1_577_836_800_000; // 2020-01-01T00:00:00Z
  private static readonly FRAME = 16;
  private static readonly MANY = 100_000;
  private now = 0;
  private nextId = 1;
  private drawn: number;
  private readonly timers = new Map<number, Timer>();

  constructor(
    private readonly page: PageWindow,
    seed: number,
  ) {
    this.drawn = seed >>> 0;
    this.takeTimers();
    page.Date = this.dateClass();
    Object.defineProperty(page.performance, 'now', { value: () => this.now, configurable: true });
    page.Math.random = () => this.draw();
  }

  /** @throws when more is to be done in that time than any page has to do */
  async advance(milliseconds: number): Promise<void> {
    const until = this.now + milliseconds;
    for (let count = 0; ; count++) {
      await Promise.resolve();
      const next = this.due(until);
      if (next === undefined) break;
      if (count === PageClock.MANY) throw new Error(`more than ${count} timers ran in ${milliseconds} ms of its time`);
      const [id, timer] = next;
      this.now = Math.max(this.now, timer.at);
      if (timer.every === undefined) this.timers.delete(id);
      else timer.at = this.now + timer.every;
      try {
        timer.run();
      } catch {
        // As in a browser, where a timer that throws is told to the console and the page goes on.
      }
    }
    this.now = until;
  }

  private takeTimers(): void {
    const { page } = this;
    const drop = (id: unknown) => void this.timers.delete(Number(id));
    page.setTimeout = (handler: unknown, delay: unknown, ...args: unknown[]) => this.add(handler, delay, args, false);
    page.setInterval = (handler: unknown, delay: unknown, ...args: unknown[]) => this.add(handler, delay, args, true);
    page.requestAnimationFrame = (handler: (time: number) => void) => {
      const wait = PageClock.FRAME - (this.now % PageClock.FRAME);
      return this.add(() => handler(this.now), wait, [], false);
    };
    page.clearTimeout = drop;
    page.clearInterval = drop;
    page.cancelAnimationFrame = drop;
  }

  private add(handler: unknown, delay: unknown, args: unknown[], repeats: boolean): number {
    const { page } = this;
    const wait = Math.max(1, Number(delay) || 0);
    const run = () => (typeof handler === 'function' ? handler.apply(page, args) : page.eval(String(handler)));
    this.timers.set(this.nextId, { at: this.now + wait, every: repeats ? wait : undefined, run });
    return this.nextId++;
  }

  private due(until: number): [number, Timer] | undefined {
    let first: [number, Timer] | undefined;
    for (const entry of this.timers) {
      if (entry[1].at <= until && (first === undefined || entry[1].at < first[1].at)) first = entry;
    }
    return first;
  }

  /** Dates of this clock. Everything local is UTC, and English. */
  private dateClass(): unknown {
    const now = () => PageClock.START + this.now;
    const NativeDate = Date;
    class PageDate extends NativeDate {
      constructor(...given: unknown[]) {
        if (given.length === 0) super(now());
        else if (given.length === 1) super(given[0] as number);
        else super(NativeDate.UTC(...(given as [number, number])));
      }
      static override now(): number {
        return now();
      }
    }
    const own = PageDate.prototype as unknown as Record<string, unknown>;
    const native = NativeDate.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const name of Object.getOwnPropertyNames(native)) {
      const utc = native[name.replace(/^(get|set)(?!UTC)/, '$1UTC')];
      if (/^[gs]et(?!UTC|Time|Year)/.test(name) && typeof utc === 'function') own[name] = utc;
    }
    own['getTimezoneOffset'] = () => 0;
    for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) {
      own[name] = function (this: Date, locale = 'en-US', options: object = {}) {
        return native[name].call(this, locale, { timeZone: 'UTC', ...options });
      };
    }
    return PageDate;
  }

  /** Mulberry32, until the page is given a seed of its own. */
  private draw(): number {
    this.drawn = (this.drawn + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.drawn ^ (this.drawn >>> 15), 1 | this.drawn);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
