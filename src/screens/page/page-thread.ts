// The thread that has a browser: opens pages in it, acts on them, and tells what is to be seen. The caller sleeps until the answer
// is there. A page that never ends its work, or takes all memory, costs this thread and nothing else.

import { workerData } from 'node:worker_threads';
import { type TemporaryFolder, temporaryFolder } from '../../core/files.js';
import { answerOn, type ThreadLine } from '../../core/threads.js';
import { openChromium } from './chromium-browser.js';
import { openJsdom } from './jsdom-browser.js';
import {
  ActionFailed,
  type BrowserStart,
  type OpenPage,
  type PageBrowser,
  type PageReply,
  type PageRequest,
} from './page-browser.js';

const { start, line } = workerData as { readonly start: BrowserStart; readonly line: ThreadLine };
const pages = new Map<string, OpenPage>();
let browser: PageBrowser | undefined;
/** Chromium and applications keep their files there. */
let folder: TemporaryFolder | undefined;

async function answered(request: PageRequest): Promise<PageReply> {
  try {
    const page = request.verb === 'play' ? await opened(request) : pages.get(request.slot)!;
    if (request.verb === 'act') await page.act(request.call);
    return { moment: await page.look() };
  } catch (error) {
    const { message } = error as Error;
    if (!(await browser!.isAlive())) return { ended: message };
    await emptied(request.slot);
    return error instanceof ActionFailed && request.verb === 'act' ? { refused: message } : { failed: message };
  }
}

async function opened({ slot, spec, calls }: PageRequest & { verb: 'play' }): Promise<OpenPage> {
  await emptied(slot);
  const page = await browser!.open(spec);
  pages.set(slot, page);
  for (const call of calls) {
    // Elements get their ids when they are first seen.
    await page.look();
    await page.act(call);
  }
  return page;
}

async function emptied(slot: string): Promise<void> {
  const page = pages.get(slot);
  pages.delete(slot);
  await page?.close();
}

async function chromiumIn(given: TemporaryFolder): Promise<PageBrowser> {
  folder = given;
  // Of this thread and what it starts alone.
  process.env.TMPDIR = given.path;
  return openChromium(start.executable);
}

async function begun(): Promise<PageReply> {
  try {
    browser = start.browser === 'jsdom' ? await openJsdom() : await chromiumIn(temporaryFolder('browser'));
    return { ready: true };
  } catch (error) {
    return { missing: (error as Error).message.split('\n')[0] };
  }
}

// What a page throws and does not catch is the page's.
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
line.port.on('message', async (request: PageRequest) => answerOn(line, await answered(request)));
line.port.on('close', async () => {
  // Applications end with their pages.
  await Promise.allSettled([...pages.keys()].map(emptied));
  await browser?.close();
  folder?.remove();
  process.exit();
});
answerOn(line, await begun());
