// MiniWoB++ (Liu et al., "Reinforcement Learning on Web Interfaces Using Workflow-Guided Exploration", arXiv 1802.08802): small pages,
// each a task that another seed sets anew. The pages are those of the Python package `miniwob`, which the user has; nothing of them
// is here but their names and how they are begun and read.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { contentHash, definePlugin, pagesNotFound, pageUnknown, pythonPackage, screensDomain, z } from 'reverie/extend';
import { SOLVERS } from './solvers.mjs';
import { IN_JSDOM } from './tasks.mjs';

const WHAT = 'MiniWoB++';
const PACKAGE = { what: WHAT, package: 'miniwob', variable: 'MINIWOB_PATH' };

/** First seed of each split. The authors have none: any seed is another task. */
const FIRST_SEED = { train: 0, validation: 1_000_000, test: 2_000_000 };

const settings = z.strictObject({
  pages: z
    .string()
    .min(1)
    .optional()
    .describe(
      'miniwob: folder of the pages, relative to the scenario; default: $MINIWOB_PATH, else where Python has the package',
    ),
  screens: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('miniwob: tasks by their names; default: all that the browser can do'),
  seeds: z.number().int().min(1).max(1_000_000).optional().describe('miniwob: seeds of each task and split; default 5'),
  browser: z
    .enum(['jsdom', 'chromium'])
    .optional()
    .describe('miniwob: what runs the pages: jsdom (default), which has no layout, or Chromium'),
});

/** Folder that holds `core`, `common` and `miniwob`. */
function homeOf(given, folder) {
  const named = given ?? process.env.MINIWOB_PATH;
  const place = named ? resolve(folder, named) : fromPython();
  for (const home of [place, join(place, 'html'), join(place, 'miniwob', 'html')]) {
    if (existsSync(join(home, 'miniwob', 'click-button.html'))) return home;
  }
  throw pagesNotFound(PACKAGE, place, existsSync(place) ? 'there is no miniwob/click-button.html' : 'there is nothing');
}

function fromPython() {
  const found = pythonPackage('miniwob');
  if ('folder' in found) return found.folder;
  throw pagesNotFound(PACKAGE, found.python, found.problem ?? 'this Python has no miniwob');
}

function namesOf(home, { screens, browser = 'jsdom' }) {
  const all = readdirSync(join(home, 'miniwob'))
    .filter((file) => file.endsWith('.html'))
    .map((file) => file.slice(0, -'.html'.length))
    .sort();
  const able = browser === 'jsdom' ? all.filter((name) => IN_JSDOM.includes(name)) : all;
  for (const name of screens ?? []) {
    const where = all.includes(name) ? ' that can be done in jsdom (it needs domain.browser: chromium)' : '';
    if (!able.includes(name)) throw pageUnknown(WHAT, name, where, able);
  }
  return screens ?? able;
}

/** All files that decide what the pages are, in a fixed order. */
function filesOf(home, names) {
  const shared = ['core', 'common'].flatMap((part) => filesBelow(join(home, part)));
  return [...shared, ...names.map((name) => join(home, 'miniwob', `${name}.html`))];
}

function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .sort();
}

/** What the pages offer to whoever runs them (core.js). Their clock, which would end a task after ten seconds, is stopped. */
const CONTRACT = {
  begin:
    'function (seed) { Math.seedrandom(seed); core.EPISODE_MAX_TIME = 2147483647; WOB_EPISODE_ID = 1; core.startEpisodeReal(); }',
  goal: 'core.getUtterance()',
  reward: 'WOB_RAW_REWARD_GLOBAL',
  done: 'WOB_DONE_GLOBAL',
  hidden: ['#reward-display', '#sync-task-cover', '#click-canvas', '#query'],
};

function pagesOf(home, names, seeds) {
  return names.flatMap((name) =>
    Object.entries(FIRST_SEED).flatMap(([split, first]) =>
      Array.from({ length: seeds }, (_, i) => ({
        id: `${name}.${first + i}`,
        file: join(home, 'miniwob', `${name}.html`),
        seed: first + i,
        family: name,
        split,
        tags: [name],
        ...(SOLVERS[name] && { solve: SOLVERS[name] }),
      })),
    ),
  );
}

const miniwob = {
  name: 'miniwob',
  summary: 'The tasks of MiniWoB++ on their own pages, in jsdom or in Chromium.',
  schema: settings,
  files: (given, folder) => {
    try {
      const home = homeOf(given.pages, folder);
      return filesOf(home, namesOf(home, given));
    } catch {
      // What is missing is told by whoever opens the pages.
      return [];
    }
  },
  make: async () => async (given, folder) => {
    const { pages, seeds = 5, browser = 'jsdom', ...rest } = settings.parse(given);
    const home = homeOf(pages, folder);
    const names = namesOf(home, { ...rest, browser });
    const files = filesOf(home, names).map((file) => [relative(home, file), readFileSync(file).toString('base64')]);
    return screensDomain({
      id: 'miniwob',
      pages: pagesOf(home, names, seeds),
      version: contentHash(files),
      contract: CONTRACT,
      browser,
    });
  },
};

export default definePlugin({ domains: [miniwob] });
