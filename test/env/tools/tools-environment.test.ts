// Episodes of tools in the library fixture: what is answered, by whom, how it ends, and that a failed step changes nothing.

import { afterAll, describe, expect, test } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import { checkEnvironment, describeReport } from '../../../src/env/check-environment.js';
import { withTasks } from '../../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { Responder, ToolsStepInfo } from '../../../src/env/tools/tools-family.js';
import { call, loadLibrary, rulesEnvironment, SOLUTION } from './library.js';

const domain = await loadLibrary();
afterAll(() => domain.close());

const infoOf = ({ info }: { info: unknown }) => info as ToolsStepInfo;

/** Everything that a step may change. */
const whole = (env: ToolsEpisodeEnvironment) => JSON.stringify([env.snapshot(), env.messages, env.state]);

describe('an episode', () => {
  test('begins with the policy and what the user says, in the task that is named', async () => {
    const env = rulesEnvironment(domain);
    expect(() => env.messages).toThrow(expect.objectContaining({ code: 'ENV_NOT_RESET' }));
    const first = await env.reset({ seed: 4 });
    expect(first.observation.messages).toEqual([
      { role: 'system', content: domain.policy },
      { role: 'user', content: 'Hello, I am M1. Can I have Dune?' },
    ]);
    expect(first.info).toMatchObject({ task: 'lend-dune', seed: 4, userCost: NO_COST });
    await env.reset({ task: 'bring-back' });
    expect(env.messages[1].content).toBe('You are member M1 and bring Dune back.');
    expect(env.state).toMatchObject({ books: { B1: { lentTo: 'M1' } }, members: { M1: { books: ['B1'] } } });
    await expect(env.reset({ task: 'lend-dun' })).rejects.toMatchObject({
      code: 'TASK_UNKNOWN',
      hint: 'Did you mean "lend-dune"?',
    });
    expect(env.task.id).toBe('bring-back');
  });

  test('is solved by its reference and ends with reward 1', async () => {
    const env = rulesEnvironment(domain);
    await env.reset({ seed: 1, task: 'lend-dune' });
    const looked = await env.step(SOLUTION[0]);
    expect(looked.observation.messages).toEqual([
      { role: 'tool', toolCallId: 'call-1', name: 'get_member', content: expect.stringContaining('"Ada"') },
    ]);
    expect(looked).toMatchObject({ reward: 0, terminated: false, truncated: false });
    const lent = await env.step(SOLUTION[1]);
    expect(infoOf(lent).predictions).toMatchObject([{ backend: 'real', confidence: 1, cost: NO_COST, isError: false }]);
    expect(infoOf(lent).stateHash).not.toBe(infoOf(looked).stateHash);
    const end = await env.step(SOLUTION[2]);
    expect(end).toMatchObject({ reward: 1, terminated: true, truncated: false });
    expect(end.observation.messages).toEqual([{ role: 'user', content: 'Thank you!' }]);
    expect(infoOf(end).verdict?.checks.filter(({ passed }) => passed !== true)).toEqual([]);
    await expect(env.step({ content: 'more' })).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
  });

  test('ends by a tool that terminates, if it succeeds; calls after it are refused', async () => {
    const env = rulesEnvironment(domain);
    await env.reset({ task: 'lend-dune' });
    expect((await env.step(call('hand_over'))).terminated).toBe(false);
    const handOver = { id: 'a', name: 'hand_over', arguments: { reason: 'lost' } };
    const lend = { id: 'b', name: 'lend_book', arguments: { member_id: 'M1', book_id: 'B1' } };
    const end = await env.step({ content: null, toolCalls: [handOver, lend] });
    expect(end).toMatchObject({ terminated: true, reward: 0 });
    expect(end.observation.messages[1].content).toBe('Error: the conversation has ended');
    expect(env.state).toBe(domain.initialState);
  });
});

