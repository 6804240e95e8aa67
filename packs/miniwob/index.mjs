// MiniWoB++ (Liu et al., "Reinforcement Learning on Web Interfaces Using Workflow-Guided Exploration", arXiv 1802.08802): small pages,
// each a task that another seed sets anew. The pages are those of the Python package `miniwob`, which the user has; nothing of them
// is here but their names and how they are begun and read.

import { definePlugin, z } from 'reverie/extend';
import { domainOf, filesOf, homeOf, namesOf } from './pages.mjs';

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
  screenshots: z.boolean().optional().describe('screens have a picture, and boxes of their elements; in Chromium'),
});

const miniwob = {
  name: 'miniwob',
  summary: 'The tasks of MiniWoB++ on their own pages, in jsdom or in Chromium.',
  schema: settings,
  files: ({ pages, screens, browser = 'jsdom' }, folder) => {
    try {
      const home = homeOf(pages, folder);
      return filesOf(home, namesOf(home, browser, screens));
    } catch {
      // What is missing is told by whoever opens the pages.
      return [];
    }
  },
  make: async () => async (given, folder) => {
    const { pages, screens, seeds = 5, browser = 'jsdom', screenshots } = settings.parse(given);
    const home = homeOf(pages, folder);
    const shown = {
      ...(screenshots && { screenshots }),
    };
    return domainOf(home, { names: namesOf(home, browser, screens), seeds, browser, ...shown });
  },
};

export default definePlugin({ domains: [miniwob] });
