// Worlds that ask a language model, in threads: the model, its cache and its budget stay with the server, and clients are told
// the same as where all lives in one thread.

import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import { type RunningServer, startServer } from '../../../src/serve/index.js';
import {
  type ControlledModel,
  type ControlledOptions,
  startControlledModel,
} from '../../controlled/controlled-model.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { helpdeskReference } from '../protocols/reference-calls.js';
import { ask } from '../running-server.js';

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const TASK = 'unlock-after-holiday';
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

interface Served {
  readonly server: RunningServer;
  readonly model: ControlledModel;
}

async function served(
  workers: number,
  set: readonly string[] = [],
  options: Partial<ControlledOptions> = {},
): Promise<Served> {
  const domain = await loadDomain('packs/helpdesk');
  const model = await startControlledModel({ domain, seed: 5, malformedJson: 0.3, ...options });
  const llm = ['llm.provider=openai-compatible', `llm.url=${model.url}`, 'llm.model=controlled'];
  const scenario = await loadAnyScenario('helpdesk', {
    set: [...llm, 'model.backends=[llm]', 'user.kind=llm', ...set],
  });
  const folder = temporaryFolder('serve-llm');
  const server = await startServer({ scenarios: [scenario], folder, port: 0, workers, log: () => {} });
  closing.push(
    () => domain.close(),
    () => model.close(),
    () => server.stop(0),
  );
  return { server, model };
}

async function reset({ server }: Served): Promise<string> {
  const { body } = await ask(`${server.url}/v1/sessions`, { env: 'helpdesk' });
  const session = `${server.url}/v1/sessions/${body.id}`;
  await ask(`${session}/reset`, { task: TASK, seed: 3 });
  return session;
}

/** Every turn of the reference's solution, said to the user in the end. */
async function episode(world: Served, onTurn = async (_turn: number) => {}): Promise<unknown[]> {
  const session = await reset(world);
  const { calls, say } = helpdeskReference(TASK);
  const actions = [...calls.map((one) => ({ tool_calls: [one] })), { content: say }];
  const turns: unknown[] = [];
  for (const action of actions) {
    const { status, body } = await ask(`${session}/step`, { action });
    const { episode_id: _, info, ...turn } = body;
    const { attempt: __, ...outcome } = info?.outcome ?? {};
    turns.push({ status, ...turn, info: { ...info, outcome } });
    await onTurn(turns.length);
  }
  return turns;
}

describe('a world that asks a language model', () => {
  it('is told the same in a thread, and asks nothing twice though its thread dies', async () => {
    const [here, there] = [await served(0), await served(1)];
    const alone = await episode(here);
    expect(alone[0]).toMatchObject({ status: 200, info: { answered: [{ backend: 'llm' }] } });
    const restart = async (turn: number) => {
      if (turn === 2) await there.server.workerHost!.restart(0);
    };
    expect(await episode(there, restart)).toEqual(alone);
    expect(there.server.workerHost!.stats).toMatchObject({ environments: [1], restarts: [1] });
    expect(there.model.server.requests.length).toBe(here.model.server.requests.length);
    expect(there.model.asked).toEqual(here.model.asked);
    expect(await spent(there)).toBe(await spent(here));
  });

  it('is told of a budget that is spent by all of them together', async () => {
    const world = await served(2, ['synth.budget.calls=4']);
    const turns = await Promise.all([episode(world), episode(world)]);
    expect(turns.flat()).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: 'BUDGET_SPENT' }) }),
    );
    expect(world.model.server.requests.length).toBeLessThanOrEqual(4);
  });
});

async function spent({ server }: Served): Promise<string | undefined> {
  return (await server.metrics.text()).split('\n').find((line) => line.startsWith('reverie_model_tokens_total'));
}
