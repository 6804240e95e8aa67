// TiddlyWiki (Jeremy Ruston and others, BSD): a wiki of small notes whose browser and server are nobody's here. Tasks are done in its
// pages and checked by what its server has. Nothing of it is here but how it is started and what notes a task begins with.

import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { appNotFound, contentHash, definePlugin, screensDomain, z } from 'reverie/extend';
import { pagesOf, TASKS } from './tasks.mjs';

const settings = z.strictObject({
  app: z
    .string()
    .min(1)
    .optional()
    .describe(
      'tiddlywiki: folder of the npm package, relative to the scenario; default: $TIDDLYWIKI_PATH, else where Node finds it from here',
    ),
  screens: z
    .array(z.enum(Object.keys(TASKS)))
    .min(1)
    .optional()
    .describe('tiddlywiki: tasks by their names; default: all'),
  seeds: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('tiddlywiki: seeds of each task and split; default 5'),
});

/** The package's own folder and its version. */
function packageOf(given, folder) {
  const named = given ?? process.env.TIDDLYWIKI_PATH;
  const from = named ? `${resolve(folder, named)}/package.json` : 'tiddlywiki/package.json';
  try {
    const file = createRequire(join(process.cwd(), 'here.js')).resolve(from);
    return { home: dirname(file), version: createRequire(file)('./package.json').version };
  } catch {
    const install = 'Run "npm install tiddlywiki@5.4.1", or name its folder: domain.app, or TIDDLYWIKI_PATH.';
    throw appNotFound('TiddlyWiki', from, install);
  }
}

const tiddlywiki = {
  name: 'tiddlywiki',
  summary: 'Notes in TiddlyWiki, a wiki with a server, in Chromium.',
  schema: settings,
  make: async () => async (given, folder) => {
    const { app, screens = Object.keys(TASKS), seeds = 5 } = settings.parse(given);
    const { home, version } = packageOf(app, folder);
    const pages = pagesOf(join(home, 'tiddlywiki.js'), screens, seeds);
    return screensDomain({
      id: 'tiddlywiki',
      pages,
      version: contentHash({ version, tasks: pages.map(({ app: { goal, files } }) => [goal, files]) }),
      contract: { begin: '() => {}', goal: '""', reward: '0', done: 'false', hidden: [] },
      browser: 'chromium',
      // What is written is sent to the server within a second.
      settle: 2_000,
      timeoutSeconds: 180,
      policy: POLICY,
    });
  },
};

const POLICY =
  'You keep notes in a wiki, which you use in a browser. The screen is shown as a tree of elements, each with its id in brackets. Take one action each turn and see what the screen becomes. A note that is written is stored once its changes are confirmed. An action that cannot be carried out changes nothing.';

export default definePlugin({ domains: [tiddlywiki] });
