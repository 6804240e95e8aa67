// Early experience: forks at an expert's states, labelled by who answered, the same whenever and however often it is made.

import '../../../src/kinds/registry.js';
import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import { reverieError } from '../../../src/core/errors.js';
import type { Message } from '../../../src/env/tools/message.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import {
  type EarlyExperienceRequest,
  type EarlyExperienceRow,
  earlyExperience,
  type ReflectionRow,
  reflectionFaults,
  type WorldModelRow,
} from '../../../src/synth/early-experience/early-experience.js';
import { scriptedModel } from '../tasks/model.js';
import { CANCEL, shop } from '../tasks/shop.js';

const domain = shop();

function environmentWith(responder: Responder) {
  return (user: UserSimulator) => new ToolsEpisodeEnvironment({ id: 'shop', domain, responder, user });
}

/** The task's reference, lived in the real shop with a question before. */
async function expertRecord(user: UserSimulator = new ScriptedUser()): Promise<EpisodeRecord> {
  const environment = environmentWith(rulesResponder(domain))(user);
  await environment.reset({ task: CANCEL.id, seed: 5 });
  const steps: EpisodeRecord['steps'][number][] = [];
  const { calls, say } = CANCEL.reference!;
  const actions = [
    { content: 'Is it ORD-2000 that I shall look at?' },
    ...calls.map((call, i) => ({ content: null, toolCalls: [{ id: `c${i}`, ...call }] })),
    { content: say! },
  ];
  for (const action of actions) {
    const message = environment.messages.length;
    const { info } = await environment.step(action);
    steps.push({
      message,
      action,
      predictions: info.predictions as never,
      reward: 0,
      stateHash: String(info.stateHash),
    });
  }
  const { messages } = environment;
  const known = { id: 'expert', task: CANCEL.id, family: CANCEL.family, split: 'train', seed: 5, source: 'real' };
  return { ...known, userVersion: 'u', messages, steps, terminated: true } as unknown as EpisodeRecord;
}

async function rowsOf(changes: Partial<EarlyExperienceRequest> = {}): Promise<EarlyExperienceRow[]> {
  const environment = environmentWith(rulesResponder(domain));
  const rows: EarlyExperienceRow[] = [];
  for await (const row of earlyExperience({ episodes: [await expertRecord()], environment, seed: 1, ...changes }))
    rows.push(row);
  return rows;
}

const isTransition = (row: EarlyExperienceRow): row is WorldModelRow => row.kind === 'world-model';
const told = (messages: readonly Message[]) => messages.map(({ content }) => content);

