// clients/python against a server of ours: Gymnasium's own checks, its own vector environments, and what goes wrong. Python
// packages come into test/.cache, once; where they cannot be had the tests are skipped with the reason.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { loadAnyScenario } from '../../src/run/scenario.js';
import type { RunningServer } from '../../src/serve/index.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../serve/python-client.js';
import { serveScenarios } from '../serve/running-server.js';

const CLIENT = fileURLToPath(new URL('../../clients/python', import.meta.url));
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
let server: RunningServer;
let python: PythonClient | string;

beforeAll(async () => {
  python = await pythonClient('gymnasium');
  const short = (name: string) => loadAnyScenario(name, { set: ['env.maxEpisodeSteps=6'] });
  server = await serveScenarios([], {
    scenarios: [
      await short('pendulum'),
      await loadAnyScenario('cartpole'),
      await loadAnyScenario('helpdesk'),
      await short('pendulum'),
    ],
    names: ['pendulum', 'cartpole', 'helpdesk', 'dream'],
    models: { dream: fileURLToPath(new URL('../../scenarios/bring-your-own-onnx/dynamics', import.meta.url)) },
  });
}, INSTALL_TIME);
afterAll(() => server?.stop(0));

const STEPS = { pendulum: 15, cartpole: 40, dream: 15 };
const MODES = ['next_step', 'same_step'];
const CHECKS: readonly (readonly [check: string, given?: object])[] = [
  ...['pendulum', 'dream'].map((name) => ['check_env', { name }] as const),
  ...MODES.flatMap((mode) =>
    Object.entries(STEPS).map(([name, steps]) => ['same_as_rows', { name, mode, steps }] as const),
  ),
  ...['branches', 'unseeded', 'tools', 'tools_as_gym', 'refusals', 'lost_answers'].map((check) => [check] as const),
];

/** What one Python reports of all checks: importing its packages takes longest. */
let found: Promise<unknown[]> | undefined;

function toldBy(one: PythonClient, checks: typeof CHECKS, url = server.url, env = {}): Promise<unknown[]> {
  const given = checks.map(([check, more]) => [check, { url, ...more }]);
  const input = { checks: given, env: { PYTHONPATH: join(CLIENT, 'src'), ...env } };
  return one.run(script('check-client.py'), input) as Promise<unknown[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: what Python tells
async function told(context: TestContext, check: string, given?: object): Promise<any> {
  if (typeof python === 'string') return context.skip(python);
  found ??= toldBy(python, CHECKS);
  return (await found)[
    CHECKS.findIndex((one) => isDeepStrictEqual(one, given === undefined ? [check] : [check, given]))
  ];
}

describe('an environment', () => {
  for (const env of ['pendulum', 'dream']) {
    it(`is one in which Gymnasium's checker finds nothing wrong: ${env}`, async (context) => {
      expect(await told(context, 'check_env', { name: env })).toEqual([]);
    });
  }

  it('comes back to snapshots and forks', async (context) => {
    const found = await told(context, 'branches');
    expect(found).toEqual({ forks: true, again: true, counts: [1, 1], state: 'pendulum' });
  });

  it('begins anywhere without a seed, and by Gymnasium’s convention with one', async (context) => {
    expect(await told(context, 'unseeded')).toEqual({ parted: true, convention: true, list: true });
  });
});

describe('a vector environment', () => {
  for (const mode of MODES) {
    it(`is to the bit what Gymnasium makes of single ones: ${mode}`, async (context) => {
      for (const [name, steps] of Object.entries(STEPS)) {
        const { same, ends, finals } = await told(context, 'same_as_rows', { name, mode, steps });
        expect(same).toBe(true);
        expect(ends).toBeGreaterThan(2);
        expect(finals).toBe(mode === 'same_step' ? ends : 0);
      }
    });
  }
});

describe('an environment of tools', () => {
  it('has plain methods', async (context) => {
    expect(await told(context, 'tools')).toEqual({
      tools: 'function',
      roles: ['system', 'user'],
      wrong: [true, 'no_such_tool', false],
      said: 'user',
      reward: [null, 0],
      forked: 3,
      restored: 0,
    });
  });

  it('is a Gymnasium environment of texts too', async (context) => {
    const found = await told(context, 'tools_as_gym');
    expect(found).toEqual({ in_space: true, first: 'system', error: true, reward: 0, task: true });
  });
});

describe('what goes wrong', () => {
  it('is an exception with code and hint, and changes nothing', async (context) => {
    const found = await told(context, 'refusals');
    expect(found).toMatchObject({
      unknown: ['ENV_NOT_SERVED', true, 404],
      not_reset: ['ENV_NOT_RESET', true, 409],
      outside: ['ACTION_OUT_OF_SPACE', true, 400],
      unreachable: ['SERVER_UNREACHABLE', true, 0],
      not_tools: ['ENV_NOT_TOOLS', true, 0],
      not_vector: ['ENV_NOT_VECTOR', true, 400],
      stepped: 0,
    });
    expect(found.options).toEqual([expect.stringContaining('sede'), expect.stringContaining('mask')]);
  });

  it('is made good where an answer was lost: the step is not taken twice', async (context) => {
    expect(await told(context, 'lost_answers')).toEqual({ steps: [1, 2, 3], transitions: 2, lost: 0 });
  });

  it('is a token that is missing or wrong', async (context) => {
    if (typeof python === 'string') return context.skip(python);
    const secret = 'a-token-of-at-least-thirty-two-characters';
    const closed = await serveScenarios(['pendulum'], {
      tokens: [
        { owner: 'learner', operator: false, quota: {}, sha256: createHash('sha256').update(secret).digest('hex') },
      ],
    });
    try {
      const refused = await toldBy(python, [['token']], closed.url, { REVERIE_TOKEN: secret });
      expect(refused).toEqual([['TOKEN_NEEDED', true, 401]]);
    } finally {
      await closed.stop(0);
    }
  });
});

it('does without Gymnasium where it can', async (context) => {
  if (typeof python === 'string') return context.skip(python);
  const input = { url: server.url, env: { PYTHONPATH: join(CLIENT, 'src') } };
  expect(await python.run(script('without-gymnasium.py'), input)).toMatchObject({
    make: 'GYMNASIUM_MISSING',
    make_vec: 'GYMNASIUM_MISSING',
    messages: 2,
    environments: ['pendulum', 'cartpole', 'helpdesk', 'dream'],
  });
});
