// Injected faults: each kind on the service desk, with an agent that recovers and one that ignores them.

import { afterAll, describe, expect, it } from 'vitest';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { checksAfterFaults, type FaultRule, faultsSchema, withFaults } from '../../../src/env/tools/faults.js';
import type { Fault } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { ToolsAction, ToolsPolicy, ToolsStepInfo } from '../../../src/env/tools/tools-family.js';
import { ReferenceAgent } from '../../../src/synth/episodes/agents/baseline-agents.js';
import { ScriptedAgent } from '../../../src/synth/episodes/agents/scripted-agent.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { testData } from '../../data.js';
import { call, LIVED, loadLibrary, rulesEnvironment } from './library.js';

const desk = await makeDomain({ id: 'helpdesk' });
const library = await loadLibrary();
afterAll(() => {
  desk.close();
  library.close();
});

const rulesOf = (...rules: object[]) => faultsSchema.parse(rules) as FaultRule[];
const task = (id = 'unlock-after-holiday') => desk.tasks.find((one) => one.id === id) as ToolsTask;

function environment(rules: readonly FaultRule[], domain = desk, waits = false) {
  const responder = withFaults(rulesResponder(domain), domain, rules, { waits });
  return rulesEnvironment(domain, { responder });
}

/** Ignores faults. */
const heedless: ToolsPolicy = {
  version: 'heedless',
  act: ({ faults: _, ...query }) => new ReferenceAgent().act(query),
};

async function played(rules: readonly FaultRule[], agent: ToolsPolicy = new ReferenceAgent(), seed = 5) {
  const plan = planRow(0, { seed, groupSize: 1, branchAt: 0 });
  const record = await runEpisode(environment(rules), agent, task(), plan, { ...LIVED, seed });
  const faults = record.steps.flatMap(({ predictions }) => predictions.flatMap(({ fault }) => fault ?? []));
  const checks = record.verdict.checks.filter(({ name }) => name.startsWith('fault: '));
  return { record, faults, checks, reward: record.return };
}

const UNLOCK = { tools: ['restore_access'] };
const CASES: readonly (readonly [string, object, number, number])[] = [
  // Affected calls, their frequency, and the results of an agent that ignores faults.
  ['an error, once', { kind: 'error', ...UNLOCK, tries: 1 }, 1, 0],
  ['an error of the second call', { kind: 'error', calls: [2] }, 1, 1],
  ['a 429, twice', { kind: 'rate-limit', ...UNLOCK, tries: 2 }, 2, 0],
  ['an outage of three turns', { kind: 'error', ...UNLOCK, seconds: 15 }, 3, 0],
  ['an error for good', { kind: 'error', ...UNLOCK }, 2, 0],
  ['a lost answer', { kind: 'lost-answer', ...UNLOCK, calls: [1] }, 1, 1],
  ['a late answer', { kind: 'latency', ...UNLOCK, seconds: 9 }, 1, 1],
  ['an answer cut off', { kind: 'truncated', tools: ['get_employee'], tries: 1 }, 1, 0],
  ['lists in another order', { kind: 'reordered', tools: ['get_employee'], tries: 1 }, 1, 1],
  ['a hidden instruction', { kind: 'injection', tools: ['get_employee'] }, 1, 1],
];

describe.each(CASES)('%s', (_, rule, times, heedlessReward) => {
  it('is recovered from by built-in agents, and not by one that ignores faults', async () => {
    for (const agent of [new ReferenceAgent(), new ScriptedAgent({ domain: desk, detours: 0, failures: 0 })]) {
      const { record, faults, checks, reward } = await played(rulesOf(rule), agent);
      expect(faults.map(({ kind }) => kind)).toEqual(Array(times).fill((rule as Fault).kind));
      expect([reward, checks.filter(({ passed }) => passed !== true)], agent.version).toEqual([1, []]);
      // Faults belong to the environment, and are exact.
      for (const one of record.steps.flatMap(({ predictions }) => predictions)) expect(one.confidence).toBe(1);
    }
    expect((await played(rulesOf(rule), heedless)).reward).toBe(heedlessReward);
  });

  it('comes again with the seed, and through a snapshot', async () => {
    const [one, two] = [await played(rulesOf(rule)), await played(rulesOf(rule))];
    expect(two.record).toEqual(one.record);
    const [straight, forked] = [environment(rulesOf(rule)), environment(rulesOf(rule))];
    await straight.reset({ task: task().id, seed: 3 });
    for (const { action } of one.record.steps) {
      forked.restore(JSON.parse(JSON.stringify(straight.snapshot())));
      const [a, b] = [await straight.step(action), await forked.step(action)];
      expect(b).toEqual(a);
    }
    expect(forked.end).toEqual(straight.end);
  });
});

