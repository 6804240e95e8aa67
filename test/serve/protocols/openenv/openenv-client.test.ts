// OpenEnv's Python package, unmodified, against our server.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { parse } from 'yaml';
import type { RunningServer } from '../../../../src/serve/index.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../../python-client.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

const TASK = 'unlock-after-holiday';
const TEXT_TASK = 'put-mug-shelf';
const script = fileURLToPath(new URL('./openenv_client.py', import.meta.url));
const cellar = fileURLToPath(new URL('../../../../packs/cellar/tasks.yaml', import.meta.url));

let client: PythonClient | string;
let server: RunningServer;
// biome-ignore lint/suspicious/noExplicitAny: what the script says
let result: any;

beforeAll(async () => {
  client = await pythonClient('openenv');
  if (typeof client === 'string') return;
  server = await serveScenarios(['pendulum', 'helpdesk', 'cellar'], { limits: { slots: 2 } });
  const { calls, say } = helpdeskReference(TASK);
  const turns = [...calls, { name: 'respond_to_user', arguments: { content: say } }];
  const tasks = parse(readFileSync(cellar, 'utf8')) as {
    id: string;
    reference: { calls: { arguments: { text: string } }[] };
  }[];
  result = await client.run(script, {
    url: server.url,
    task: TASK,
    calls: turns.map(({ name, arguments: given }) => ({ tool_name: name, arguments: given })),
    text_task: TEXT_TASK,
    text_actions: tasks.find(({ id }) => id === TEXT_TASK)!.reference.calls.map((call) => call.arguments.text),
  });
}, INSTALL_TIME);
afterAll(() => server?.stop(0));

function told(context: TestContext) {
  if (typeof client === 'string') return context.skip(client);
  return result;
}

describe("OpenEnv's clients", () => {
  it('GenericEnvClient plays an episode of numbers', (context) => {
    const { numbers } = told(context);
    expect(numbers).toMatchObject({ steps: 200, same: true, last: { ended: 'truncated' } });
    expect(numbers.state).toMatchObject({ episode_id: 'mine', step_count: 200 });
    expect(numbers.state.return).toBeCloseTo(numbers.sum, 9);
    expect(numbers.refused).toMatch(/^Server error: .*Reset it first\. \(code: EXECUTION_ERROR\)$/);
  });

  it('GenericEnvClient.sync() plays an episode of text to its reward', (context) => {
    expect(told(context).text).toMatchObject({ reward: 1, done: true, state: { task: TEXT_TASK, status: 'done' } });
  });

  it('GenericEnvClient plays an episode of tools to its reward', (context) => {
    const { tools } = told(context);
    expect(tools).toMatchObject({ tools: 19, rewards: [0, 0, 0, 0, 1], done: true });
    expect(tools.user).toContain('Marta Teixeira');
  });

  it('MCPToolClient calls tools by their names', (context) => {
    const { names, answers, refused, told: first } = told(context).mcp;
    expect(first).toMatchObject({ instructions: expect.stringContaining('# Service desk policy') });
    expect(first.user).toContain('Marta Teixeira');
    expect(names).toContain('respond_to_user');
    expect(JSON.parse(answers[0])).toMatchObject({ verified: true });
    expect(answers.at(-1)).toBe('No, that is all. Thank you.');
    expect(refused).toMatch(/no_such_tool|Reset it/);
  });

  it('six clients over two slots all get their turn', (context) => {
    expect(told(context).crowd).toEqual(Array.from({ length: 6 }, () => expect.any(Number)));
  });

  it('`openenv validate --url` passes all six checks, for the server and for one environment', (context) => {
    const all = { passed: true, failed: [] };
    expect(told(context).validated).toEqual([all, all]);
  });
});
