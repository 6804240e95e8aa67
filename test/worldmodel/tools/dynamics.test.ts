// Structured worlds as dynamics: the contract of all dynamics, whoever answers, and what typed states add to it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { valueRows } from '../../../src/core/dynamics.js';
import type { JsonObject } from '../../../src/core/json.js';
import { Rng } from '../../../src/core/rng.js';
import {
  applyOperations,
  initialStateOf,
  rulesResponder,
  type SeenTurn,
  type Situations,
  type StructuredDynamics,
  type StructuredRows,
  stateHash,
  structuredDynamics,
  type ToolsAction,
  type ToolsDomain,
  type ToolsTask,
} from '../../../src/env/index.js';
import { type LanguageModel, makeLanguageModel } from '../../../src/llm/index.js';
import { type ExperienceStep, ExperienceStore } from '../../../src/replay/index.js';
import { MctsPlanner, StateCounts } from '../../../src/rl/index.js';
import { makeRouter, parseToolsModelConfig } from '../../../src/worldmodel/index.js';
import { type ControlledModel, startControlledModel } from '../../controlled/controlled-model.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { type DynamicsSubject, dynamicsContract } from '../dynamics-contract.js';
import { DESK_TASK, deskDomain, deskRules } from './desk.js';

const domains: Record<string, ToolsDomain> = {};
let controlled: ControlledModel;
let client: LanguageModel;

beforeAll(async () => {
  for (const name of ['helpdesk', 'cellar']) domains[name] = await nativeDomain(name);
  controlled = await startControlledModel({ domain: domains.helpdesk, seed: 3, transitionError: 0.2 });
  client = await makeLanguageModel({ provider: 'openai-compatible', url: controlled.url, model: 'controlled' });
});
afterAll(async () => {
  await client.close();
  await controlled.close();
});

const config = (backend: string) => parseToolsModelConfig({ kind: 'tools', backends: [backend] });
const callsOf = ({ reference }: ToolsTask) => reference?.calls ?? [];
const calling = (name: string, given: JsonObject): ToolsAction => ({
  content: null,
  toolCalls: [{ id: '', name, arguments: given }],
});

/** Rows are tasks, which are done by their reference calls. */
function subjectOf(name: string, model: () => StructuredDynamics): DynamicsSubject<StructuredRows> {
  const taskOf = (row: number) => {
    const tasks = domains[name].tasks.filter((task) => callsOf(task).length >= 3);
    return tasks[row % tasks.length];
  };
  return {
    model,
    rows: 14,
    starts: (rows) => Array.from(rows, (row) => ({ task: taskOf(row), row })),
    actions: (rows, step) =>
      Array.from(rows, (row) => {
        const { name: tool, arguments: given } = callsOf(taskOf(row))[step];
        return calling(tool, given);
      }),
    observations: valueRows<SeenTurn>(
      (turn) => turn,
      (turn) => turn as SeenTurn,
    ),
  };
}

/** What the reference calls of all tasks do, as records of the real environment. */
async function recorded(domain: ToolsDomain): Promise<ExperienceStore> {
  const steps = domain.tasks.flatMap((task) => {
    let state = initialStateOf(domain, task);
    return callsOf(task).map((call, step): ExperienceStep => {
      const { operations, observation, isError } = domain.rules!.execute(state, { id: 'x', ...call });
      const hash = stateHash(state);
      state = applyOperations(state, operations);
      const lived = { call, history: [], observation, isError, operations, stateHash: hash, reward: null };
      const where = { scenario: domain.id, task: task.id, episode: task.id, step, row: -1 };
      const who = { source: 'real' as const, backend: 'real', modelVersion: '' };
      return { ...who, ...where, ...lived, terminated: false, confidence: 1, verified: true };
    });
  });
  const store = await ExperienceStore.open();
  await store.add(steps);
  return store;
}

for (const name of ['helpdesk', 'cellar']) {
  dynamicsContract(
    `${name}, by its rules`,
    subjectOf(name, () => rulesResponder(domains[name])),
  );
  describe(name, () => {
    let routed: StructuredDynamics;
    beforeAll(async () => {
      const domain = domains[name];
      routed = await makeRouter(config('replay'), { domain, index: await recorded(domain) });
    });
    dynamicsContract(
      `${name}, by records`,
      subjectOf(name, () => routed),
    );
  });
}

describe('a language model', () => {
  let routed: StructuredDynamics;
  beforeAll(async () => {
    routed = await makeRouter(config('llm'), { domain: domains.helpdesk, model: client });
  });
  dynamicsContract(
    'helpdesk, by one that errs',
    subjectOf('helpdesk', () => routed),
  );
});

