// Walks that a language model guides itself, what they are made into, and what is let in of it: nothing that nobody could do again.

import { afterAll, describe, expect, it } from 'vitest';
import { NO_COST } from '../../src/core/cost.js';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../src/env/tools/tools-environment.js';
import type { Responder } from '../../src/env/tools/tools-family.js';
import type { LanguageModel } from '../../src/llm/language-model.js';
import type { EpisodeRecord } from '../../src/replay/experience/experience.js';
import { graphDomain } from '../../src/screens/graph/graph-domain.js';
import { GOAL_KINDS, GuidedAgent, type GuidedAgentOptions, goalKindOf } from '../../src/screens/guided/guided-agent.js';
import { type WrapRequest, wrapWalk } from '../../src/screens/guided/wrap-walk.js';
import { type EpisodeSettings, planRow, runEpisode } from '../../src/synth/episodes/run-episode.js';
import { whyNotImitated } from '../../src/synth/quality/quality-pipeline.js';
import { type Plan, SILENT, shopper } from './shopper.js';

const shop = graphDomain('packs/shop/shop.yaml', { seeds: 1 });
afterAll(() => shop.close());
const task = shop.tasks.find(({ id }) => id === 'order.0') as ToolsTask;
const responder = rulesResponder(shop, 'rules');
const plan = planRow(0, { seed: 1, groupSize: 1, branchAt: 0 });
const settings: EpisodeSettings = {
  ...{ scenario: 's', scenarioHash: 'h', seed: 1, source: 'synthetic', maxSteps: 12 },
  ...{ responderVersion: 'r', userVersion: 'u', weigh: () => 1 },
};

const HONEY: Plan = [
  ['click', 'button', 'Search'],
  ['click', 'link', 'Honey'],
  ['click', 'button', 'Add to cart'],
  ['click', 'link', 'Cart \\(1\\)'],
];
const WRAPPED = {
  summary: 'Honey is put into the cart.',
  instruction: 'Put "Honey" into the cart and open it.',
  thoughts: ['I look for it.', 'There it is.', 'I take it.', 'I open the cart.'],
  answer: null,
};

async function walked(model: LanguageModel, more: Partial<GuidedAgentOptions> = {}): Promise<EpisodeRecord> {
  const agent = new GuidedAgent({ domain: shop, model, subgoals: 5, temperature: 0, ...more });
  const user = new ScriptedUser();
  const env = new ToolsEpisodeEnvironment({ id: 't', domain: shop, responder, user, maxSteps: 12 });
  return runEpisode(env, agent, task, plan, settings);
}

function wrap(record: EpisodeRecord, model: LanguageModel, more: Partial<WrapRequest> = {}): Promise<EpisodeRecord> {
  const standard = { domain: shop, task, record, isRecorded: false, responder, model, judge: model, judges: 0 };
  return wrapWalk({ ...standard, plan, settings, ...more });
}

const calls = ({ steps }: EpisodeRecord) =>
  steps.flatMap(({ action }) => (action.toolCalls ?? []).map(({ name }) => name));
const wrapping = (reply = {}) => shopper([], { wrapped_walk: () => ({ ...WRAPPED, ...reply }) });

describe('a guided walk', () => {
  it('goes from sub-goal to sub-goal, a thought before each action, and ends by itself; the same every time', async () => {
    const model = shopper(HONEY);
    const record = await walked(model, { goalKinds: ['Buy honey.'] });
    expect(calls(record)).toEqual(['click', 'click', 'click', 'click']);
    expect(record.steps[1].action.reasoning).toBe('I take Honey.');
    expect(record.walk).toMatchObject({ ended: 'finished' });
    expect(record.walk!.subgoals[0]).toEqual({ step: 0, text: 'do Search' });
    expect(record.walk!.goalKind).toBe(goalKindOf([...GOAL_KINDS, ...shop.goalKinds!, 'Buy honey.'], plan.agentSeed));
    // The task's goal is none of its own, and is not shown.
    expect(JSON.stringify(model.asked.map(({ data }) => data))).not.toContain(task.user.goal.slice(0, 20));
    expect(await walked(shopper(HONEY), { goalKinds: ['Buy honey.'] })).toEqual(record);
  });

  it('is told once what was wrong with a reply, and ends as one that failed if the next is no better', async () => {
    const step = (nth: number) => {
      const action = nth === 2 ? null : nth === 0 ? "click('999')" : "click('4')";
      return { finished: nth === 2, thought: 'I try.', action };
    };
    const model = shopper(HONEY, { step });
    expect(calls(await walked(model, { subgoals: 1 }))).toEqual(['click']);
    expect(JSON.stringify(model.asked[2].request.messages.at(-1))).toContain('there is no element [999]');
    await expect(walked(SILENT)).rejects.toMatchObject({ code: 'LLM_REPLY_INVALID', values: { ofModel: true } });
  });
});

