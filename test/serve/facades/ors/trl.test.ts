// TRL's OpenRewardSpec, unmodified, binds environments to what its trainer takes: rows, methods, rewards. pip brings torch
// with it, which is some gigabytes: only where REVERIE_TRL_SPEC=1.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../../src/serve/index.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../../python-client.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

const script = fileURLToPath(new URL('./trl-spec.py', import.meta.url));
/** Milliseconds; most of it goes into importing TRL. */
const PLAY_TIME = 300_000;

describe.skipIf(process.env['REVERIE_TRL_SPEC'] !== '1')("TRL's OpenRewardSpec", { timeout: PLAY_TIME }, () => {
  let server: RunningServer;
  let trl: PythonClient | string;

  beforeAll(async () => {
    trl = await pythonClient('trl-spec');
    server = await serveScenarios(['helpdesk', 'pendulum']);
  }, INSTALL_TIME);
  afterAll(() => server.stop(0));

  // biome-ignore lint/suspicious/noExplicitAny: what Python printed
  const bound = async (input: object): Promise<any> => {
    const env = { OPENREWARD_API_URL: server.url, OPENREWARD_SESSION_URL: server.url };
    return (trl as PythonClient).run(script, { url: server.url, env, ...input });
  };

  it('binds tools as methods, tasks as rows, and gets reward 1 for the reference solution', async (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const { calls, say } = helpdeskReference('unlock-after-holiday');
    const solution = [...calls, { name: 'respond_to_user', arguments: { content: say } }];
    const seen = await bound({ num_tasks: 4, row: 0, calls: solution });
    expect(seen.count).toBe(4);
    expect(seen.columns).toEqual(expect.arrayContaining(['prompt', 'task_index', 'id', 'split', 'group', 'tags']));
    expect(seen.opening).toContain('Marta Teixeira');
    expect(seen.methods).toEqual(expect.arrayContaining(['reset', 'restore_access', 'respond_to_user']));
    expect(seen.rewards).toEqual([...calls.map(() => null), 1]);
    expect(seen).toMatchObject({ reward: [1], finished: true });
  });

  it('leaves out optional arguments, and finds an environment by its name', async (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const devices = await bound({ num_tasks: 1, row: 0, calls: [{ name: 'find_devices', arguments: {} }] });
    expect(devices.texts[0]).toContain('laptop');
    const steps = Array.from({ length: 200 }, () => ({ name: 'step', arguments: { action: [0.5] } }));
    const seen = await bound({ env_name: 'pendulum', num_tasks: 8, row: 5, calls: steps });
    expect(seen.columns).toContain('seed');
    expect(seen).toMatchObject({ finished: true, reward: [expect.any(Number)] });
  });
});
