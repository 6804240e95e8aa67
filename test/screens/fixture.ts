// Pages of ours, as a domain: the contract of MiniWoB++'s pages in other words.

import { fileURLToPath } from 'node:url';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { type ScreensDomainOptions, screensDomain } from '../../src/screens/screens-domain.js';

export const CONTRACT = { begin: 'begin', goal: 'GOAL', reward: 'REWARD', done: 'DONE', hidden: ['#secret'] };

export function pageFile(name: string): string {
  return fileURLToPath(new URL(`./pages/${name}.html`, import.meta.url));
}

/** Three tasks of a page. */
export function pagesDomain(name: string, options: Partial<ScreensDomainOptions> = {}): ToolsDomain {
  const pages = [1, 2, 3].map((seed) => ({ id: `${name}.${seed}`, file: pageFile(name), seed }));
  return screensDomain({ id: name, version: '1', contract: CONTRACT, browser: 'jsdom', pages, ...options });
}