describe('what a right agent does', () => {
  const unlock = call('restore_access', { employee_id: 'EMP-1042', action: 'unlock' });
  const ACTIONS = {
    verify: call('verify_identity', { employee_id: 'EMP-1042', badge_number: 'LK-41042' }),
    look: call('get_employee', { employee_id: 'EMP-1042' }),
    unlock,
    twice: { content: null, toolCalls: [...unlock.toolCalls!, ...unlock.toolCalls!] },
    close: call('update_ticket', { ticket_id: 'TCK-20831', status: 'closed', resolution: 'access_granted' }),
    other: call('update_ticket', { ticket_id: 'TCK-20828', status: 'closed', resolution: 'done' }),
    offboard: call('offboard_employee', { employee_id: 'EMP-1042', ticket_id: 'TCK-20831' }),
    done: { content: 'Your account is unlocked and I have closed TCK-20831. Anything else?' },
    sorry: { content: 'Your identity is verified, but I could not unlock the account: the system is unavailable.' },
  };

  async function verdictOf(rule: object, actions: readonly ToolsAction[]): Promise<[number | null, string[]]> {
    const env = environment(rulesOf(rule));
    await env.reset({ task: task().id, seed: 3 });
    let info: ToolsStepInfo | undefined;
    for (const action of [...actions, { content: 'Anything else?' }, { content: 'Bye.' }])
      if (info?.verdict === undefined) info = (await env.step(action)).info as unknown as ToolsStepInfo;
    const { reward, checks } = info!.verdict!;
    return [
      reward,
      checks.filter(({ name, passed }) => name.startsWith('fault') && !passed).map(({ reason }) => reason),
    ];
  }

  it.each(
    testData<[string, object, (keyof typeof ACTIONS)[], number, string | undefined][]>('env/tools/right-agents.yaml'),
  )('%s', async (_, rule, actions, reward, reason) => {
    const [given, problems] = await verdictOf(
      rule,
      actions.map((name) => ACTIONS[name]),
    );
    expect([given, problems.length > 0]).toEqual([reward, reason !== undefined]);
    if (reason !== undefined) expect(problems[0]).toMatch(new RegExp(reason));
  });
});

it.each([
  [{ notCalled: [] }, 1],
  [{ never: ['find_books'] }, 0],
  [{ before: { get_member: ['find_books'] } }, 0],
  [{ called: [{ name: 'get_member', arguments: { member_id: 'M1' } }] }, 0],
  [{ rubric: ['It is polite.'] }, null],
] as const)('a call that fails for good excuses nothing that does not depend on it: %j', async (verifier, reward) => {
  const own = { ...library.tasks.find(({ id }) => id === 'lend-dune')! };
  const domain = { ...library, tasks: [{ ...own, verifier: { state: 'reference', ...verifier } } as ToolsTask] };
  const env = environment(rulesOf({ kind: 'error', tools: ['lend_book'] }), domain);
  await env.reset({ seed: 1 });
  await env.step(call('find_books', { text: 'Dune' }));
  await env.step(call('lend_book', { member_id: 'M1', book_id: 'B1' }));
  await env.step({ content: 'I am sorry, I could not lend it: the system is unavailable.' });
  expect((await env.settled()).verdict.reward).toBe(reward);
});

it('shows the state as it was, where an answer is stale, and never twice what is the same', async () => {
  const env = environment(rulesOf({ kind: 'stale' }), library);
  await env.reset({ task: 'lend-dune', seed: 1 });
  const seen: (string | undefined)[] = [];
  for (const name of ['get_member', 'lend_book', 'get_member']) {
    const given = { member_id: 'M1', ...(name === 'lend_book' && { book_id: 'B1' }) };
    const { info } = await env.step(call(name, given));
    const [{ observation, fault }] = (info as unknown as ToolsStepInfo).predictions;
    seen.push(observation, fault?.kind);
  }
  expect(seen.filter((_, i) => i % 2 === 1)).toEqual([undefined, undefined, 'stale']);
  expect(seen[4]).toBe(seen[0]);
});

