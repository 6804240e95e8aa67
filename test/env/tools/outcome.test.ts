// Outcomes of episodes: a failure that the policy cannot have caused never gives a reward of 0.

import { afterAll, describe, expect, test } from 'vitest';
import { reverieError } from '../../../src/core/errors.js';
import { type EpisodeFacts, settle } from '../../../src/env/tools/outcome.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../../src/env/tools/tools-family.js';
import { attempted, planRow, type RowPlan, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { LIVED, loadLibrary, rulesEnvironment, SOLUTION } from './library.js';

const domain = await loadLibrary();
afterAll(() => domain.close());

/** The rules, with this changed in answers to `lend_book`. */
const answering = (change: object): Responder => {
  const rules = rulesResponder(domain);
  const answer: Responder['answer'] = async (query, signal) => {
    const answered = await rules.answer(query, signal);
    return query.call.name === 'lend_book' ? { ...answered, ...change } : answered;
  };
  return { ...rules, trusts: () => true, answer, close: () => {} };
};
const REFUSED = { operations: [], isError: true, observation: 'Error', refused: ['llm, after repair: no such book'] };
const DOUBTED = { truncated: true, confidence: 0.1 };
const lost = reverieError('USER_TURN_INVALID', { task: 'lend-dune', problem: 'repeats: it said that before' });
const faulty: UserSimulator = {
  version: 'faulty',
  open: (query) => new ScriptedUser().open(query),
  reply: () => Promise.reject(lost),
};

describe('the verdict depends on other facts', () => {
  const check = (passed: boolean | null) => [{ name: 'state', passed, reason: 'because' }];
  const cases: [string, number | null, EpisodeFacts, object, number | null][] = [
    ['solved', 1, {}, { kind: 'judged', cause: null }, 1],
    ['lost', 0, {}, { kind: 'judged', cause: null }, 0],
    ['undecided', null, {}, { kind: 'judged', cause: 'state: because' }, null],
    ['lost as the clock ran out', 0, { ranOut: '3 steps' }, { kind: 'failed_by_agent', cause: '3 steps' }, 0],
    ['solved as it ran out', 1, { ranOut: '3 steps' }, { kind: 'judged', cause: null }, 1],
    ['lost after a refusal', 0, { refused: 'x' }, { kind: 'failed_by_simulator', cause: 'it refused a call: x' }, null],
    ['half won after one', 0.5, { refused: 'x' }, { kind: 'failed_by_simulator' }, null],
    ['solved after one', 1, { refused: 'x' }, { kind: 'judged', cause: null }, 1],
    ['solved in doubt', 1, { doubted: 'x' }, { kind: 'failed_by_simulator', cause: 'x' }, null],
    ['left by the user', 1, { userFault: 'u', doubted: 'x' }, { kind: 'failed_by_user', cause: 'u' }, null],
  ];
  test.each(cases)('%s', (_, reward, facts, outcome, paid) => {
    const settled = settle({ reward, checks: check(reward === null ? null : reward === 1) }, facts);
    expect(settled.outcome).toMatchObject(outcome);
    expect(settled.verdict.reward).toBe(paid);
    expect(settled.verdict.checks[0].name).toBe('state');
  });
});

describe('an episode ends', () => {
  const cases = [
    { name: 'by a doubtful answer', change: DOUBTED, steps: 2, outcome: { kind: 'failed_by_simulator' }, reward: null },
    { name: 'after a refused call', change: REFUSED, steps: 3, outcome: { kind: 'failed_by_simulator' }, reward: null },
    {
      name: 'by a user that breaks down',
      options: { user: faulty },
      steps: 3,
      outcome: { kind: 'failed_by_user' },
      reward: null,
    },
    {
      name: 'by its clock',
      options: { maxSteps: 1 },
      steps: 1,
      outcome: { kind: 'failed_by_agent', cause: '1 steps did not suffice' },
      reward: 0,
    },
    {
      name: 'by a user that loses patience',
      options: { patience: 1 },
      steps: 3,
      outcome: { kind: 'judged' },
      reward: 1,
    },
    { name: 'as it should', steps: 3, outcome: { kind: 'judged', cause: null }, reward: 1 },
  ];
  test.each(cases)(
    '$name, and says so, in a snapshot of it, too',
    async ({ change, options, steps, outcome, reward }) => {
      const make = () => rulesEnvironment(domain, { ...options, ...(change && { responder: answering(change) }) });
      const [env, other] = [make(), make()];
      await env.reset({ task: 'lend-dune', seed: 1 });
      for (const action of SOLUTION.slice(0, steps - 1)) await env.step(action);
      other.restore(JSON.parse(JSON.stringify(env.snapshot())));
      const end = await env.step(SOLUTION[steps - 1]);
      expect(end.info).toMatchObject({ outcome, verdict: { reward } });
      expect(await other.step(SOLUTION[steps - 1])).toEqual(end);
    },
  );
});

describe('a row that fails without the agent’s fault', () => {
  const settings = { ...LIVED, seed: 3, source: 'synthetic', maxSteps: 9 } as const;
  const policy: ToolsPolicy = {
    version: 'p',
    act: ({ step }) => ({
      action: SOLUTION[step],
      cost: { calls: 1, promptTokens: 0, cachedTokens: 0, completionTokens: 0, money: 0 },
    }),
  };
  const plan = planRow(5, { seed: 3, groupSize: 2, branchAt: 0 });
  const task = () => domain.tasks.find(({ id }) => id === 'lend-dune')!;
  /** Applies `change` in attempts up to `times`. */
  const rows =
    (change: object, times: number, plans: RowPlan[] = []) =>
    (now: RowPlan) => {
      plans.push(now);
      const responder = now.attempt <= times ? answering(change) : rulesResponder(domain);
      return runEpisode(rulesEnvironment(domain, { responder }), policy, task(), now, settings);
    };

  test('is tried again from the same start under another id, and the row says so', async () => {
    const plans: RowPlan[] = [];
    const made = await attempted(rows(DOUBTED, 1, plans), plan, settings);
    expect(made).toMatchObject({ return: 1, outcome: { kind: 'judged', attempt: `${made.id}-2` }, cost: { calls: 5 } });
    expect(made.retried).toMatchObject([{ kind: 'failed_by_simulator', attempt: `${made.id}-1` }]);
    expect(plans.map(({ envSeed }) => envSeed)).toEqual([plan.envSeed, plan.envSeed]);
    expect(plans[1].agentSeed).not.toBe(plan.agentSeed);
    expect(await attempted(rows(DOUBTED, 1), plan, settings)).toEqual(made);
  });

  test('is given up without a reward in the end, and not tried again where none is given', async () => {
    const given = await attempted(rows(REFUSED, 9), plan, settings);
    expect(given).toMatchObject({ return: null, outcome: { kind: 'failed_by_simulator', attempt: `${given.id}-3` } });
    const plans: RowPlan[] = [];
    await attempted(rows(REFUSED, 9, plans), plan, { ...settings, withheld: 'a gate' });
    expect(plans).toHaveLength(1);
  });

  test('begins elsewhere where the user fails in what all of its group share', async () => {
    const plans: RowPlan[] = [];
    const make = (now: RowPlan) => {
      plans.push(now);
      return now.attempt === 1 ? Promise.reject(lost) : rows({}, 0)(now);
    };
    const made = await attempted(make, plan, settings);
    expect(made).toMatchObject({ return: 1, retried: [{ kind: 'failed_by_user' }] });
    const first = [...plans];
    plans.length = 0;
    await attempted(make, planRow(4, { seed: 3, groupSize: 2, branchAt: 0 }), settings);
    expect(plans[1].envSeed).toBe(first[1].envSeed);
    expect(plans[1].envSeed).not.toBe(plan.envSeed);
  });
});
