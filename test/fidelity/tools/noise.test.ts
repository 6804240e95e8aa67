// Known noise of rewards: one source tosses a coin for each episode, the others are fixed.

import { afterAll, describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../../src/env/tools/tools-family.js';
import { fidelityDocument } from '../../../src/fidelity/document.js';
import { compareSubjects } from '../../../src/fidelity/gates.js';
import type { Estimate } from '../../../src/fidelity/statistics.js';
import { toolsNoise } from '../../../src/fidelity/tools/noise.js';
import { loadToolsScenario } from '../../../src/run/scenario.js';
import { ReferenceAgent } from '../../../src/synth/episodes/agents/baseline-agents.js';
import { loadLibrary } from '../../env/tools/library.js';
import { inventedReport } from '../report/invented-report.js';

const TASKS = 20;
const P = 0.3;
/** Probability of heads. */
const DEVIATION = Math.sqrt(P * (1 - P));
const isHeads = (seed: number) => Rng.fromSeed(seed).split('coin').uniform() < P;

const library = await loadLibrary();
const [lend] = library.tasks;
const domain = { ...library, tasks: Array.from({ length: TASKS }, (_, i) => ({ ...lend, id: `lend-${i}` })) };
afterAll(() => library.close());

const NOTHING = { operations: [], observation: 'Error: not today', isError: true };
const fair = () => ({
  responder: rulesResponder(domain) as Responder,
  user: new ScriptedUser() as UserSimulator,
  agent: new ReferenceAgent() as ToolsPolicy,
  judge: undefined as Parameters<typeof toolsNoise>[0]['judge'],
  domain,
});
type Cast = ReturnType<typeof fair>;
const COINS: Record<string, () => Partial<Cast>> = {
  world: () => {
    const { responder } = fair();
    const answer: Responder['answer'] = async (query, signal) => {
      const answered = await responder.answer(query, signal);
      return isHeads(query.seed) ? { ...answered, ...NOTHING } : answered;
    };
    return { responder: { ...responder, answer } };
  },
  judge: () => ({
    domain: { ...domain, tasks: domain.tasks.map((task) => ({ ...task, verifier: { rubric: ['It is polite.'] } })) },
    judge: {
      version: 'coin',
      decide: async ({ seed = 1 }) => ({ verdict: { reward: isHeads(seed) ? 0 : 1, checks: [] }, cost: NO_COST }),
    },
  }),
  agent: () => ({
    agent: {
      version: 'coin',
      act: (query) =>
        isHeads(query.seed) ? { action: { content: 'No.' }, cost: NO_COST } : new ReferenceAgent().act(query),
    },
  }),
  user: () => {
    const turn = (seed: number, done: boolean) => ({ content: 'Please.', done: done || isHeads(seed), cost: NO_COST });
    return {
      user: { version: 'coin', open: ({ seed }) => turn(seed, false), reply: ({ seed }) => turn(seed, false) },
      agent: {
        version: 'asks',
        act: (query) =>
          query.step === 0 ? { action: { content: 'Shall I?' }, cost: NO_COST } : new ReferenceAgent().act(query),
      },
    };
  },
  nobody: () => ({}),
};
const NO_COST = { calls: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, money: 0 };

async function noiseOf(cast: Partial<Cast>, repeats = 4) {
  const set = [`fidelity.noise.tasks=${TASKS}`, `fidelity.noise.repeats=${repeats}`];
  const scenario = await loadToolsScenario('helpdesk', { set });
  const instrument = toolsNoise({ ...fair(), ...cast, setup: { scenario, seed: 1, inputs: {}, out: '' } });
  const rows = [];
  for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
  const finding = instrument.conclude(rows);
  const estimates = Object.fromEntries(finding.section.metrics.map(({ key, estimate }) => [key, estimate]));
  return { finding, rows, estimates: estimates as Record<string, Estimate> };
}

const SOURCES = ['world', 'judge', 'agent', 'user'];

describe.each(Object.keys(COINS))('where %s tosses a coin', (who) => {
  it('the deviation is that of the coin, and that of the others 0', async () => {
    const { estimates, finding } = await noiseOf(COINS[who]());
    const expected = (source: string) => (source === who || (source === 'total' && who !== 'nobody') ? DEVIATION : 0);
    for (const source of [...SOURCES, 'total']) {
      const { value, low, high, n } = estimates[source];
      expect(n).toBe(TASKS);
      expect([low! <= expected(source), high! >= expected(source)], `${source} ${value} (${low} to ${high})`).toEqual([
        true,
        true,
      ]);
      if (expected(source) > 0) expect(low, source).toBeGreaterThan(0.3);
    }
    const floor = (1.96 * Math.SQRT2 * estimates.total.value!) / Math.sqrt(TASKS * 5);
    expect(estimates.floor.value).toBeCloseTo(floor, 12);
    expect(finding.section.summary).toContain('is noise');
  });
});

it('of judge and world is none where the user itself does what is wanted', async () => {
  const lending = { name: 'lend_book', arguments: { member_id: 'M1', book_id: 'B1' } };
  const user: UserSimulator = {
    version: 'does it',
    open: () => ({ content: 'Wait.', done: false, cost: NO_COST }),
    reply: ({ calls = [] }) =>
      calls.length === 0
        ? { content: '', done: false, calls: [lending], cost: NO_COST }
        : { content: 'It is mine, it is due on 2030-03-22.', done: true, cost: NO_COST },
  };
  const agent: ToolsPolicy = { version: 'waits', act: () => ({ action: { content: 'Yes?' }, cost: NO_COST }) };
  const asked = { verifier: { assert: [{ path: '/books/B1/lentTo', equals: 'M1' }] } };
  const tasks = domain.tasks.map((task) => ({ ...task, ...asked }));
  const of = { ...domain, userTools: domain.tools, tasks };
  const { estimates } = await noiseOf({ user, agent, domain: of, responder: rulesResponder(of) }, 1);
  expect(estimates.reward.value).toBe(1);
  expect([estimates.judge.value, estimates.world.value]).toEqual([0, 0]);
});

it('is not known where nothing is played again, and says so', async () => {
  const { finding, estimates } = await noiseOf(COINS.world(), 0);
  expect([estimates.total.value, finding.section.missing]).toEqual([null, expect.stringMatching(/not known/)]);
});

it('of a mean is that of the plays that were decided', async () => {
  const { judge, domain: judged } = { ...fair(), ...COINS.judge() };
  const decide: NonNullable<typeof judge>['decide'] = async (ended, signal) => {
    const { verdict, cost } = await judge!.decide(ended, signal);
    const isOpen =
      Rng.fromSeed(ended.seed ?? 1)
        .split('abstains', ended.task.id)
        .uniform() < 0.5;
    return { verdict: isOpen ? { ...verdict, reward: null } : verdict, cost };
  };
  const { estimates, finding, rows } = await noiseOf({ judge: { version: 'coin', decide }, domain: judged }, 4);
  const plays = rows.flatMap(({ total }) => total.filter((value) => value !== null)).length;
  expect([plays > 0, plays < 0.8 * TASKS * 5]).toEqual([true, true]);
  const floor = (1.96 * Math.SQRT2 * estimates.total.value!) / Math.sqrt(plays);
  expect(estimates.floor.value).toBeCloseTo(floor, 12);
  expect(finding.section.summary).toContain('is noise');
});

it('lets no gain be claimed that is inside of it', async () => {
  const [first] = inventedReport.subjects;
  const measured = await noiseOf(COINS.world());
  const subject = (name: string, by: number) => ({
    ...first,
    name,
    sections: [measured.finding.section],
    samples: { 'noise.reward': measured.finding.samples.reward.map((value) => value! + by) },
  });
  const floor = measured.estimates.floor.value!;
  for (const [by, text] of [
    [floor * 0.9, /within the noise/],
    [floor * 1.1, /◆ different/],
  ] as const) {
    const subjects = [subject('a', 0), subject('b', by)];
    const comparisons = compareSubjects(subjects, Rng.fromSeed(1));
    expect(comparisons).toMatchObject([{ metric: 'noise.reward', floor: expect.closeTo(floor, 9) }]);
    // Every task is better by as much: the interval alone would claim both.
    expect(comparisons[0].difference.low).toBeGreaterThan(0);
    expect(JSON.stringify(fidelityDocument({ ...inventedReport, subjects, comparisons, gates: [] }))).toMatch(text);
  }
});