describe('transitions', () => {
  it('come K + 1 to a state: what the expert did, as recorded, and K different actions', async () => {
    const rows = await rowsOf();
    expect(rows.map(({ id }) => id)).toEqual(
      [0, 1, 2, 3].flatMap((step) => [0, 1, 2, 3, 4].map((k) => `expert:${step}:${k}`)),
    );
    const record = await expertRecord();
    for (let step = 0; step < 4; step++) {
      const mine = rows.filter(isTransition).filter((row) => row.step === step);
      expect(mine[0].action).toEqual(record.steps[step].action);
      expect(
        new Set(
          mine.map(({ action }) =>
            JSON.stringify([action.content, action.toolCalls?.map(({ name, arguments: given }) => [name, given])]),
          ),
        ).size,
      ).toBe(5);
      for (const { history } of mine)
        expect(told(history)).toEqual(told(record.messages.slice(0, record.steps[step].message)));
    }
  });

  it('show what really follows: a fork never changes what comes after it', async () => {
    const rows = (await rowsOf({ alternatives: 12 })).filter(isTransition);
    const wrote = rows.filter(({ k, action }) => k > 0 && action.toolCalls?.[0].name === 'cancel_order');
    expect(wrote.length).toBeGreaterThan(0);
    const expert = rows.find(({ step, k }) => step === 2 && k === 0)!;
    expect(expert.next[0].content).toContain('"status":"cancelled"');
    const rules = domain.rules!;
    for (const { action, next, step } of rows.filter(({ k, step: at }) => k > 0 && at <= 2)) {
      const [call] = action.toolCalls!;
      expect([step, next[0].content]).toEqual([step, rules.execute(domain.initialState, call).observation]);
    }
  });

  it('say who answered and how sure it was', async () => {
    const real = (await rowsOf()).filter(isTransition);
    expect(
      real.every(
        ({ source, confidence, backends }) => source === 'real' && (backends[0] === 'user' || confidence === 1),
      ),
    ).toBe(true);
    const rules = rulesResponder(domain);
    const simulated: Responder = {
      ...rules,
      answer: async (query) => ({
        ...(await rules.answer(query)),
        backend: 'llm',
        modelVersion: 'dreamer',
        confidence: 0.7,
      }),
    };
    const rows = (await rowsOf({ environment: environmentWith(simulated) })).filter(isTransition);
    for (const { source, k, backends, modelVersions, confidence } of rows.filter((row) => row.k > 0))
      expect([k, source, backends, modelVersions, confidence]).toEqual([k, 'synthetic', ['llm'], ['dreamer'], 0.7]);
    expect(rows.filter(({ k }) => k === 0).every(({ source }) => source === 'real')).toBe(true);
  });

  it('are proposed by a policy under seeds of its own; the user of a fork is simulated', async () => {
    const seeds: number[] = [];
    const policy: ToolsPolicy = {
      version: 'p',
      act: ({ seed }) => {
        seeds.push(seed);
        return { action: { content: `Let me think, ${seed % 3}.` }, cost: { ...NO_COST, calls: 1 } };
      },
    };
    const rows = await rowsOf({ policy, alternatives: 4 });
    const first = rows.filter((row) => row.step === 0 && row.kind === 'world-model' && row.k > 0) as WorldModelRow[];
    expect(first.length).toBeGreaterThan(1);
    expect(first.length).toBeLessThanOrEqual(3);
    for (const row of first)
      expect([row.source, row.backends, row.modelVersions, row.confidence]).toEqual([
        'synthetic',
        ['user'],
        ['scripted-1'],
        null,
      ]);
    expect(
      rows.some((row) => row.kind === 'skipped' && row.reason.includes('had not been tried') && row.cost.calls === 3),
    ).toBe(true);
    expect(new Set(seeds).size).toBe(seeds.length);
  });

  it('are left out, with the reason, where the policy’s model writes no action; ids of calls are those of their answers', async () => {
    let asked = 0;
    const many = Array.from({ length: 65 }, () => ({ id: '', name: 'get_order', arguments: {} }));
    const policy: ToolsPolicy = {
      version: 'p',
      act: () => {
        asked++;
        if (asked % 3 === 0) throw reverieError('LLM_REPLY_INVALID', { model: 'm', problem: 'empty', ofModel: true });
        const order_id = `ORD-${asked}`;
        const calls = asked % 3 === 1 ? many : [{ id: 'c0', name: 'get_order', arguments: { order_id } }];
        return { action: { content: null, toolCalls: calls }, cost: NO_COST };
      },
    };
    const rows = await rowsOf({ policy, alternatives: 3 });
    const skipped = rows.flatMap((row) => (row.kind === 'skipped' ? [row.reason] : []));
    expect(skipped).toHaveLength(8);
    expect(skipped.every((reason) => /^no action: (Action |.*empty)/.test(reason))).toBe(true);
    const tried = rows.filter(isTransition).filter(({ k }) => k > 0);
    expect(tried).toHaveLength(4);
    for (const { action, next, history } of tried) {
      const [{ id }] = action.toolCalls!;
      expect(next[0]).toMatchObject({ role: 'tool', toolCallId: id });
      expect(JSON.stringify(history)).not.toContain(`"${id}"`);
    }
  });
});

