// A browser that is asked like a function. What it holds is lost when it ends; the next request starts another.

import { reverieError } from '../core/errors.js';
import { AskedThread, compiledUrl } from '../core/threads.js';
import type { CallSpec } from '../env/tools/domain.js';
import type { PageMoment, PageSpec } from './page/page-browser.js';
import type { BrowserName, BrowserStart, PageReply, PageRequest } from './page/page-requests.js';

/** The browser ended, or was ended as it did not answer. */
export class BrowserDied extends Error {}

/** The page threw, or did not load. */
export class PageThrown extends Error {}

/** The browser could not carry an action out. */
export class ActionRefused extends Error {}

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

export class PageMachine {
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