describe('calls', () => {
  test.each([
    ['an unknown tool', call('lend_boook'), 'Error: unknown tool "lend_boook" (did you mean "lend_book"?)'],
    [
      'an unknown argument',
      call('get_member', { member_id: 'M1', memberid: 'M1' }),
      'Error: the arguments of get_member are wrong: it has an unknown key "memberid" (did you mean "member_id"?)',
    ],
    [
      'an argument of the wrong type',
      call('get_member', { member_id: 5 }),
      'Error: the arguments of get_member are wrong: /member_id must be string',
    ],
    [
      'a whole number that was rounded',
      call('find_books', { text: 'Dune', limit: 2 ** 53 }),
      'Error: the arguments of find_books are wrong: /limit is a whole number beyond 2^53, which would be rounded: write it as a text, in quotes',
    ],
  ])('with %s are answered by the schema and never reach the responder', async (_, action, text) => {
    const responder: Responder = {
      version: 'none',
      answer: () => {
        throw new Error('asked');
      },
      close: () => {},
    };
    const env = rulesEnvironment(domain, { responder });
    await env.reset();
    const { observation, info } = await env.step(action);
    expect(observation.messages).toMatchObject([{ role: 'tool', content: text, isError: true }]);
    expect(infoOf({ info }).predictions).toMatchObject([{ backend: 'schema', isError: true, operations: [] }]);
  });

  test('of one action are answered in order, each in the state the one before left', async () => {
    const env = rulesEnvironment(domain);
    await env.reset();
    const lend = { id: 'x', name: 'lend_book', arguments: { member_id: 'M1', book_id: 'B2' } };
    const { observation } = await env.step({ content: null, toolCalls: [lend, lend, { ...lend, id: '' }] });
    expect(observation.messages.map((message) => (message.role === 'tool' ? message.toolCallId : ''))).toEqual([
      'x',
      'call-2',
      'call-3',
    ]);
    expect(observation.messages.map(({ content }) => content)).toEqual([
      '{"lent":"Dune Messiah","due":"2030-03-22"}',
      'Error: Book B2 is lent',
      'Error: Book B2 is lent',
    ]);
    const again = await env.step({ content: null, toolCalls: [lend] });
    expect(again.observation.messages[0]).toMatchObject({ toolCallId: 'call-4' });
  });
});

