// Whole episodes in simulations whose errors were put in by hand: how long they keep to what happened, and what they reward.

import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import { reverieError } from '../../../src/core/errors.js';
import { Rng } from '../../../src/core/rng.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../../src/env/tools/tools-family.js';
import { toolsKSteps } from '../../../src/fidelity/k-steps.js';
import { toolsRewardEnd } from '../../../src/fidelity/reward-end.js';
import {
  carriedBy,
  carryOutForReal,
  endOf,
  SimulatedEpisodes,
  type TrueSequence,
} from '../../../src/fidelity/tools/episodes.js';
import { ReferenceAgent } from '../../../src/synth/episodes/agents/baseline-agents.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { LIVED, rulesEnvironment } from '../../env/tools/library.js';
import { findingOf, judgedOf, metricOf } from './desk-questions.js';
import { wrappedRules } from './wrapped-rules.js';

const EPISODES = 60;

const domain = await nativeDomain('helpdesk');
const records = await Promise.all(Array.from({ length: EPISODES }, (_, row) => episode(rulesResponder(domain), row)));
const carried = await Promise.all(
  records.map(async ({ id, task: name, messages }): Promise<TrueSequence> => {
    const task = domain.tasks.find((each) => each.id === name)!;
    const { steps } = await carryOutForReal(domain, task, messages);
    const known = steps.map(({ prediction: { observation, isError }, state }) => ({ observation, isError, state }));
    return { id, task, messages, steps: known };
  }),
);
const sequences = carried.filter(({ steps }) => steps.length > 0);

function episode(responder: Responder, row: number, task = domain.tasks[row % domain.tasks.length]) {
  const environment = rulesEnvironment(domain, { responder });
  const agent = new ReferenceAgent([0, 0.3][row % 2]);
  const plan = planRow(row, { seed: 3, groupSize: 1, branchAt: 0 });
  return runEpisode(environment, agent, task, plan, { ...LIVED, seed: 3, source: 'synthetic', maxSteps: 30 });
}

function simulatedBy(responder: Responder) {
  return new SimulatedEpisodes({
    count: EPISODES,
    domain,
    seed: 3,
    run: ({ row, task }) => episode(responder, row, task),
  });
}

function kSteps(responder: Responder) {
  return findingOf(
    toolsKSteps(judgedOf({ sequences, carry: carriedBy(responder, domain, 0), simulated: simulatedBy(responder) })),
  );
}

describe('many steps', () => {
  it('keep to what happened in the real environment', async () => {
    const finding = await kSteps(rulesResponder(domain));
    for (const key of ['end-state', 'observation-right', 'observations-all-right', 'error-flag', 'consistency-ratio'])
      expect(metricOf(finding, key).value, key).toBe(1);
    expect(metricOf(finding, 'divergence-rate').value).toBe(0);
    const calls = sequences.reduce((sum, { steps }) => sum + steps.length, 0);
    expect(metricOf(finding, 'divergence-rate').n).toBe(calls);
    expect(metricOf(finding, 'steps-to-divergence').value).toBeCloseTo(calls / sequences.length, 9);
    // Nothing was ever wrong: how many steps it takes is known from below alone.
    expect(metricOf(finding, 'steps-to-divergence')).toMatchObject({ low: expect.any(Number), high: null });
    expect(finding.section.notes.join(' ')).toContain('No state was ever wrong');
  });

  it('find answers in other words, and errors that are reported as none, by step and by episode', async () => {
    const finding = await kSteps(wrappedRules(domain, { observation: 0.2, flag: 0.3 }));
    const value = (key: string) => metricOf(finding, key).value!;
    for (const [key, right] of Object.entries({ 'observation-right': 0.8, 'error-flag': 0.7 }))
      expect(Math.abs(value(key) - right), key).toBeLessThan(0.1);
    expect(value('end-state')).toBe(1);
    expect(value('observations-all-right')).toBeLessThan(value('observation-right'));
  });

  it('go wrong as often as single steps do, once for all', async () => {
    const finding = await kSteps(wrappedRules(domain, { state: 0.3 }));
    const changing = sequences.flatMap(({ steps, task }) =>
      steps.map(({ state }, i) => state !== (i === 0 ? startOf(task.id) : steps[i - 1].state)),
    );
    const share = changing.filter(Boolean).length / changing.length;
    const { low, high } = metricOf(finding, 'divergence-rate');
    expect(low! <= 0.3 * share && 0.3 * share <= high!).toBe(true);
    expect(metricOf(finding, 'end-state').high).toBeLessThan(0.9);
  });

  function startOf(id: string) {
    const task = domain.tasks.find((each) => each.id === id)!;
    return applyOperations(domain.initialState, task.initialOperations ?? []);
  }
});

