// A real Chromium that looks at the page, and watches what the page does behind one's back: errors, and requests that
// leave the server.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { build } from 'vite';
import { isCurrent, PAGE, pageSources } from '../../../scripts/stamps.mjs';

const EXECUTABLE = process.env['REVERIE_CHROMIUM'] ?? '/usr/bin/chromium';

/** Why there is no browser to test with; undefined where there is one. */
export const noBrowser = existsSync(EXECUTABLE) ? undefined : `there is no Chromium at ${EXECUTABLE}`;

const CONFIG = fileURLToPath(new URL('../../../web/vite.config.ts', import.meta.url));
const CACHE = new URL('../../.cache/', import.meta.url);
const SET_UP = fileURLToPath(new URL('../../../dist/web/', import.meta.url));

/** The folder of the page as it is now: what set-up built, or built into a folder that no other test file builds into. */
export async function builtPage(name = 'web'): Promise<string> {
  if (isCurrent(PAGE, pageSources())) return SET_UP;
  const outDir = fileURLToPath(new URL(`${name}/`, CACHE));
  await build({ configFile: CONFIG, logLevel: 'error', build: { outDir } });
  return outDir;
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
}

export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

export interface Watched {
  readonly page: Page;
  /** What the console and the page complained of, and requests to elsewhere. */
  readonly complaints: readonly string[];
}

export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request to ${request.url()}`);
  });
  return { page, complaints };
}
