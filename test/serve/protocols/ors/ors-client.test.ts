// The unmodified client of the Open Reward Standard plays whole episodes; `openreward` does so in the example for TRL. It comes into
// test/.cache, once; where pip cannot have it the test says so and skips.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningServer } from '../../../../src/serve/index.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../../python-client.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

const script = fileURLToPath(new URL('./ors-client.py', import.meta.url));
const { calls, say } = helpdeskReference('unlock-after-holiday');
const solution = [...calls, { name: 'respond_to_user', arguments: { content: say } }];

let server: RunningServer;
let clients: PythonClient | string;

beforeAll(async () => {
  clients = await pythonClient('ors');
  server = await serveScenarios(['helpdesk', 'pendulum']);
}, INSTALL_TIME);
afterAll(() => server.stop(0));

interface Step {
  readonly text: string;
  readonly reward: number | null;
  readonly finished: boolean;
  readonly metadata: { readonly step_reward: number | null };
}

it('the client of the standard plays helpdesk to reward 1 and pendulum to its return', async (context) => {
  if (typeof clients === 'string') return context.skip(clients);
  // biome-ignore lint/suspicious/noExplicitAny: what Python printed
  const seen: any = await clients.run(script, { url: server.url, calls: solution });
  expect(seen.prompt[1]).toContain('Marta Teixeira');
  expect(seen.tools).toEqual(seen.listed);
  expect(seen.tools.at(-1)).toBe('respond_to_user');
  expectSolved(seen.steps);
  expect(seen.after).toContain('finished');
  const { steps, prompt } = seen.pendulum as { steps: Step[]; prompt: string[] };
  expect(prompt[0]).toContain('box [1] in -2..2');
  expect(steps.map(({ finished }) => finished).indexOf(true)).toBe(199);
  const sum = steps.reduce((total, { metadata }) => total + metadata.step_reward!, 0);
  expect(steps[199].reward).toBeCloseTo(sum, 8);
  expect(steps.slice(0, 199).every(({ reward }) => reward === null)).toBe(true);
  expect(JSON.parse(steps[0].text)).toHaveLength(3);
  expect(seen.seeds).toBe(1000);
  expect(seen.splits).toEqual(['train', 'validation', 'test']);
  expect(seen.tasks).toHaveLength(seen.tasks.at(-1).index + 1);
  expect(seen.range).toEqual([1, 2]);
  expect(seen.openai).toMatchObject({ type: 'function', name: seen.tools[0] });
  expect(seen.wrong).toContain('expected a number or a list of numbers');
});

/** Rewards on the way are null: clients keep the last that is not. */
function expectSolved(steps: readonly Step[]): void {
  expect(steps.map(({ finished }) => finished)).toEqual([...calls.map(() => false), true]);
  expect(steps.map(({ reward }) => reward)).toEqual([...calls.map(() => null), 1]);
}