describe('reward and end', () => {
  it('are the real ones in the real environment', async () => {
    const finding = await findingOf(toolsRewardEnd(judgedOf({ simulated: simulatedBy(rulesResponder(domain)) })));
    for (const key of ['precision', 'recall', 'reward-exact', 'end-state'])
      expect(metricOf(finding, key).value, key).toBe(1);
    for (const key of ['false-done', 'optimism']) expect(metricOf(finding, key).value, key).toBe(0);
  });

  /** A simulation whose verdicts are turned round in a share of episodes. */
  function turned(share: number, towards?: number) {
    return new SimulatedEpisodes({
      count: EPISODES,
      domain,
      seed: 3,
      run: async ({ row, task }) => {
        const record = await episode(rulesResponder(domain), row, task);
        const { reward } = record.verdict;
        const isTurned = Rng.fromSeed(7).split('turned', row).uniform() < share && reward !== towards;
        return isTurned ? { ...record, verdict: { ...record.verdict, reward: 1 - reward! } } : record;
      },
    });
  }

  it('leave open for real what a judge does not answer', async () => {
    const rubric = { ...domain.tasks[0], verifier: { rubric: ['It is polite.'] } };
    const simulated = new SimulatedEpisodes({
      ...{ count: 1, domain: { ...domain, tasks: [rubric] }, seed: 3 },
      run: ({ row, task }) => episode(rulesResponder(domain), row, task),
      decide: () => Promise.reject(reverieError('LLM_TIMEOUT', { url: 'x', tries: 1, problem: 'slow' })),
    });
    expect(await simulated.chunk(0)).toMatchObject([{ answered: true, real: null, endState: true }]);
  });

  it('find verdicts that were turned round', async () => {
    const finding = await findingOf(toolsRewardEnd(judgedOf({ simulated: turned(0.3) })));
    const { low, high } = metricOf(finding, 'reward-exact');
    expect(low! <= 0.7 && 0.7 <= high!).toBe(true);
    for (const [key, value] of [
      ['recall', 0.7],
      ['false-done', 0.3],
    ] as const) {
      const found = metricOf(finding, key);
      expect(found.low! <= value && value <= found.high!, key).toBe(true);
    }
    expect(metricOf(finding, 'end-state').value).toBe(1);
  });

  it('find a simulation that promises too much, and one that promises too little', async () => {
    const rosy = await findingOf(toolsRewardEnd(judgedOf({ simulated: turned(0.5, 1) })));
    expect(metricOf(rosy, 'optimism').low).toBeGreaterThan(0);
    expect(metricOf(rosy, 'recall').value).toBe(1);
    expect(metricOf(rosy, 'false-done').low).toBeGreaterThan(0.1);
    const gloomy = await findingOf(toolsRewardEnd(judgedOf({ simulated: turned(0.5, 0) })));
    expect(metricOf(gloomy, 'optimism').high).toBeLessThan(0);
    expect(metricOf(gloomy, 'precision').value).toBe(1);
  });
});

it("a user's own calls that were refused change nothing when they are carried out elsewhere either", async () => {
  const [task] = domain.tasks;
  const allowed = ['verify_identity', 'restore_access'];
  const own = { ...task, user: { ...task.user, tools: allowed } };
  const of = { ...domain, userTools: domain.tools, tasks: [own] };
  const [verify, , unlock, close] = task.reference!.calls;
  const wanted = [
    verify,
    // There is no such tool, its arguments break the schema, it is not this user's; the last one is carried out.
    { name: 'wave', arguments: {} },
    { ...unlock, arguments: { ...unlock.arguments, loudly: true } },
    close,
    unlock,
  ];
  const user: UserSimulator = {
    version: 'does it',
    open: () => ({ content: 'Wait.', done: false, cost: NO_COST }),
    reply: ({ calls = [] }) =>
      calls.length === 0
        ? { content: '', done: false, calls: wanted, cost: NO_COST }
        : { content: 'Done.', done: true, cost: NO_COST },
  };
  const agent: ToolsPolicy = { version: 'waits', act: () => ({ action: { content: 'Yes?' }, cost: NO_COST }) };
  const plan = planRow(0, { seed: 3, groupSize: 1, branchAt: 0 });
  const settings = { ...LIVED, seed: 3, source: 'synthetic', maxSteps: 30 } as const;
  const lived = await runEpisode(rulesEnvironment(of, { user }), agent, own, plan, settings);
  const refused = lived.messages.flatMap((one) => (one.role === 'user' ? (one.calls ?? []) : []));
  expect(refused.map(({ isError = false }) => isError)).toEqual([false, true, true, true, false]);
  const { isWhole, finalState } = await carryOutForReal(of, own, lived.messages);
  expect(isWhole).toBe(true);
  expect(finalState).toEqual(endOf(of, own, lived));
});
