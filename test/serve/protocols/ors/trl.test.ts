// TRL's OpenRewardSpec, unmodified, binds environments to what its trainer takes: rows, methods, rewards. pip brings torch
// with it, which is some gigabytes: only where REVERIE_TRL_SPEC=1.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAnyScenario } from '../../../../src/run/scenario.js';
import type { RunningServer } from '../../../../src/serve/index.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../../python-client.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

const script = fileURLToPath(new URL('./trl-spec.py', import.meta.url));
/** Milliseconds; most of it goes into importing TRL. */
const PLAY_TIME = 300_000;

const { calls, say } = helpdeskReference('unlock-after-holiday');
/** Of an episode of the pendulum: enough to come to its end. */
const STEPS = 20;
// In one process, which imports TRL once.
const PLAYS = [
  { num_tasks: 4, row: 0, calls: [...calls, { name: 'respond_to_user', arguments: { content: say } }] },
  { num_tasks: 1, row: 0, calls: [{ name: 'find_devices', arguments: {} }] },
  {
    ...{ env_name: 'pendulum', num_tasks: 8, row: 5 },
    calls: Array.from({ length: STEPS }, () => ({ name: 'step', arguments: { action: [0.5] } })),
  },
];

describe.skipIf(process.env['REVERIE_TRL_SPEC'] !== '1')("TRL's OpenRewardSpec", { timeout: PLAY_TIME }, () => {
  let server: RunningServer | undefined;
  let trl: PythonClient | string;
  // biome-ignore lint/suspicious/noExplicitAny: what Python printed
  let seen: any[];

  beforeAll(async () => {
    trl = await pythonClient('trl-spec');
    if (typeof trl === 'string') return;
    const pendulum = await loadAnyScenario('pendulum', { set: [`env.maxEpisodeSteps=${STEPS}`] });
    const helpdesk = await loadAnyScenario('helpdesk', { set: ['user.varied=false'] });
    server = await serveScenarios([], { scenarios: [helpdesk, pendulum] });
    const { url } = server;
    const env = { OPENREWARD_API_URL: url, OPENREWARD_SESSION_URL: url };
    // biome-ignore lint/suspicious/noExplicitAny: what Python printed
    seen = (await trl.run(script, { url, env, plays: PLAYS })) as any[];
  }, INSTALL_TIME + PLAY_TIME);
  afterAll(() => server?.stop(0));

  it('binds tools as methods, tasks as rows, and gets reward 1 for the reference solution', (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const [solved] = seen;
    expect(solved.count).toBe(4);
    expect(solved.columns).toEqual(expect.arrayContaining(['prompt', 'task_index', 'id', 'split', 'group', 'tags']));
    expect(solved.opening).toContain('Marta Teixeira');
    expect(solved.methods).toEqual(expect.arrayContaining(['reset', 'restore_access', 'respond_to_user']));
    expect(solved.rewards).toEqual([...calls.map(() => null), 1]);
    expect(solved).toMatchObject({ reward: [1], finished: true });
  });

  it('leaves out optional arguments, and finds an environment by its name', (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const [, devices, pendulum] = seen;
    expect(devices.texts[0]).toContain('laptop');
    expect(pendulum.columns).toContain('seed');
    expect(pendulum).toMatchObject({ finished: true, reward: [expect.any(Number)] });
  });
});
