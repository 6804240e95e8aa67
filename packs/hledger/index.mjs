// hledger-web (Simon Michael and others, GPL-3+): books of a household, kept in its pages by its server, neither of which is ours. Tasks
// are done in the pages and checked by the entries that its books have afterwards. Nothing of it is here but how it is started.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { applicationDomain, appNotFound, definePlugin } from 'reverie/extend';
import { TASKS } from './tasks.mjs';

/** The program and what it says of itself. */
function find(named) {
  const places = (process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'hledger-web'));
  const program = named ?? places.find((place) => existsSync(place));
  try {
    return { program, version: execFileSync(program ?? 'hledger-web', ['--version'], { encoding: 'utf8' }).trim() };
  } catch {
    const install = 'On Debian: apt-get install hledger-web. Or name the program: domain.app, or HLEDGER_WEB.';
    throw appNotFound('hledger-web', program ?? 'PATH', install);
  }
}

function command(program) {
  const address = ['--host', '127.0.0.1', '--port', '{port}'];
  return [program, '--serve', ...address, '--file', '{data}/household.journal', '--capabilities', 'view,add,manage'];
}

const hledger = applicationDomain({
  id: 'hledger',
  name: 'hledger-web',
  summary: 'Books of a household in hledger-web, in Chromium.',
  place: { what: 'the program hledger-web', variable: 'HLEDGER_WEB', otherwise: 'where PATH has it' },
  find,
  command,
  path: '/journal',
  judge: new URL('judge.mjs', import.meta.url),
  tasks: TASKS,
  policy:
    'You keep the books of a household with hledger, which you use in a browser. The screen is shown as a tree of elements, each with its id in brackets. Take one action each turn and see what the screen becomes. An action that cannot be carried out changes nothing.',
});

export default definePlugin({ domains: [hledger] });