describe('a world of calls', () => {
  const domain = deskDomain({ rules: deskRules });
  const desk = rulesResponder(domain);
  const close: ToolsAction = {
    content: null,
    toolCalls: [{ id: 'c', name: 'close_ticket', arguments: { ticket_id: 'T1001' } }],
  };

  it('answers the calls of a turn in order, says who did, and leaves words to whoever is spoken to', async () => {
    const both = { content: null, toolCalls: [close.toolCalls![0], { id: 'd', name: 'hand_over', arguments: {} }] };
    const actions: ToolsAction[] = [both, { content: 'Hello.' }];
    const { rows, ...imagined } = await desk
      .imagine(desk.begin([{ task: DESK_TASK }, { task: DESK_TASK }]), actions)
      .then((answer) => ({ ...answer, rows: answer.carry.rows }));
    expect(rows).toBe(2);
    expect(imagined.observation.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['Ticket T1001 closed', 'Handed over'],
      [],
    ]);
    expect([...imagined.terminated]).toEqual([1, 0]);
    expect(imagined.answeredBy).toEqual(['real', 'nobody']);
    expect(imagined.carry.situations[0].state).toMatchObject({ tickets: { T1001: { status: 'closed' } } });
    const late = await desk.imagine(imagined.carry, [close, { content: null, toolCalls: close.toolCalls }]);
    expect(late.predictions[0][0].observation).toContain('the conversation has ended');
    expect(late.predictions[1][0].observation).toBe('Ticket T1001 closed');
  });

  it('goes on with a turn under way, where a start lies within one', async () => {
    const calls = [close.toolCalls![0], { id: 'e', name: 'get_ticket', arguments: { ticket_id: 'T1001' } }];
    const messages = [
      { role: 'system' as const, content: domain.policy },
      { role: 'assistant' as const, content: null, toolCalls: calls },
      { role: 'tool' as const, toolCallId: 'c', name: 'close_ticket', content: 'Ticket T1001 closed' },
    ];
    const start = { task: DESK_TASK, messages, calls: 1, seed: 5 };
    const { carry } = await desk.imagine(desk.begin([start]), [{ content: null, toolCalls: [calls[1]] }]);
    expect(carry.situations[0].messages.map(({ role }) => role)).toEqual(['system', 'assistant', 'tool', 'tool']);
    expect(carry.situations[0]).toMatchObject({ calls: 2, seed: 5 });
  });

  it('begins in any state, and freezes what it cannot know otherwise', async () => {
    const state = structuredClone(domain.initialState) as { tickets: Record<string, { status: string }> };
    state.tickets.T1002.status = 'closed';
    const task: ToolsTask = { ...DESK_TASK, id: 'none of the domain' };
    const begun = desk.begin([{ task, state: state as never, seed: 1 }]);
    const revived = desk.revive(JSON.parse(JSON.stringify(desk.freeze(begun))));
    expect(revived.situations[0].task).toEqual(task);
    const { carry } = await desk.imagine(revived, [close]);
    expect(carry.situations[0].state).toMatchObject({
      tickets: { T1001: { status: 'closed' }, T1002: { status: 'closed' } },
    });
    const damaged = structuredClone(desk.freeze(carry)) as { version: string; state: { stateHash: string }[] };
    damaged.state[0].stateHash = 'other';
    expect(() => desk.revive(damaged)).toThrowError(expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }));
  });

  it('gives forks seeds of their own where they are given streams, and an episode its own where not', async () => {
    const seeds: number[] = [];
    const exact = { version: 'seen', close: () => {} };
    const seen = structuredDynamics(domain, {
      ...exact,
      answer: (query) => {
        seeds.push(query.seed);
        return desk.answer(query);
      },
    });
    const forks = seen.pick(seen.begin([{ task: DESK_TASK, seed: 9 }]), Uint32Array.of(0, 0));
    await seen.imagine(forks, [close, close]);
    expect(seeds.splice(0)).toEqual([9, 9]);
    await seen.imagine(forks, [close, close], Rng.fromSeed(1));
    expect(new Set(seeds).size).toBe(2);
  });
});