describe('a wrapped walk', () => {
  it('is a task that it solves, without detours, of unknown worth until a judge that may has said so', async () => {
    const detour: Plan = [...HONEY.slice(0, 1), ['hover', 'link', 'Honey'], ...HONEY.slice(1)];
    const judge = shopper([], { walk_verdict: () => ({ reasoning: 'It shows.', done: true }) });
    const record = await wrap(await walked(shopper(detour), { subgoals: 9 }), wrapping(), { judge, judges: 3 });
    expect(calls(record)).toEqual(['click', 'click', 'click', 'click']);
    expect(record.messages[1].content).toMatch(/^Put "Honey" into the cart and open it\.\n\nTab 0/);
    expect(record.steps.map(({ action }) => action.reasoning)).toEqual([...WRAPPED.thoughts, undefined]);
    expect(record).toMatchObject({ return: null, weight: 0.5, walk: { wrapped: { leftOut: 1, judges: 3 } } });
    expect(judge.asked).toHaveLength(3);
    const unseen = await wrap(await walked(shopper(HONEY)), wrapping());
    expect(whyNotImitated(unseen, 'any')).toBe('an instruction that was not checked');
    expect([whyNotImitated(record, 'any'), whyNotImitated(record, 1)]).toEqual([undefined, 'not judged']);
    const verdict = { reward: 1, checks: [{ name: 'rubric', passed: true, reason: 'it shows' }], judge: 'j' };
    const audited = { ...settings, judge: async () => ({ verdict, cost: record.cost }) };
    const sure = await wrap(await walked(shopper(HONEY)), wrapping(), { settings: audited });
    expect(sure).toMatchObject({ return: 1, weight: 1 });
  });

  const faults: [string, object, RegExp][] = [
    ['names what is nowhere', { instruction: 'Put "Jam" into the cart.' }, /what it names: "Jam"/],
    ['lacks a thought', { thoughts: ['I look for it.'] }, /1 thoughts, and there are 4 actions/],
    ['names ids', { instruction: 'Click [4] and then Honey.' }, /names ids/],
    ['answers what no screen shows', { answer: 'It costs 7.77' }, /answer stands on none/],
  ];
  it.each(faults)('is refused where its instruction %s', async (_, reply, problem) => {
    await expect(wrap(await walked(shopper(HONEY)), wrapping(reply))).rejects.toThrow(problem);
  });

  it('is refused where doing it again comes elsewhere, where one judge objects, and where nobody or nothing answers', async () => {
    const record = await walked(shopper(HONEY));
    const { steps, messages } = record;
    const at = steps[2].message + 1;
    const other = messages.map((message, i) => (i === at ? { ...message, content: `${message.content}!` } : message));
    await expect(wrap({ ...record, messages: other as typeof messages }, wrapping())).rejects.toThrow(
      /\(action 3\) comes to another screen/,
    );
    const judge = shopper([], { walk_verdict: (nth) => ({ reasoning: 'No.', done: nth < 2 }) });
    await expect(wrap(record, wrapping(), { judge, judges: 3 })).rejects.toThrow(/a judge finds/);
    await expect(wrap(record, wrapping(), { judge: SILENT, judges: 1 })).rejects.toThrow(/it gave no verdict/);
    await expect(wrap(record, SILENT)).rejects.toMatchObject({ code: 'TRAJECTORY_INVALID' });
    const still: Responder = {
      ...responder,
      version: 'still',
      answer: () => ({ ...SAME, operations: [] }),
      close: () => {},
    };
    await expect(wrap(record, wrapping(), { responder: still })).rejects.toThrow(/comes to another screen/);
    const silent = messages.map((message) => (message.role === 'tool' ? { ...message, content: '' } : message));
    await expect(wrap({ ...record, messages: silent }, wrapping(), { responder: still })).rejects.toMatchObject({
      code: 'TRAJECTORY_INVALID',
    });
  });
});

/** What a world says that answers nothing. */
const SAME = {
  ...{ observation: '', isError: false, reward: null, terminated: false, truncated: false, confidence: 1 },
  ...{ backend: 'still', modelVersion: 'still', why: [], cost: NO_COST },
};
