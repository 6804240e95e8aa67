// hledger-web (Simon Michael and others, GPL-3+): books of a household, kept in its pages by its server, neither of which is ours. Tasks
// are done in the pages and checked by the entries that its books have afterwards. Nothing of it is here but how it is started.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { appNotFound, contentHash, definePlugin, screensDomain, z } from 'reverie/extend';
import { pagesOf, TASKS } from './tasks.mjs';

const settings = z.strictObject({
  app: z
    .string()
    .min(1)
    .optional()
    .describe(
      'hledger: the program hledger-web, relative to the scenario; default: $HLEDGER_WEB, else where PATH has it',
    ),
  screens: z
    .array(z.enum(Object.keys(TASKS)))
    .min(1)
    .optional()
    .describe('hledger: tasks by their names; default: all'),
  seeds: z.number().int().min(1).max(1_000_000).optional().describe('hledger: seeds of each task and split; default 5'),
});

/** The program and what it says of itself. */
function programOf(given, folder) {
  const named = given ?? process.env.HLEDGER_WEB;
  const places = (process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'hledger-web'));
  const program = named ? resolve(folder, named) : places.find((place) => existsSync(place));
  try {
    return { program, version: execFileSync(program ?? 'hledger-web', ['--version'], { encoding: 'utf8' }).trim() };
  } catch {
    const install = 'On Debian: apt-get install hledger-web. Or name the program: domain.app, or HLEDGER_WEB.';
    throw appNotFound('hledger-web', program ?? 'PATH', install);
  }
}

const hledger = {
  name: 'hledger',
  summary: 'Books of a household in hledger-web, in Chromium.',
  schema: settings,
  make: async () => async (given, folder) => {
    const { app, screens = Object.keys(TASKS), seeds = 5 } = settings.parse(given);
    const { program, version } = programOf(app, folder);
    const pages = pagesOf(program, screens, seeds);
    return screensDomain({
      id: 'hledger',
      pages,
      version: contentHash({ version, tasks: pages.map(({ app: { goal, files } }) => [goal, files]) }),
      contract: { begin: '() => {}', goal: '""', reward: '0', done: 'false', hidden: [] },
      browser: 'chromium',
      timeoutSeconds: 180,
      policy: POLICY,
    });
  },
};

const POLICY =
  'You keep the books of a household with hledger, which you use in a browser. The screen is shown as a tree of elements, each with its id in brackets. Take one action each turn and see what the screen becomes. An action that cannot be carried out changes nothing.';

export default definePlugin({ domains: [hledger] });