describe('planning by forks', () => {
  /** The best first action of all plans of `depth` actions: forks of one memory, a step of all of them in one batch. */
  async function plan(model: StructuredDynamics, task: ToolsTask, before: readonly string[], depth: number) {
    const worth = (state: JsonObject): number => {
      const end = { initialState: initialStateOf(model.domain, task), finalState: state, messages: [] };
      return model.domain.rules!.check('goal_reached', end).passed ? 1 : 0;
    };
    let carry = model.begin([{ task, seed: 0 }]);
    for (const text of before) ({ carry } = await model.imagine(carry, [calling('act', { text })]));
    const options = ['go to table 1', 'go to shelf 1', 'take letter 1 from shelf 1', 'put mug 1 in/on shelf 1', 'look'];
    const first = options.map((_, i) => i);
    let plans: number[][] = [[]];
    let forks = carry;
    for (let step = 0; step < depth; step++) {
      const from = Uint32Array.from(plans.flatMap((_, row) => first.map(() => row)));
      plans = plans.flatMap((sofar) => first.map((option) => [...sofar, option]));
      const actions = plans.map((chosen) => calling('act', { text: options[chosen[step]] }));
      ({ carry: forks } = await model.imagine(model.pick(forks, from), actions));
    }
    const worths: number[] = forks.situations.map(({ state }) => worth(state));
    const best = worths.indexOf(Math.max(...worths));
    return { best: Math.max(...worths) > 0 ? options[plans[best][0]] : undefined, carry, forks };
  }

  it('two steps ahead in the cellar finds the action that one step cannot tell', async () => {
    const domain = domains.cellar;
    const task = domain.tasks.find(({ id }) => id === 'put-mug-shelf')!;
    const model = await makeRouter(config('rules'), { domain });
    const held = ['go to bar 1', 'take mug 1 from bar 1'];
    const shallow = await plan(model, task, held, 1);
    expect(shallow.best).toBeUndefined();
    const deep = await plan(model, task, held, 2);
    expect(deep.best).toBe('go to shelf 1');
    expect(deep.forks.rows).toBe(25);
    // What was tried in thought has not happened.
    expect(deep.carry.situations[0].state).toMatchObject({ player: { holding: 'mug 1', at: 'bar 1' } });
    const done = await model.imagine(deep.carry, [calling('act', { text: deep.best! })]);
    expect(done.carry.situations[0].state).toMatchObject({ player: { at: 'shelf 1' } });
  });

  const OPTIONS = [
    ...['go to table 1', 'go to shelf 1', 'go to bar 1', 'take mug 1 from bar 1', 'take letter 1 from shelf 1'],
    ...['put mug 1 in/on shelf 1', 'look'],
  ];
  const choices = {
    of: () => OPTIONS,
    batch: (texts: readonly string[]) => texts.map((text) => calling('act', { text })),
    row: (turns: readonly SeenTurn[], row: number) => [turns[row]],
  };

  it('tree search lives a whole task in the cellar by its exact rules, its goal alone being worth anything', async () => {
    const domain = domains.cellar;
    const task = domain.tasks.find(({ id }) => id === 'put-mug-shelf')!;
    const model = await makeRouter(config('rules'), { domain });
    const end = (state: JsonObject) => ({
      initialState: initialStateOf(domain, task),
      finalState: state,
      messages: [],
    });
    const isDone = (carry: Situations, row: number) =>
      domain.rules!.check('goal_reached', end(carry.situations[row].state)).passed;
    const planner = new MctsPlanner<Situations, StructuredRows, string>(
      model,
      { ...choices, worth: (carry, row) => (isDone(carry, row) ? 1 : 0) },
      { simulations: 60, depth: 6, gamma: 0.9 },
    );
    let carry = model.begin([{ task, seed: 0 }]);
    const done: string[] = [];
    for (let t = 0; t < 6 && !isDone(carry, 0); t++) {
      const text = await planner.plan(carry, [], Rng.fromSeed(2).split('step', t));
      done.push(text!);
      ({ carry } = await model.imagine(carry, [calling('act', { text: text! })]));
    }
    expect(isDone(carry, 0)).toBe(true);
    expect(done).toContain('take mug 1 from bar 1');
  });

  it('counts of states lead to states that chance does not come to in as many steps', async () => {
    const domain = domains.cellar;
    const task = domain.tasks.find(({ id }) => id === 'put-mug-shelf')!;
    const model = await makeRouter(config('rules'), { domain });
    const hashOf = (carry: Situations, row: number) => stateHash(carry.situations[row].state);
    const live = async (isCounting: boolean) => {
      const counts = new StateCounts();
      const worth = (carry: Situations, row: number) => counts.bonus(hashOf(carry, row));
      const options = { simulations: 4, depth: 2, gamma: 0.9 };
      const planner = new MctsPlanner<Situations, StructuredRows, string>(model, { ...choices, worth }, options);
      const rng = Rng.fromSeed(4);
      let carry = model.begin([{ task, seed: 0 }]);
      for (let t = 0; t < 14; t++) {
        const planned = isCounting ? await planner.plan(carry, [], rng.split('step', t)) : undefined;
        const text = planned ?? OPTIONS[rng.int(OPTIONS.length)];
        ({ carry } = await model.imagine(carry, [calling('act', { text })]));
        counts.visit(hashOf(carry, 0));
      }
      return counts;
    };
    const [counted, random] = [await live(true), await live(false)];
    expect(counted.states).toBeGreaterThan(random.states);
    expect(StateCounts.from(JSON.parse(JSON.stringify(counted.toJSON())))).toEqual(counted);
  });
});
