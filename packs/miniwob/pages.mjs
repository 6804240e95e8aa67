// The pages of MiniWoB++: where they lie, which there are, and how they are begun and read.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { contentHash, pagesNotFound, pageUnknown, pythonPackage, screensDomain, seededPages } from 'reverie/extend';
import { SOLVERS } from './solvers.mjs';
import { IN_JSDOM } from './tasks.mjs';

const WHAT = 'MiniWoB++';
const PACKAGE = { what: WHAT, package: 'miniwob', variable: 'MINIWOB_PATH' };

/** A page that is always there. */
const A_PAGE = 'miniwob/click-button.html';

/** Folder that holds `core`, `common` and `miniwob`. */
export function homeOf(given, folder) {
  const named = given ?? process.env.MINIWOB_PATH;
  const place = named ? resolve(folder, named) : fromPython();
  const places = [place, join(place, 'html'), join(place, 'miniwob', 'html')];
  const home = places.find((one) => existsSync(join(one, A_PAGE)));
  if (home !== undefined) return home;
  throw pagesNotFound(PACKAGE, place, existsSync(place) ? `there is no ${A_PAGE}` : 'there is nothing');
}

function fromPython() {
  const found = pythonPackage('miniwob');
  if ('folder' in found) return found.folder;
  throw pagesNotFound(PACKAGE, found.python, found.problem ?? 'this Python has no miniwob');
}

/** Names of tasks: those wanted, or all that the browser can do. */
export function namesOf(home, browser, wanted) {
  const all = readdirSync(join(home, 'miniwob'))
    .filter((file) => file.endsWith('.html'))
    .map((file) => file.slice(0, -'.html'.length))
    .sort();
  const able = browser === 'jsdom' ? all.filter((name) => IN_JSDOM.includes(name)) : all;
  for (const name of wanted ?? []) {
    const where = all.includes(name) ? ' that can be done in jsdom; it needs "browser: chromium"' : '';
    if (!able.includes(name)) throw pageUnknown(WHAT, name, where, able);
  }
  return wanted ?? able;
}

/** All files that decide what the pages are, in a fixed order. */
export function filesOf(home, names) {
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

/** Tasks by name, so many seeds of each split. */
export function domainOf(home, { names, seeds, browser, ...limits }) {
  const files = filesOf(home, names).map((file) => [relative(home, file), readFileSync(file).toString('base64')]);
  // The authors have no splits: any seed is another task.
  const pages = seededPages(names, seeds, (name) => ({
    file: join(home, 'miniwob', `${name}.html`),
    ...(SOLVERS[name] && { solve: SOLVERS[name] }),
  }));
  return screensDomain({
    id: 'miniwob',
    pages,
    version: contentHash(files),
    contract: CONTRACT,
    browser,
    ...limits,
  });
}
