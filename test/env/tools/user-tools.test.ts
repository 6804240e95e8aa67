// Users with tools of their own, on the same state: a line of a modem that only its owner can restart. And users that make it hard.

import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { NO_COST } from '../../../src/core/cost.js';
import type { ToolRules, ToolsDomain, ToolsTask } from '../../../src/env/tools/domain.js';
import { faultsSchema, withFaults } from '../../../src/env/tools/faults.js';
import { checkTasks } from '../../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { ToolsStepInfo, UserSimulator, UserTurn } from '../../../src/env/tools/tools-family.js';
import { GIVES_UP, mannerOf } from '../../../src/env/tools/user-manner.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { LlmUser } from '../../../src/worldmodel/llm/llm-user.js';
import { ScriptedModel, sectionsOf } from '../../worldmodel/tools/scripted-model.js';
import { call, LIVED, rulesEnvironment } from './library.js';

const parameters = { type: 'object', properties: {} };
const rules: ToolRules = {
  version: 'modem',
  tools: new Set(['ping', 'restart', 'look']),
  execute: (state, { name }) => {
    const light = state.on === true ? 'green' : 'red';
    if (name !== 'restart') return { operations: [], observation: light, isError: false };
    return { operations: [{ op: 'replace', path: '/on', value: true }], observation: 'restarted', isError: false };
  },
  preconditions: () => [],
  invariants: () => [],
  check: (name) => ({ name, passed: null, reason: '' }),
  close: () => {},
};
const task = (user: Partial<ToolsTask['user']> = {}): ToolsTask => ({
  ...{ id: 'offline', family: 'offline', verifier: { assert: [{ path: '/on', equals: true }] } },
  user: {
    ...{ goal: 'You are offline.', opening: 'I am offline.' },
    script: [
      {
        when: 'restart',
        calls: [
          { name: 'restart', arguments: {} },
          { name: 'look', arguments: {} },
        ],
        say: 'Now it is {answer}.',
      },
      { when: 'anything else', say: 'No, thanks.', done: true },
    ],
    ...user,
  },
});
const domain = (change: Partial<ToolsDomain> = {}): ToolsDomain => ({
  ...{
    id: 'modem',
    version: '1',
    policy: 'Help.',
    stateSchema: { type: 'object' },
    initialState: { on: false },
    rules,
  },
  tools: [{ name: 'ping', description: 'Pings it.', kind: 'read', parameters }],
  userTools: ['restart', 'look'].map((name) => ({ name, description: name, kind: 'write', parameters, for: 'user' })),
  ...{ tasks: [task()], close: () => {}, ...change },
});
const environment = (user: UserSimulator, of = domain()) =>
  new ToolsEpisodeEnvironment({ id: 'modem', domain: of, responder: rulesResponder(of), user });
const SAID = ['Please restart it.', 'Good. Anything else?'];

test('tools of users have no faults, and do not shift those of the agent', async () => {
  const of = domain();
  const faults = faultsSchema.parse([{ kind: 'error', calls: [2] }]);
  const responder = withFaults(rulesResponder(of), of, faults);
  const env = rulesEnvironment(of, { responder });
  await env.reset({ seed: 1 });
  const steps = [{ content: SAID[0] }, ...[1, 2, 3].map(() => call('ping')), { content: SAID[1] }];
  const seen = [];
  for (const step of steps) seen.push(await env.step(step));
  expect(seen.map(({ observation: { messages } }) => messages[0]?.content?.slice(0, 10))).toEqual([
    ...['Now it is ', 'green', 'Error: 503', 'green', 'No, thanks'],
  ]);
  expect(seen[4].info.verdict).toMatchObject({ reward: 1, checks: [{}, { name: 'fault: error of ping, call 2' }] });
});

test('a scripted user acts by its own tools before it speaks, unseen by the agent', async () => {
  const env = environment(new ScriptedUser());
  const policy = {
    version: 'p',
    act: ({ step }: { step: number }) => ({ action: { content: SAID[step] }, cost: NO_COST }),
  };
  const record = await runEpisode(env, policy, task(), planRow(0, { seed: 1, groupSize: 1, branchAt: 0 }), LIVED);
  expect(record).toMatchObject({ return: 1, outcome: { kind: 'judged' } });
  expect(record.messages[3]).toMatchObject({
    role: 'user',
    content: 'Now it is green.',
    calls: [{ name: 'restart' }, { answer: 'green' }],
  });
  expect(record.steps[0]).toMatchObject({
    predictions: [],
    userPredictions: [{ observation: 'restarted' }, { observation: 'green' }],
  });

  await env.reset({ seed: 1 });
  const { observation } = await env.step({ content: SAID[0] });
  expect(observation).toEqual({ messages: [{ role: 'user', content: 'Now it is green.' }] });
  const other = environment(new ScriptedUser());
  other.restore(JSON.parse(JSON.stringify(env.snapshot())));
  expect([other.state, other.messages]).toEqual([{ on: true }, env.messages]);
  // The agent cannot call the user's tools.
  const asked = await env.step({ content: null, toolCalls: [{ id: '', name: 'restart', arguments: {} }] });
  expect(asked.observation.messages[0].content).toContain('unknown tool "restart"');
});

