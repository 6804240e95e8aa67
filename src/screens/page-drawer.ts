// HTML as a screen: drawn in the thread that pages use, without scripts and without a network, within limits of size and of time. What
// cannot be drawn comes back as a reason.

import { reverieError } from '../core/errors.js';
import { AskedThread, compiledUrl } from '../core/threads.js';
import type { BrowserStart, DrawReply, PageReply } from './page/page-requests.js';
import type { DrawnPage } from './page/still-page.js';
import { INSTALLS } from './page-machine.js';

const WORKER_URL = new URL(compiledUrl(import.meta.url, './page/page-thread.js'));

const START_MS = 60_000;
/** For a page, however it is written. */
const DRAW_MS = 10_000;
const HEAP_MB = 512;

type Thread = AskedThread<DrawReply | PageReply>;

export class PageDrawer {
  private thread: Promise<Thread> | undefined;
  private last: Promise<unknown> = Promise.resolve();

  /** @param limitMs longest time for a page */
  constructor(private readonly limitMs = DRAW_MS) {}

  /** One page at a time, in the order they are asked for; a sentence where it cannot be drawn. @throws ENV_UNUSABLE */
  draw(html: string): Promise<DrawnPage | string> {
    const drawn = this.last.then(() => this.drawn(html));
    this.last = drawn.catch(() => {});
    return drawn;
  }

  close(): void {
    this.thread?.then(
      (thread) => thread.end(),
      () => {},
    );
    this.thread = undefined;
  }

  private async drawn(html: string): Promise<DrawnPage | string> {
    this.thread ??= started();
    const thread = await this.thread;
    const reply = await thread.answer({ verb: 'draw', html }, this.limitMs);
    if (reply !== undefined && 'drawn' in reply) return reply.drawn;
    if (reply !== undefined && 'undrawn' in reply) return reply.undrawn;
    // It may be at it for ever: the next page has a thread of its own.
    this.close();
    return `it was not drawn within ${this.limitMs / 1000} s`;
  }
}

async function started(): Promise<Thread> {
  const start: BrowserStart = { browser: 'jsdom', executable: '' };
  const thread: Thread = new AskedThread(
    WORKER_URL,
    { start },
    { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } },
  );
  const reply = await thread.answer(undefined, START_MS);
  if (reply !== undefined && 'ready' in reply) return thread;
  thread.end();
  const problem =
    reply !== undefined && 'missing' in reply ? reply.missing : `it did not start in ${START_MS / 1000} s`;
  throw reverieError('ENV_UNUSABLE', {
    problem: `This world runs in jsdom, which could not be started: ${problem}.`,
    hint: INSTALLS.jsdom,
  });
}
