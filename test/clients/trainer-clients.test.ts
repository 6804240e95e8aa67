// Clients for trainers, run by Python as they are; TRL's and verl's own code is run in trl.test.ts and verl.test.ts.

import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../src/serve/index.js';
import { serveScenarios } from '../serve/running-server.js';
import { call, record } from '../synth/episode-records.js';
import { exported } from '../synth/export-episodes/exported.js';
import { temporaryFolder } from '../temporary-folder.js';

const execute = promisify(execFile);
const isPythonThere = (() => {
  try {
    execFileSync('python3', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

let server: RunningServer;
let folder: string;

beforeAll(async () => {
  server = await serveScenarios(['helpdesk', 'cellar', 'pendulum']);
  folder = temporaryFolder('clients');
});
afterAll(() => server.stop(0));

/** What a script says that imports a client for an environment with this card, which is all that its server tells. */
async function drivenBy(card: object, driver: string) {
  const server = createServer((_, response) => response.end(JSON.stringify({ environments: [card] })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return driven(`http://127.0.0.1:${port}`, undefined, driver).finally(() => server.close());
}

/** What a script says that imports a client for an environment of a server. */
async function driven(url: string, env: string | undefined, driver: string) {
  const path = join(mkdtempSync(join(folder, 'run-')), 'driver.py');
  writeFileSync(path, driver);
  const variables = { PYTHONPATH: resolve('clients'), PYTHONDONTWRITEBYTECODE: '1', REVERIE_URL: url };
  const { stdout } = await execute('python3', [path], {
    env: { ...process.env, ...variables, ...(env === undefined ? {} : { REVERIE_ENV: env }) },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

describe.skipIf(!isPythonThere)('what connects a trainer to a server', () => {
  it('is Python that parses', () => {
    for (const name of ['reverie_trl.py', 'reverie_verl.py']) {
      execFileSync('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', `clients/${name}`]);
    }
  });

  it('types arguments through references, all that they must fit, and alternatives', async () => {
    const $defs = {
      item: { type: 'string' },
      line: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
      tree: { type: 'array', items: { $ref: '#/$defs/tree' } },
    };
    const list = { type: 'array', items: { $ref: '#/$defs/item' } };
    const properties = {
      item: { $ref: '#/$defs/item' },
      items: { anyOf: [list, { type: 'string' }] },
      maybe: { oneOf: [{ type: 'number' }, { type: 'null' }] },
      both: { type: ['integer', 'string', 'null'] },
      level: { enum: [1, 2] },
      tree: { $ref: '#/$defs/tree' },
      count: {},
    };
    const parameters = {
      type: 'object',
      $defs,
      allOf: [{ $ref: '#/$defs/line' }],
      properties,
      required: ['item', 'items'],
    };
    const card = {
      name: 'depot',
      family: 'tools',
      is_default: true,
      tools: [{ name: 'ship', description: 'Ships.', parameters }],
    };
    const types = await drivenBy(
      card,
      `
import inspect, json, reverie_trl
found = inspect.signature(reverie_trl.Environment.ship).parameters.values()
print(json.dumps({one.name: [str(one.annotation), one.default is inspect.Parameter.empty] for one in found}))`,
    );
    expect(types).toMatchObject({
      item: ["<class 'str'>", true],
      items: ['list[str] | str', true],
      count: ["<class 'int'>", true],
      maybe: ['float | None', false],
      both: ['int | str | None', false],
      level: ['int | None', false],
    });
    expect(types.tree[0]).toMatch(/^list\[list/);
  });

  it('makes rollouts of exported episodes for TRL: speech is a call, as names are that Python can bind', async () => {
    const episodes = join(folder, 'export');
    await exported(episodes, 'trl', [
      record({
        turns: [
          { user: 'Where?' },
          call('get_parcel', { parcel_id: 'P100', weight: 0.7 }, 'here'),
          { say: 'Here.', reasoning: 'So.' },
          { user: 'Thanks.' },
          { say: 'Bye.' },
        ],
      }),
    ]);
    const properties = { parcel_id: { type: 'string' }, from: { type: 'string' } };
    const tool = { name: 'get-user', description: 'Who?', parameters: { type: 'object', properties } };
    const card = { name: 'desk', family: 'tools', is_default: true, tools: [tool] };
    const driver = `
import json, reverie_trl
print(json.dumps([list(reverie_trl.imitation(${JSON.stringify(episodes)})), reverie_trl.RENAMED, reverie_trl.HOW]))`;
    const desk = await drivenBy(card, driver);
    const called = (name: string, given: object) => ({ type: 'function', function: { name, arguments: given } });
    const turn = (...calls: object[]) => ({ role: 'assistant', content: '', tool_calls: calls });
    const [[{ messages }], renamed, how] = desk;
    const rules = 'You help with parcels. Make one call at a time.';
    expect(renamed).toMatchObject({ 'get-user': ['get_user', { parcel_id: 'parcel_id', from: 'from_' }] });
    expect(messages).toEqual([
      { role: 'user', content: `${how}${rules}\n\nWhere?` },
      turn(called('get_parcel', { parcel_id: 'P100', weight: 0.7 })),
      { role: 'tool', name: 'get_parcel', content: 'here' },
      { ...turn(called('respond_to_user', { content: 'Here.' })), reasoning_content: 'So.' },
      { role: 'tool', name: 'respond_to_user', content: 'Thanks.' },
      turn(called('respond_to_user', { content: 'Bye.' })),
    ]);
    const [[game], , wish] = await driven(server.url, 'cellar', driver);
    expect(game.messages[0]).toEqual({ role: 'user', content: `${wish}Where?` });
    expect(game.messages.at(-1)).toEqual({ role: 'assistant', content: 'Bye.' });
  });

  it('is refused where trainer and family do not go together, or nothing is served by that name', async () => {
    await expect(driven(server.url, 'pendulum', 'import reverie_trl')).rejects.toThrow('are numbers');
    await expect(driven(server.url, 'nowhere', 'import reverie_trl')).rejects.toThrow('does not serve nowhere');
  });
});