test('a user by language model is shown its tools, calls them, and says what came of it', async () => {
  const asked: JsonObject[] = [];
  const model = new ScriptedModel((request) => {
    const sections = sectionsOf(request) as JsonObject;
    asked.push(sections);
    const did = JSON.stringify(sections.Conversation).includes('restarted');
    const calls = did
      ? []
      : [
          { name: 'restart', arguments: '{}' },
          { name: 'ping', arguments: '{}' },
        ];
    return { reasoning: '', content: '', done: false, calls, ...(did && { content: 'It works again.' }) };
  });
  const env = environment(new LlmUser({ model }), domain({ tasks: [task({ tools: ['restart'] })] }));
  await env.reset({ seed: 1 });
  const { info, observation } = await env.step({ content: SAID[0] });
  expect(observation).toEqual({ messages: [{ role: 'user', content: 'It works again.' }] });
  const { userPredictions } = info as unknown as ToolsStepInfo;
  expect(userPredictions).toMatchObject([{ observation: 'restarted' }, { isError: true, backend: 'schema' }]);
  expect(asked[0].Tools).toMatchObject([{ name: 'restart' }]);
});

test('a user that only ever calls has failed, and the agent has not', async () => {
  const turn: UserTurn = { content: '', done: false, calls: [{ name: 'look', arguments: {} }], cost: NO_COST };
  const env = environment({
    version: 'u',
    open: () => ({ content: 'Hi.', done: false, cost: NO_COST }),
    reply: () => turn,
  });
  await env.reset({ seed: 1 });
  const end = await env.step({ content: SAID[0] });
  expect(end).toMatchObject({
    truncated: true,
    info: { outcome: { kind: 'failed_by_user' }, verdict: { reward: null } },
  });
});

test.each([
  [{ tools: ['reboot'] }, 'user.tools: the domain has no tool "reboot" for users (restart, look)'],
  [{ script: [{ calls: [{ name: 'ping', arguments: {} }], say: 'x' }] }, 'user.script: unknown tool "ping"'],
])('a task with %j is refused when it is loaded', (user, problem) => {
  const load = () => checkTasks(domain({ tasks: [task(user)] }), 'tasks.yaml');
  expect(load).toThrow(expect.objectContaining({ message: expect.stringContaining(problem) }));
});

test('friction is drawn by seed and turn, at its share, and loses nothing that a script tells', () => {
  const drawn = Array.from({ length: 2000 }, (_, i) => mannerOf(i, 1, 0.4));
  expect(drawn.filter(Boolean).length / drawn.length).toBeCloseTo(0.4, 1);
  expect(new Set(drawn).size).toBe(5);
  const user = new ScriptedUser(false, 1);
  const seed = drawn.findIndex((_, i) => mannerOf(i, 0, 1) === 'withholding' && mannerOf(i, 1, 1) === 'impatient');
  const script = [{ when: 'number', say: 'It is 42.' }];
  const heard = (times: number) => {
    const messages = Array.from({ length: times }, () => ({ role: 'assistant', content: 'Which number?' }) as const);
    return user.reply({ domain: domain(), task: task({ script }), messages, seed }).content;
  };
  expect(heard(1)).toMatch(/^Why do you need that\?/);
  expect(heard(2)).toMatch(/^It is 42\. Please hurry/);
});

test('patience ends it with a word, as the agent’s failure', async () => {
  const of = domain();
  const env = rulesEnvironment(of, { patience: 2 });
  await env.reset({ seed: 1 });
  await env.step({ content: 'Hm.' });
  const end = await env.step({ content: 'Hm?' });
  expect(end.observation).toEqual({ messages: [{ role: 'user', content: GIVES_UP }] });
  expect(end).toMatchObject({ terminated: true, reward: 0, info: { outcome: { kind: 'failed_by_agent' } } });
});