it('is really late when served, and can be aborted', async () => {
  const env = environment(rulesOf({ kind: 'latency', seconds: 30 }), library, true);
  await env.reset({ task: 'lend-dune', seed: 1 });
  const before = env.snapshot();
  const stop = AbortSignal.timeout(30);
  const step = env.step(call('get_member', { member_id: 'M1' }), stop);
  await expect(step).rejects.toMatchObject({ name: 'AbortError' });
  expect(env.snapshot()).toEqual(before);
});

it('shows the responder the true history: no outage, and no truncated answer', async () => {
  const rules = rulesOf({ kind: 'error', calls: [1] }, { kind: 'truncated', calls: [2] }, { kind: 'lost-answer' });
  const heard: string[] = [];
  const inner = rulesResponder(library);
  const answer: typeof inner.answer = (query, signal) => {
    heard.push(
      `${query.step}: ${query.messages.flatMap((one) => (one.role === 'tool' ? one.content : [])).join(' | ')}`,
    );
    return inner.answer(query, signal);
  };
  const responder = withFaults({ ...inner, answer }, library, rules);
  const env = rulesEnvironment(library, { responder });
  await env.reset({ task: 'lend-dune', seed: 1 });
  const given = [['get_member'], ['find_books'], ['lend_book'], ['get_member']] as const;
  const args = {
    get_member: { member_id: 'M1' },
    find_books: { text: 'Dune' },
    lend_book: { member_id: 'M1', book_id: 'B1' },
  };
  for (const [name] of given) await env.step(call(name, args[name]));
  const [, , , last] = env.messages.flatMap((one) => (one.role === 'tool' ? [one.content] : []));
  expect(env.end.faults?.map(({ kind }) => kind)).toEqual(['error', 'truncated', 'lost-answer']);
  expect(heard.at(-1)).toMatch(/^2: .*Dune Messiah.* \| \{"lent":"Dune"/);
  expect(heard.join()).not.toMatch(/503|504|cut off/);
  expect(last).toContain('"B1"');
});

it.each(['a tool that ends it', 'a world that ends it'])(
  'an episode ends though the answer is lost: %s',
  async (by) => {
    const inner = rulesResponder(library);
    const isWorld = by === 'a world that ends it';
    const answer: typeof inner.answer = async (query, signal) => ({
      ...(await inner.answer(query, signal)),
      ...(isWorld && { terminated: true }),
    });
    const name = isWorld ? 'find_books' : 'hand_over';
    const made = call(name, isWorld ? { text: 'Dune' } : { reason: 'help' });
    const rules = rulesOf({ kind: 'lost-answer', tools: [name], expect: 'retry' });
    const env = rulesEnvironment(library, { responder: withFaults({ ...inner, answer }, library, rules) });
    await env.reset({ task: 'lend-dune', seed: 1 });
    const { terminated, observation } = await env.step(made);
    expect(observation.messages).toMatchObject([{ content: expect.stringContaining('504'), isError: true }]);
    expect([terminated, env.end.faults?.map(({ kind }) => kind)]).toEqual([true, ['lost-answer']]);
    // No reaction can follow, so none is judged.
    const checks = checksAfterFaults(library, library.tasks[0], env.end, () => []);
    expect(checks).toEqual([]);
    await expect(env.step(call('hand_over', {}))).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
  },
);

it('hides no instruction to do what the task needs', async () => {
  for (const [action, times] of [
    ['unlock', 0],
    ['reset_password', 1],
  ] as const) {
    const hidden = { name: 'restore_access', arguments: { employee_id: 'EMP-1042', action } };
    expect((await played(rulesOf({ kind: 'injection', call: hidden }))).faults).toHaveLength(times);
  }
});

it('names an unknown tool', () => {
  expect(() => environment(rulesOf({ kind: 'error', tools: ['get_employe'] }))).toThrow(
    /faults\[0\].*"get_employe".*"get_employee"/s,
  );
});