describe('what is no action', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`);
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  test.each([
    ['null', null, 'expected object'],
    ['a text', 'hello', 'expected object'],
    ['nothing', {}, 'It says nothing and calls nothing'],
    ['the form of OpenAI', { content: null, tool_calls: [] }, 'Unrecognized key: "tool_calls"'],
    ['a call without a name', { toolCalls: [{ arguments: {} }] }, 'toolCalls.0.name'],
    ['arguments as text', { toolCalls: [{ name: 'a', arguments: '{}' }] }, 'toolCalls.0.arguments: it is no object'],
    ['arguments 10,000 deep', { toolCalls: [{ name: 'a', arguments: deep }] }, 'nested more than 64 levels'],
    ['huge arguments', { toolCalls: [{ name: 'a', arguments: { a: 'x'.repeat(2_000_000) } }] }, 'too large'],
    ['NaN', { toolCalls: [{ name: 'a', arguments: { a: Number.NaN } }] }, '/a is NaN'],
    ['a function', { toolCalls: [{ name: 'a', arguments: { a: () => 1 } }] }, '/a is of type function'],
    ['__proto__', { toolCalls: [{ name: 'a', arguments: JSON.parse('{"__proto__":{"x":1}}') }] }, 'key "__proto__"'],
    ['a thousand calls', { toolCalls: Array(1000).fill({ name: 'a', arguments: {} }) }, 'toolCalls: Too big'],
    ['50 MB of text', { content: 'x'.repeat(50_000_000) }, 'content: Too big'],
  ])('such as %s is refused in one line, and nothing is changed', async (_, action, problem) => {
    const env = rulesEnvironment(domain);
    await env.reset({ seed: 1 });
    const before = whole(env);
    const error = await env.step(action as never).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'ACTION_OUT_OF_SPACE', hint: expect.stringContaining(problem) });
    expect(error.hint).toContain('{toolCalls: [{name, arguments: {...}}]} (over HTTP: tool_calls)');
    expect(error.message.length).toBeLessThan(400);
    expect(whole(env)).toBe(before);
  });
});

describe('a step that fails', () => {
  test('in the responder leaves everything as it was, calls before it included', async () => {
    const rules = rulesResponder(domain);
    let isDown = true;
    const responder: Responder = {
      ...rules,
      answer: (query) => {
        if (isDown && query.step === 1) throw new Error('the model is down');
        return rules.answer(query);
      },
    };
    const env = rulesEnvironment(domain, { responder });
    await env.reset({ seed: 1 });
    const before = whole(env);
    const calls = [...(SOLUTION[1].toolCalls ?? []), ...(SOLUTION[0].toolCalls ?? [])];
    await expect(env.step({ content: null, toolCalls: calls })).rejects.toThrow('the model is down');
    expect(whole(env)).toBe(before);
    isDown = false;
    expect((await env.step({ content: null, toolCalls: calls })).observation.messages).toHaveLength(2);
  });

  test('because another is still going on says so', async () => {
    const env = rulesEnvironment(domain);
    await env.reset();
    const first = env.step(SOLUTION[0]);
    await expect(env.step(SOLUTION[0])).rejects.toMatchObject({ code: 'ENV_BUSY' });
    expect((await first).observation.messages).toHaveLength(1);
  });
});

describe('a snapshot', () => {
  test('is small, JSON, and goes on in another instance as the first would have', async () => {
    const [env, other] = [rulesEnvironment(domain), rulesEnvironment(domain)];
    await env.reset({ seed: 3, row: 12 });
    await env.step(SOLUTION[0]);
    await env.step(SOLUTION[1]);
    const text = JSON.stringify(env.snapshot());
    expect(text).not.toContain('Messiah');
    expect(text).not.toContain(domain.policy.slice(0, 20));
    const observation = other.restore(JSON.parse(text));
    expect(observation.messages).toMatchObject([{ role: 'tool', name: 'lend_book' }]);
    expect(JSON.stringify(other.snapshot())).toBe(text);
    expect(other.messages).toEqual(env.messages);
    expect(await other.step(SOLUTION[2])).toEqual(await env.step(SOLUTION[2]));
    expect((await other.reset()).info).toEqual((await env.reset()).info);
  });

  test('is refused where it is foreign, of another version or damaged', async () => {
    const env = rulesEnvironment(domain);
    await env.reset({ seed: 3 });
    await env.step(SOLUTION[1]);
    const snapshot = env.snapshot();
    const state = snapshot.state as Record<string, unknown>;
    const others = withTasks(domain, domain.tasks.slice(1));
    const elsewhere = new ToolsEpisodeEnvironment({
      id: 'library',
      domain: others,
      responder: rulesResponder(others),
      user: { version: '', open: () => ({ content: '', done: false, cost: NO_COST }), reply: () => Promise.reject() },
    });
    expect(() => elsewhere.restore(snapshot)).toThrow(expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }));
    const damaged = [
      { ...snapshot, env: 'other' },
      { ...snapshot, state: null },
      { ...snapshot, state: { ...state, task: 'gone' } },
      { ...snapshot, state: { ...state, operations: [] } },
      { ...snapshot, state: { ...state, messages: [{ role: 'assistant', content: 5 }] } },
      { ...snapshot, state: { ...state, operations: [{ op: 'add', path: '/__proto__/x', value: 1 }] } },
    ];
    const before = whole(env);
    for (const one of damaged) {
      expect(() => env.restore(one)).toThrow(expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }));
    }
    expect(whole(env)).toBe(before);
  });
});

test('the checker finds the environment sound, with random actions and with the solution', async () => {
  for (const actions of [undefined, SOLUTION]) {
    const report = await checkEnvironment(() => rulesEnvironment(domain), { actions, steps: 24 });
    expect(report.passed, describeReport(report)).toBe(true);
    expect(report.checks.filter(({ skipped }) => skipped !== undefined)).toEqual([]);
  }
});
