import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionEvent, SessionState, Turn } from '../../../src/serve/core/session-contract.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { ServerMetrics } from '../../../src/serve/observe/server-metrics.js';
import { ask, serveScenarios } from '../running-server.js';

const counts = { open: 0, active: 2, waiting: 1, slots: 8 };
const sessions = { environments: new Map(), list: () => [], counts } as never;
const session = { env: 'desk', id: 'secret-id' } as SessionState;

function turn(values: Partial<Turn>): Turn {
  return {
    observation: null,
    reward: 0,
    terminated: false,
    truncated: false,
    info: {},
    episodeId: 'e',
    stepCount: 1,
    return: 0,
    ...values,
  };
}

async function lines(metrics: ServerMetrics): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith('reverie_'));
}

it('metrics tell what happened, by environment and code', async () => {
  const metrics = new ServerMetrics({ sessions, version: '1.2.3' });
  const cost = { calls: 2, promptTokens: 10, cachedTokens: 4, completionTokens: 3, money: 0.5 };
  const info = { predictions: [{ cost }, { cost }], userCost: cost };
  const events: SessionEvent[] = [
    { kind: 'reset', session, turn: turn({}), seconds: 1 },
    { kind: 'step', session, action: 'x', turn: turn({ info }), seconds: 0.02 },
    {
      kind: 'step',
      session,
      action: 'x',
      turn: turn({ terminated: true, return: 0.6, stepCount: 7 }),
      seconds: 0.02,
    },
    {
      kind: 'step',
      session,
      action: 'x',
      turn: turn({ truncated: true, return: null, stepCount: 9 }),
      seconds: 0.02,
    },
    { kind: 'failed', session, code: 'STEP_DEADLINE', seconds: 55 },
    { kind: 'closed', session, reason: 'idle' },
  ];
  for (const event of events) metrics.onEvent(event);
  metrics.onRequest({ method: 'POST', route: '/v1/sessions/:id/step', status: 200, seconds: 0.1 });
  expect(await lines(metrics)).toEqual(
    expect.arrayContaining([
      'reverie_resets_total{env="desk"} 1',
      'reverie_steps_total{env="desk"} 3',
      'reverie_step_seconds_count{env="desk"} 3',
      'reverie_failures_total{env="desk",code="STEP_DEADLINE"} 1',
      'reverie_sessions_closed_total{env="desk",reason="idle"} 1',
      'reverie_episodes_total{env="desk",end="terminated"} 1',
      'reverie_episodes_total{env="desk",end="truncated"} 1',
      'reverie_episodes_unjudged_total{env="desk"} 1',
      'reverie_model_calls_total{env="desk"} 6',
      'reverie_model_tokens_total{env="desk",kind="completion"} 9',
      'reverie_model_money_total{env="desk"} 1.5',
      'reverie_http_requests_total{method="POST",route="/v1/sessions/:id/step",status="200"} 1',
      'reverie_slots 8',
      'reverie_slots_taken 2',
      'reverie_slots_awaited 1',
      `reverie_build_info{version="1.2.3",node="${process.versions.node}"} 1`,
    ]),
  );
  expect(await metrics.text()).toContain('nodejs_eventloop_lag_seconds');
});

describe('of a server', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serveScenarios(['pendulum']);
  });
  afterAll(() => server.stop(0));

  const read = async () => (await fetch(`${server.url}/metrics`)).text();

  it('they have no more labels for more sessions, paths and names', async () => {
    const { body } = await ask(`${server.url}/v1/sessions`, {});
    await ask(`${server.url}/v1/sessions/${body.id}/reset`, {});
    const labelled = async () => (await read()).split('\n').filter((line) => line.startsWith('reverie_')).length;
    for (let i = 0; i < 3; i++) await ask(`${server.url}/v1/sessions/none-${i}/reset`, {});
    await ask(`${server.url}/nothing-0`);
    await labelled();
    const before = await labelled();
    for (let i = 3; i < 8; i++) {
      await ask(`${server.url}/v1/sessions/none-${i}/reset`, {});
      await ask(`${server.url}/nothing-${i}`);
      await ask(`${server.url}/v1/sessions`, { id: `mine-${i}` });
    }
    expect(await labelled()).toBe(before);
    expect(await read()).not.toMatch(/mine-\d|none-\d|nothing-\d/);
    expect(await read()).toContain('reverie_sessions{env="pendulum",status="running"} 1');
    expect(await read()).toContain('reverie_sessions{env="pendulum",status="idle"} 5');
  });
});
