// What `reverie client` prints is run by Python as it is; verl's own code is run in verl.test.ts.

import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchGlueTarget, GLUE_KINDS, type GlueKind, glueText, type RunningServer } from '../../../src/serve/index.js';
import { call, record } from '../../synth/episode-records.js';
import { exported } from '../../synth/export-episodes/exported.js';
import { serveScenarios } from '../running-server.js';

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
  folder = mkdtempSync(join(tmpdir(), 'reverie-glue-'));
});
afterAll(() => server.stop(0));

async function printed(kind: GlueKind, env: string): Promise<string> {
  return glueText(kind, await fetchGlueTarget(server.url, env));
}

/** Runs `driver` beside the printed file `module`; what it printed. */
async function driven(module: string, text: string, driver: string) {
  const place = mkdtempSync(join(folder, 'run-'));
  for (const [path, content] of Object.entries({ [`${module}.py`]: text, 'driver.py': driver })) {
    writeFileSync(join(place, path), content);
  }
  const { stdout } = await execute('python3', ['driver.py'], { cwd: place });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

describe.skipIf(!isPythonThere)('what connects a trainer to a server', () => {
  it('is Python that parses, for every trainer and family that go together', async () => {
    for (const kind of GLUE_KINDS) {
      for (const env of kind === 'gym' ? ['pendulum', 'cellar'] : ['helpdesk', 'cellar']) {
        const text = await printed(kind, env);
        expect(text).not.toMatch(/@[A-Z]+@/);
        execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: text });
      }
    }
  });

  it('makes methods of the tools for TRL, by which a task can be solved', async () => {
    const { default: yaml } = { default: await import('yaml') };
    const { readFileSync } = await import('node:fs');
    const tasks = yaml.parse(readFileSync('packs/helpdesk/tasks.yaml', 'utf8')) as {
      id: string;
      split?: string;
      reference?: { calls: { name: string; arguments: object }[]; say?: string };
    }[];
    const task = tasks.find(({ reference, split }) => reference !== undefined && split !== 'test')!;
    const driver = `
import inspect, json
from reverie_trl import Environment, Reverie, reward
env = Environment()
opening = env.reset(task=${JSON.stringify(task.id)}, seed=1, prompt="a column of the dataset")
for call in json.loads(${JSON.stringify(JSON.stringify(task.reference!.calls))}):
    getattr(env, call["name"])(**call["arguments"])
while not env._done:
    env.respond_to_user(content=${JSON.stringify(task.reference!.say ?? 'It is done. Good-bye.')})
try:
    env.respond_to_user(content="more")
    over = "went on"
except ValueError as error:
    over = str(error)
tools = [name for name, _ in inspect.getmembers(Environment, inspect.isfunction) if not name.startswith("_")]
doc = inspect.getdoc(getattr(Environment, ${JSON.stringify(task.reference!.calls[0].name)}))
rewards = reward(environments=[env], completions=["a column of TRL"])
Reverie.ask("DELETE", f"/v1/sessions/{env._session.id}")
again = env.reset(task=${JSON.stringify(task.id)}, seed=1)
try:
    env.reset(task="nothing like it")
    refusal = None
except RuntimeError as error:
    refusal = str(error)
print(json.dumps({"opening": opening, "rewards": rewards, "over": over, "tools": tools, "doc": doc, "again": again,
                  "refusal": refusal}))
`;
    const found = await driven('reverie_trl', await printed('trl', 'helpdesk'), driver);
    expect(found).toMatchObject({ rewards: [1], over: 'The episode is over.', again: found.opening });
    expect(found.refusal).toContain('nothing like it');
    expect(found.opening.length).toBeGreaterThan(100);
    expect(found.tools).toEqual(expect.arrayContaining(['reset', 'respond_to_user']));
    // Beside a reward function, TRL would count it again; before it knew the name, as a tool.
    expect(found.tools).not.toContain('get_reward');
    expect(found.doc).toMatch(/\n\nArgs:\n {4}\w+: /);
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
    const target = await fetchGlueTarget(server.url, 'helpdesk');
    const driver = `
import json, reverie_trl
print(json.dumps([list(reverie_trl.imitation(${JSON.stringify(episodes)})), reverie_trl.RENAMED, reverie_trl.HOW]))`;
    const desk = await driven('reverie_trl', glueText('trl', { ...target, tools: [tool] }), driver);
    const called = (name: string, given: object) => ({ type: 'function', function: { name, arguments: given } });
    const turn = (...calls: object[]) => ({ role: 'assistant', content: '', tool_calls: calls });
    const [[{ messages }], renamed, how] = desk;
    const rules = 'You help with parcels. Make one call at a time.';
    expect(renamed).toEqual({ 'get-user': ['get_user', { from: 'from_' }] });
    expect(messages).toEqual([
      { role: 'user', content: `${how}${rules}\n\nWhere?` },
      turn(called('get_parcel', { parcel_id: 'P100', weight: 0.7 })),
      { role: 'tool', name: 'get_parcel', content: 'here' },
      { ...turn(called('respond_to_user', { content: 'Here.' })), reasoning_content: 'So.' },
      { role: 'tool', name: 'respond_to_user', content: 'Thanks.' },
      turn(called('respond_to_user', { content: 'Bye.' })),
    ]);
    const [[game], , wish] = await driven('reverie_trl', await printed('trl', 'cellar'), driver);
    expect(game.messages[0]).toEqual({ role: 'user', content: `${wish}Where?` });
    expect(game.messages.at(-1)).toEqual({ role: 'assistant', content: 'Bye.' });
  });

  it('never makes 0 of a reward that could not be judged', async () => {
    for (const kind of GLUE_KINDS) {
      const text = await printed(kind, kind === 'gym' ? 'pendulum' : 'cellar');
      expect(text, kind).not.toMatch(/reward.*\bor 0/);
    }
  });

  it('waits for a server that is still starting', async () => {
    let asked = 0;
    const starting = createServer(async ({ url }, response) => {
      if (asked++ < 2) return response.writeHead(503).end('{}');
      const answer = await fetch(`${server.url}${url}`);
      response.writeHead(answer.status).end(await answer.text());
    });
    await new Promise<void>((resolve) => starting.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = starting.address() as AddressInfo;
      expect(await fetchGlueTarget(`http://127.0.0.1:${port}`)).toMatchObject({ family: expect.any(String) });
      expect(asked).toBe(3);
    } finally {
      starting.close();
    }
  });

  it('is refused where trainer and family do not go together', async () => {
    await expect(printed('trl', 'pendulum')).rejects.toMatchObject({ code: 'GLUE_UNFIT' });
    await expect(printed('gym', 'helpdesk')).rejects.toMatchObject({ code: 'GLUE_UNFIT' });
    await expect(printed('trl', 'nowhere')).rejects.toMatchObject({ code: 'ENV_NOT_SERVED' });
    await expect(fetchGlueTarget('http://127.0.0.1:9')).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
  });
});
