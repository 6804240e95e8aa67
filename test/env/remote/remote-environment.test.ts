// Environments on a server keep the contract, and are to the bit what they are in this process.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Environment, VectorEnvironment } from '../../../src/core/environment.js';
import { Rng } from '../../../src/core/rng.js';
import { checkEnvironment, describeReport } from '../../../src/env/check-environment.js';
import {
  type RemoteToolsEnvironment,
  type RemoteVectorEnvironment,
  remoteEnvironment,
} from '../../../src/env/remote/remote-environment.js';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { serveScenarios } from '../../serve/running-server.js';
import { environmentContract, randomAction } from '../environment.contract.js';

const NAMES = ['pendulum', 'cartpole', 'helpdesk', 'cellar'];
let server: RunningServer;

beforeAll(async () => {
  const scenarios = await Promise.all(NAMES.map((name) => loadAnyScenario(name)));
  server = await serveScenarios([], { scenarios });
});
afterAll(() => server.stop(0));

const remote = (environment: string) => remoteEnvironment(server.url, { environment });
const local = (name: string): Promise<Environment> => server.sessions.environments.get(name)!.make();

environmentContract('cart-pole on a server', async () => (await remote('cartpole')) as RemoteVectorEnvironment);

describe('an environment on a server', () => {
  it.each(['helpdesk', 'cellar'])('of language is sound too: %s', async (name) => {
    const report = await checkEnvironment(() => remote(name), { steps: 8 });
    expect(report.passed, describeReport(report)).toBe(true);
    expect(report.checks.filter(({ skipped }) => skipped !== undefined)).toEqual([]);
  });

  it('is to the bit what it is here', async () => {
    const lived = async (env: VectorEnvironment) => {
      const rng = Rng.fromSeed(5);
      const seen: unknown[] = [[...(await env.reset({ seed: 9 })).observation]];
      for (let i = 0; i < 60; i++) {
        const { observation, reward, terminated, truncated } = await env.step(randomAction(env, rng));
        seen.push([...observation, reward, terminated, truncated]);
        if (terminated || truncated) seen.push([...(await env.reset()).observation]);
      }
      await env.close();
      return seen;
    };
    for (const name of ['pendulum', 'cartpole']) {
      const there = (await remote(name)) as RemoteVectorEnvironment;
      expect(await lived(there)).toEqual(await lived((await local(name)) as VectorEnvironment));
    }
  });

  it('of tools gives the conversation that is held here, ids of calls included', async () => {
    const env = (await remote('helpdesk')) as RemoteToolsEnvironment;
    const [task] = await env.tasks('train');
    const call = { name: env.card.tools[0].name, arguments: {} };
    const talk = async (one: RemoteToolsEnvironment) => {
      const { observation } = await one.reset({ seed: 2, task: task.id });
      const snapshot = await one.snapshot();
      const steps = [
        await one.step({ toolCalls: [call, call] as never, content: null }),
        await one.step({ content: 'What can I do for you?' }),
      ];
      const said = [...one.messages];
      await one.restore(JSON.parse(JSON.stringify(snapshot)));
      await one.step({ toolCalls: [call, call] as never, content: null });
      const hashes = steps.map(({ info }) => info['stateHash']);
      return { observation, said, again: [...one.messages], rewards: steps.map(({ reward }) => reward), hashes };
    };
    const there = await talk(env);
    const here = (await local('helpdesk')) as RemoteToolsEnvironment;
    expect(there).toEqual(await talk(here));
    expect(there.said.filter(({ role }) => role === 'tool').length).toBe(2);
    expect(there.hashes[0]).toMatch(/^[0-9a-f]{64}$/);
    await env.close();
    await here.close();
  });

  it('leaves no session behind, and is closed once', async () => {
    const before = server.sessions.list('').length;
    const env = (await remote('pendulum')) as RemoteVectorEnvironment;
    await env.reset({ seed: 1 });
    await env.close();
    await env.close();
    expect(server.sessions.list('').length).toBe(before);
    await expect(env.reset()).rejects.toMatchObject({ code: 'ENV_CLOSED' });
  });
});
