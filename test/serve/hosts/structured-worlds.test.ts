// Worlds of tools in threads: nobody waits for the rules of another world. That clients cannot tell: language-models.test.ts.

import { expect, it, onTestFinished, vi } from 'vitest';
import { ask, serveScenarios } from '../running-server.js';
import { spinningWorld } from './spinning-world.js';

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

it('a rule that loops keeps nobody waiting in another world', async () => {
  const server = await serveScenarios(['pendulum', spinningWorld()], { workers: 1 });
  onTestFinished(() => server.stop(0));
  const [pendulum, spinning] = ['one', 'two'].map((id) => `${server.url}/v1/sessions/${id}`);
  await ask(`${server.url}/v1/sessions`, { env: 'pendulum', id: 'one' });
  await ask(`${server.url}/v1/sessions`, { env: 'spinning', id: 'two' });
  for (const session of [pendulum, spinning]) await ask(`${session}/reset`, { seed: 1 });
  let isSpinning = true;
  void ask(`${spinning}/step`, { action: { tool_calls: [{ name: 'spin', arguments: {} }] } })
    .catch(() => {})
    .finally(() => {
      isSpinning = false;
    });
  for (let step = 0; step < 10; step++) expect((await ask(`${pendulum}/step`, { action: [0.1] })).status).toBe(200);
  // When it is stopped, the tests of the sandbox say; the end of its server is soon enough here.
  expect(isSpinning).toBe(true);
});