it('a record that the environment contradicts is left at that step, with a row that says so', async () => {
  const record = await expertRecord();
  const messages = record.messages.map((message) =>
    message.role === 'tool' && message.toolCallId === 'c0'
      ? { ...message, content: '{"status":"delivered"}' }
      : message,
  );
  const rows = await rowsOf({ episodes: [{ ...record, messages }] });
  expect(rows.at(-1)).toMatchObject({
    kind: 'skipped',
    id: 'expert:1:diverged',
    reason: 'the environment answers get_order otherwise than the record',
  });
  expect(Math.max(...rows.map(({ step }) => step))).toBe(1);
});

describe('reflections', () => {
  const good =
    'I should look the order up with get_order, or cancel order it with cancel_order: asking and telling the customer comes with it.';

  it('are written once a state, from all that was tried', async () => {
    const model = scriptedModel({ reasoning: 'r', reflection: good });
    const rows = await rowsOf({ model });
    const reflections = rows.filter((row): row is ReflectionRow => row.kind === 'reflection');
    expect(reflections.map(({ id }) => id)).toEqual([0, 1, 2, 3].map((step) => `expert:${step}:reflection`));
    expect(reflections[1]).toMatchObject({
      reflection: good,
      contrasted: [1, 2, 3, 4].map((k) => `expert:1:${k}`),
      modelVersion: 'scripted-model',
    });
    const [system, user] = model.requests[1].messages;
    expect(system.content).toContain('Only pending orders may be cancelled.');
    expect((JSON.parse(user.content!) as { others: unknown[] }).others.length).toBe(4);
    expect(model.requests[0].schema!.name).toBe('reflection');
  });

  it('that cannot be used are asked for once more, then left out with the reason', async () => {
    const bad = { reasoning: 'r', reflection: 'The order totals 9999, so get_order.' };
    const model = scriptedModel(bad, { reasoning: 'r', reflection: good });
    const [first] = (await rowsOf({ model })).filter(({ kind }) => kind === 'reflection');
    expect(first).toMatchObject({ cost: { calls: 2 } });
    expect(model.requests[1].messages.at(-1)!.content).toContain('9999');
    const rows = await rowsOf({ model: scriptedModel(bad) });
    expect(rows.filter(({ kind }) => kind === 'skipped').length).toBe(4);
  });

  it('must name the action and may not leak what cannot be known, nor how they were made', () => {
    const history: Message[] = [{ role: 'user', content: 'Cancel ORD-2000 for 20.50.' }];
    const call = { id: 'a', name: 'cancel_order', arguments: { order_id: 'ORD-2000', reason: 'found cheaper' } };
    const expert = {
      action: { content: null, toolCalls: [call] },
      next: [{ role: 'tool', toolCallId: 'a', name: 'cancel_order', content: '{"refund":"RF-77"}' } as Message],
    };
    const other = {
      action: { content: null, toolCalls: [{ ...call, arguments: { order_id: 'ORD-2010' } }] },
      next: [],
    };
    const faults = (text: string) => reflectionFaults(text, { history, expert, alternatives: [other] });
    expect(
      faults('I will cancel order ORD-2000 with cancel_order, not ORD-2010; it is 20.50, so 2 things are clear.'),
    ).toEqual([]);
    expect(faults('It is the right thing.')).toEqual(['it does not name the action that is taken']);
    expect(faults('cancel_order gives refund RF-77.')).toEqual(['it names what the agent cannot know: RF-77']);
    expect(faults('cancel_order, as the expert did.')[0]).toContain('how it was made');
    expect(faults('')).toContain('it is empty');
    expect(faults(`cancel_order ${'x'.repeat(5000)}`)[0]).toContain('more than 4000');
    const says = { action: { content: 'Done.' }, next: [] };
    expect(reflectionFaults('I should tell the customer.', { history, expert: says, alternatives: [] })).toEqual([]);
    expect(reflectionFaults('Hm.', { history, expert: says, alternatives: [] }).length).toBe(1);
  });
});
