// Whole trajectories in one call: kept as far as they hold.

import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { amplifyTrajectory } from '../../../src/worldmodel/llm/amplify.js';
import { domainText, systemText } from '../../../src/worldmodel/llm/prompt.js';
import { fixture } from '../../env/tools/library.js';
import { DESK_TASK, deskDomain, deskRules } from './desk.js';
import { CALL_COST, ScriptedModel, sectionsOf } from './scripted-model.js';

const turn = (role: string, more: JsonObject): JsonObject => {
  return { role, reasoning: '', content: '', name: '', arguments: '', operations: [], ...more };
};
const asks = turn('user', { content: 'Please close T1001.' });
const calls = (name: string, given: JsonObject) => turn('call', { name, arguments: JSON.stringify(given) });
const closes = calls('close_ticket', { ticket_id: 'T1001' });
const closed = turn('result', {
  name: 'close_ticket',
  content: 'Ticket T1001 closed',
  operations: [{ op: 'replace', path: '/tickets/T1001/status', value: '"closed"' }],
});
const says = turn('assistant', { content: 'It is closed.' });

function written(turns: Json, rules = true) {
  const model = new ScriptedModel(() => ({ turns }) as Json);
  const domain = deskDomain(rules ? { rules: deskRules } : {});
  return { model, run: () => amplifyTrajectory({ domain, task: DESK_TASK, model, seed: 3 }) };
}

describe.each([true, false])('a trajectory in one call (rules: %s)', (rules) => {
  it('becomes an episode with the states its calls led to', async () => {
    const { model, run } = written([asks, closes, closed, says], rules);
    const episode = await run();
    expect(episode).toMatchObject({ terminated: true, truncated: false, problems: [], cost: CALL_COST });
    expect(episode.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
    expect(episode.steps.map(({ message }) => message)).toEqual([2, 4]);
    expect(episode.steps[0].predictions[0]).toMatchObject({ isError: false, backend: 'llm', reward: null });
    expect(episode.finalState).toMatchObject({ tickets: { T1001: { status: 'closed' } } });
    expect(model.requests[0].schema?.name).toBe('trajectory');
    expect(Object.keys(sectionsOf(model.requests[0]))).toEqual(['Exemplar', 'State', 'Task']);
  });

  it.each<[string, Json[], RegExp]>([
    ['an unknown tool', [asks, calls('erase', {}), closed], /no tool "erase"/],
    ['arguments that break the schema', [asks, calls('close_ticket', { id: 1 }), closed], /arguments of close_ticket/],
    ['an id nobody said', [asks, calls('get_ticket', { ticket_id: 'T1002' }), closed], /no result/],
    [
      'a change that does not apply',
      [asks, closes, { ...closed, operations: [{ op: 'remove', path: '/x', value: '' }] }],
      /x/,
    ],
    ['a result that speaks of nobody', [asks, closes, { ...closed, content: 'Closed for C999' }], /C999/],
    ['an agent that begins', [says], /begin with the user/],
  ])('is cut at %s', async (_, turns, reason) => {
    const episode = await written([...turns, says] as Json, rules).run();
    expect(episode).toMatchObject({ terminated: false, truncated: true });
    expect(episode.problems.join()).toMatch(reason);
    expect(episode.steps).toEqual([]);
  });
});

it('is written from what a world is shown of the domain, declared rules included', async () => {
  const domain = await loadDomain(fixture('bolts'));
  const model = new ScriptedModel(() => ({ turns: [] }));
  await amplifyTrajectory({ domain, task: domain.tasks[0], model, seed: 3 });
  const [{ content }] = model.requests[0].messages;
  const shown = domainText(domain, domain.tools);
  expect(systemText(domain)).toContain(shown);
  expect(content).toContain(shown);
  for (const part of ['## Declared rules', '"effects"', '"invariants"', '"enforces"']) expect(shown).toContain(part);
  domain.close();
});

it.each([
  [{ ticket_id: 'T1001', force: true }, /unknown key "force"/],
  [{ ticket_id: 'T1001', note: 2 ** 53 }, /beyond 2\^53/],
])('has only calls that the environment takes: not %j', async (given, reason) => {
  const tools = deskDomain().tools.map(({ parameters: { additionalProperties: _, ...parameters }, ...tool }) => {
    return { ...tool, parameters };
  });
  const domain = { ...deskDomain(), tools };
  const model = new ScriptedModel(() => ({ turns: [asks, calls('close_ticket', given), closed, says] }) as Json);
  const episode = await amplifyTrajectory({ domain, task: DESK_TASK, model, seed: 3 });
  expect(episode.problems.join()).toMatch(reason);
});

it('is held to exact rules where there are any', async () => {
  const idle = { ...closed, operations: [{ op: 'replace', path: '/tickets/T1001/subject', value: '"x"' }] };
  expect((await written([asks, closes, idle, says], true).run()).problems.join()).toContain(
    'changes the state in another way',
  );
  expect((await written([asks, closes, idle, says], false).run()).problems).toEqual([]);
  const again = [asks, closes, closed, closes, { ...idle, content: 'done' }];
  expect((await written(again, true).run()).problems.join()).toMatch(/must fail here|fails here/);
});

it('is nothing where the reply is none', async () => {
  const model = new ScriptedModel(() => ({ turns: 'none' }));
  const request = { domain: deskDomain(), task: DESK_TASK, model, seed: 3 };
  await expect(amplifyTrajectory(request)).rejects.toMatchObject({ code: 'TRAJECTORY_INVALID' });
});
