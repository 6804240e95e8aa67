// As NeMo-Gym's gymnasium_agent speaks (responses_api_agents/gymnasium_agent): by the facts of its source.

import { afterAll, describe, expect, it } from 'vitest';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

const server = await serveScenarios(['helpdesk', 'pendulum']);
afterAll(() => server.stop(0));

const ROW = { responses_create_params: { input: [] } };

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
  readonly body: any;
  readonly cookie: string;
}

async function post(path: string, body: unknown, cookie = ''): Promise<Answer> {
  const reply = await fetch(`${server.url}/nemo/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: reply.status,
    body: await reply.json(),
    cookie: reply.headers.get('set-cookie')?.split(';')[0] ?? '',
  };
}

function called(...calls: readonly { readonly name: string; readonly arguments: unknown }[]) {
  const output = calls.map(({ name, arguments: given }, i) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    return { type: 'function_call', call_id: `c${i}`, name, arguments: text };
  });
  return { ...ROW, response: { output: [{ type: 'reasoning', summary: [] }, ...output] } };
}

function said(text: string) {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { ...ROW, response: { output: [{ type: 'message', role: 'assistant', content }] } };
}

describe('the gymnasium routes', () => {
  it.each(['helpdesk:8000'])('play %s to reward 1', async (env) => {
    const { calls, say } = helpdeskReference('unlock-after-holiday');
    const { body, cookie } = await post(`${env}/reset`, { ...ROW, split: 'train', index: 0, extra: [1] });
    expect(body.observation).toContain('Marta Teixeira');
    expect(body.info).toMatchObject({ supports_explicit_close: true, supports_step_idempotency: true });
    for (const call of calls) {
      const { body: step } = await post(`${env}/step`, called(call), cookie);
      expect(step).toMatchObject({ observation: null, reward: 0, terminated: false, truncated: false });
      expect(step.info.tool_outputs).toEqual([{ call_id: 'c0', output: expect.stringMatching(/\w/) }]);
      expect(JSON.stringify(step.info)).not.toContain('operations');
    }
    const { body: last } = await post(`${env}/step`, said(say), cookie);
    expect(last).toMatchObject({ reward: 1, terminated: true, truncated: false });
    expect((await post(`${env}/step`, said('Hi'), cookie)).status).toBe(409);
    expect(await post(`${env}/close`, {}, cookie)).toMatchObject({ status: 200, body: {} });
    expect((await post(`${env}/step`, said('Hi'), cookie)).status).toBe(410);
  });

  it('answer several calls of one turn each by its id, and the tool to speak with what the user says', async () => {
    const { cookie } = await post('helpdesk/reset', { ...ROW, id: 'unlock-after-holiday' });
    const look = { name: 'get_employee', arguments: { employee_id: 'EMP-1042' } };
    const { body } = await post('helpdesk/step', called(look, { name: 'no_such', arguments: {} }), cookie);
    expect(body.info.tool_outputs.map(({ call_id }: { call_id: string }) => call_id)).toEqual(['c0', 'c1']);
    expect(body.info.tool_outputs[0].output).toContain('EMP-1042');
    const ask = { name: 'respond_to_user', arguments: { content: 'Your employee number, please?' } };
    const { body: told } = await post('helpdesk/step', called(ask), cookie);
    expect(told.info.tool_outputs[0].output).toContain('EMP-1042');
    expect(told.info.step_count).toBe(2);
  });

  it('step numbers, by a call or by text, and once where a request is repeated', async () => {
    const { body, cookie } = await post('pendulum/reset', { ...ROW, seed: 4 });
    expect(body.observation).toContain('box [1] in -2..2');
    const once = { ...called({ name: 'step', arguments: { action: [1] } }), _ng_step_request_id: 'r1' };
    const first = await post('pendulum/step', once, cookie);
    expect(first.body.reward).toBeLessThan(0);
    expect((await post('pendulum/step', once, cookie)).body).toEqual(first.body);
    const { body: second } = await post('pendulum/step', said('Action: [1]'), cookie);
    expect([second.info.step_count, JSON.parse(second.observation).length]).toEqual([2, 3]);
  });

  it.each([
    ['broken arguments', called({ name: 'get_employee', arguments: '{' })],
    [
      'speaking beside a call',
      called({ name: 'respond_to_user', arguments: { content: 'a' } }, { name: 'a', arguments: {} }),
    ],
    ['nothing at all', { ...ROW, response: { output: [] } }],
  ])('tell the model of %s, and nothing has happened', async (_, body) => {
    const { cookie } = await post('helpdesk/reset', ROW);
    const { status, body: step } = await post('helpdesk/step', body, cookie);
    expect([status, step.reward, step.terminated]).toEqual([200, 0, false]);
    expect(step.observation ?? step.info.tool_outputs[0].output).toContain('Error');
    const { body: next } = await post('helpdesk/step', said('Hello'), cookie);
    expect(next.info.step_count).toBe(1);
  });

  it('average rewards, of all rollouts and of each task', async () => {
    const verify_responses = [0, 1, 1].map((reward, i) => ({ reward, _ng_task_index: i > 1 ? 1 : 0 }));
    const { body } = await post('helpdesk/aggregate_metrics', { verify_responses });
    expect(body.key_metrics['mean/reward']).toBeCloseTo(2 / 3);
    expect(body.group_level_metrics).toEqual([
      { _ng_task_index: 0, 'mean/reward': 0.5 },
      { _ng_task_index: 1, 'mean/reward': 1 },
    ]);
  });

  it.each([
    ['a cookie that is forged', 'pendulum/step', said('[0]'), 'reverie_session=abc.def', 404],
    ['an environment that is not served', 'nowhere/reset', ROW, '', 404],
    ['a task that is not there', 'helpdesk/reset', { ...ROW, split: 'train', index: 999 }, '', 400],
    ['an output that is no list', 'helpdesk/step', { ...ROW, response: { output: {} } }, '', 422],
    ['a key of a prototype', 'helpdesk/reset', '{"__proto__": {"index": 1}}', '', 422],
    ['being asked to verify', 'helpdesk/verify', ROW, '', 501],
  ])('refuse %s', async (_, path, body, cookie, status) => {
    const open = server.sessions.counts.open;
    const answer = await post(path, body, cookie);
    expect(answer.status).toBe(status);
    expect(answer.body.detail).toMatch(/\w/);
    expect(server.sessions.counts.open).toBe(open);
  });

  it('keep sessions of one environment out of another', async () => {
    const { cookie } = await post('pendulum/reset', ROW);
    expect((await post('helpdesk/step', said('Hi'), cookie)).body.error.code).toBe('SESSION_OF_OTHER_ENV');
  });
});
