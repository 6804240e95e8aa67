// Time within a page, and what it draws before it is seeded: timers, dates and frames go by a clock that moves only when it is told
// to, so that the same actions come to the same page on any machine. The function is sent into the page as it is written, and so
// stands alone.

import type { PageWindow } from './page-dom.js';

/** Installs `window.reverieClock` in place of the browser's own time. Runs before any script of the page. */
export function installClock(page: PageWindow, seed: number): void {
  const START = 1_577_836_800_000; // 2020-01-01T00:00:00Z
  const FRAME_MS = 16;
  const MANY = 100_000;
  const NativeDate = Date;
  let now = 0;
  let nextId = 1;
  let drawn = seed >>> 0;
  const timers = new Map<number, { at: number; every: number | undefined; run: () => void }>();

  function add(handler: unknown, delay: unknown, args: unknown[], repeats: boolean): number {
    const wait = Math.max(1, Number(delay) || 0);
    const run = () => (typeof handler === 'function' ? handler.apply(page, args) : page.eval(String(handler)));
    timers.set(nextId, { at: now + wait, every: repeats ? wait : undefined, run });
    return nextId++;
  }

  function due(until: number): [number, { at: number; every: number | undefined; run: () => void }] | undefined {
    let first: ReturnType<typeof due>;
    for (const entry of timers)
      if (entry[1].at <= until && (first === undefined || entry[1].at < first[1].at)) first = entry;
    return first;
  }

  async function advance(milliseconds: number): Promise<void> {
    const until = now + milliseconds;
    for (let count = 0; ; count++) {
      await Promise.resolve();
      const next = due(until);
      if (next === undefined) break;
      if (count === MANY) throw new Error(`more than ${MANY} timers ran in ${milliseconds} ms of the page's time`);
      const [id, timer] = next;
      now = Math.max(now, timer.at);
      if (timer.every === undefined) timers.delete(id);
      else timer.at = now + timer.every;
      try {
        timer.run();
      } catch {
        // As in a browser, where a timer that throws is told to the console and the page goes on.
      }
    }
    now = until;
  }

  // Everything local is UTC here, and English.
  class PageDate extends NativeDate {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(START + now);
      else if (given.length === 1) super(given[0] as number);
      else super(NativeDate.UTC(...(given as [number, number])));
    }
    static override now(): number {
      return START + now;
    }
  }
  const local = PageDate.prototype as unknown as Record<string, unknown>;
  for (const name of Object.getOwnPropertyNames(NativeDate.prototype)) {
    const utc = (NativeDate.prototype as unknown as Record<string, unknown>)[
      name.replace(/^(get|set)(?!UTC)/, '$1UTC')
    ];
    if (/^[gs]et(?!UTC|Time|Year)/.test(name) && typeof utc === 'function') local[name] = utc;
  }
  local['getTimezoneOffset'] = () => 0;
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'] as const) {
    local[name] = function (this: Date, locale: string | undefined, options: object | undefined): string {
      return NativeDate.prototype[name].call(this, locale ?? 'en-US', { timeZone: 'UTC', ...options });
    };
  }

  const drop = (id: unknown) => void timers.delete(Number(id));
  page.setTimeout = (handler: unknown, delay: unknown, ...args: unknown[]) => add(handler, delay, args, false);
  page.setInterval = (handler: unknown, delay: unknown, ...args: unknown[]) => add(handler, delay, args, true);
  page.requestAnimationFrame = (handler: (time: number) => void) => {
    const wait = FRAME_MS - (now % FRAME_MS);
    return add(() => handler(now), wait, [], false);
  };
  page.clearTimeout = drop;
  page.clearInterval = drop;
  page.cancelAnimationFrame = drop;
  page.Date = PageDate;
  Object.defineProperty(page.performance, 'now', { value: () => now, configurable: true });
  // Mulberry32, until the page is given a seed of its own.
  page.Math.random = () => {
    drawn = (drawn + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(drawn ^ (drawn >>> 15), 1 | drawn);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  Object.defineProperty(page, 'reverieClock', { value: { advance }, enumerable: false });
}
