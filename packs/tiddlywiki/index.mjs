// TiddlyWiki (Jeremy Ruston and others, BSD): a wiki of small notes whose browser and server are nobody's here. Tasks are done in its
// pages and checked by what its server has. Nothing of it is here but how it is started and what notes a task begins with.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { applicationDomain, appNotFound, definePlugin } from 'reverie/extend';
import { TASKS } from './tasks.mjs';

/** The package's program and its version. */
function find(named) {
  const from = named ? `${named}/package.json` : 'tiddlywiki/package.json';
  try {
    const file = createRequire(join(process.cwd(), 'here.js')).resolve(from);
    return { program: join(dirname(file), 'tiddlywiki.js'), version: createRequire(file)('./package.json').version };
  } catch {
    const install = 'Run "npm install tiddlywiki@5.4.1", or name its folder: domain.app, or TIDDLYWIKI_PATH.';
    throw appNotFound('TiddlyWiki', from, install);
  }
}

/** For a domain of other tasks in it, too. */
export const TIDDLYWIKI = {
  id: 'tiddlywiki',
  name: 'TiddlyWiki',
  summary: 'Notes in TiddlyWiki, a wiki with a server, in Chromium.',
  place: {
    what: 'folder of the npm package',
    variable: 'TIDDLYWIKI_PATH',
    otherwise: 'where Node finds it from here',
  },
  find,
  command: (program) => [process.execPath, program, '{data}', '--listen', 'host=127.0.0.1', 'port={port}'],
  path: '/',
  judge: new URL('judge.mjs', import.meta.url),
  tasks: TASKS,
  // What is written is sent to the server within a second.
  settle: 2_000,
  policy:
    'You keep notes in a wiki, which you use in a browser. The screen is shown as a tree of elements, each with its id in brackets. Take one action each turn and see what the screen becomes. A note that is written is stored once its changes are confirmed. An action that cannot be carried out changes nothing.',
};

export default definePlugin({ domains: [applicationDomain(TIDDLYWIKI)] });
