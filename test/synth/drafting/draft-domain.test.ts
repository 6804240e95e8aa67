// Drafting a domain by a language model: what holds is admitted, what does not is given back with its faults, and refused in the end;
// and drafts for an existing domain are tested on its logs.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { reverieError } from '../../../src/core/errors.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { draftDomain, tryDraft } from '../../../src/synth/drafting/draft-domain.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { scriptedModel } from '../tasks/model.js';
import { CARELESS, LENDING, part, reply, WORLD } from './lending.js';

const [world, tasks] = [reply(part(...WORLD)), reply(part('tasks.yaml', 'must-fail.yaml'))];
const rules = (text: string = LENDING['rules.yaml']) => reply({ 'rules.yaml': text });
const wishes = { description: 'A lending library.', tasks: 3, seed: 1, repairs: 2 };

describe('drafting a domain', () => {
  it('admits one that nothing speaks against, in three replies; the rules are written without tasks and probes', async () => {
    const model = scriptedModel(world, tasks, rules());
    const draft = await draftDomain({ ...wishes, model });
    expect(draft.trial.faults).toEqual([]);
    expect([draft.admitted, draft.steps.map(({ stage }) => stage)]).toEqual([true, ['world', 'tasks', 'rules']]);
    expect(draft.files).toEqual(LENDING);
    expect(draft.trial).toMatchObject({ tools: 3, tasks: 3 });
    expect(draft.trial.probes.total).toBeGreaterThan(8);
    const [, askedForTasks, askedForRules] = model.requests.map(({ messages }) => String(messages[1].content));
    expect(askedForTasks).not.toContain('"rules.yaml"');
    expect(Object.keys(JSON.parse(askedForRules).files)).toEqual([...WORLD]);
  });

  it('gives faults back with the files, and admits what was put right', async () => {
    const model = scriptedModel(world, tasks, rules(CARELESS), rules());
    const draft = await draftDomain({ ...wishes, model });
    expect(draft.admitted).toBe(true);
    const [, , careless, repair] = draft.steps;
    expect(careless.faults.join('\n')).toMatch(/probe "lent already" (changed|was answered)/);
    expect([repair.stage, repair.faults]).toEqual(['repair', []]);
    const prompt = JSON.parse(String(model.requests[3].messages[1].content));
    expect(prompt.faults).toEqual(careless.faults);
    expect(Object.keys(prompt.files).length).toBe(7);
  });

  it('refuses one that is not put right in so many repairs, and keeps what was tried', async () => {
    const draft = await draftDomain({ ...wishes, repairs: 1, model: scriptedModel(world, tasks, rules(CARELESS)) });
    expect([draft.admitted, draft.steps.length]).toEqual([false, 4]);
    expect(draft.trial.faults.length).toBeGreaterThan(0);
    expect(draft.steps.every(({ files }) => Object.keys(files).length > 0)).toBe(true);
  });

  it('goes on where a large state.json is none, and says so', async () => {
    const torn = `{"members": {"M-1": "${'x'.repeat(30_000)}`;
    const model = scriptedModel(reply({ ...part(...WORLD), 'state.json': torn }), tasks, rules());
    const draft = await draftDomain({ ...wishes, repairs: 0, model });
    expect(draft.admitted).toBe(false);
    expect(draft.trial.faults.join()).toContain('state.json": it is not JSON');
    const shown = JSON.parse(String(model.requests[1].messages[1].content)).files['state.json'];
    expect(shown).toBe(torn.slice(0, 20_000));
  });

  it('asks again where a reply cannot be used, and gives up where none can', async () => {
    const broken = reverieError('LLM_REPLY_INVALID', { model: 'm', problem: 'no JSON', reply: 'Sure!', ofModel: true });
    const good = await draftDomain({
      ...wishes,
      model: scriptedModel(broken, reply(part('policy.md')), world, tasks, rules()),
    });
    expect(good.admitted).toBe(true);
    expect(good.steps.slice(0, 2).map(({ faults }) => faults.length)).toEqual([1, 3]);
    const never = await draftDomain({ ...wishes, repairs: 1, model: scriptedModel(broken) });
    expect([never.admitted, never.steps.map(({ stage, reply }) => [stage, reply])]).toEqual([
      false,
      Array.from({ length: 3 }, () => ['world', 'Sure!']),
    ]);
    expect(never.trial.faults[0]).toMatch(/^no reply of 3 wrote policy\.md, .*; the last: .*no JSON/);
    expect(never.trial.faults).toContain('rules.yaml is missing');
  });
});

describe('trying a draft', () => {
  const faultsOf = async (change: object, least = 3) =>
    (await tryDraft({ ...LENDING, ...change }, least)).faults.join('\n');

  it('finds what does not load, names the file and nothing of where it was tried', async () => {
    const faults = await faultsOf({ 'state.json': '{"members": {}}' });
    expect(faults).toContain('state.json');
    expect(faults).not.toContain('/tmp');
    expect(await faultsOf({ 'must-fail.yaml': '[{ "name": "x" }]' })).toContain('must-fail.yaml');
  });

  it('checks rules against tools and data before they run', async () => {
    const spoilt = LENDING['rules.yaml'].replaceAll('.lentTo', '.lendTo');
    expect(await faultsOf({ 'rules.yaml': spoilt })).toMatch(/rules\.yaml", line \d+: .*did you mean "lentTo"/);
  });

  it('wants enough of everything', async () => {
    expect(await faultsOf({}, 4)).toBe('there are 3 tasks; at least 4 are wanted');
    const probes = parse(LENDING['must-fail.yaml']) as { call: { name: string }; kind: string }[];
    const fewer = JSON.stringify(probes.filter(({ call }) => call.name !== 'return_book'));
    expect((await faultsOf({ 'must-fail.yaml': fewer })).split('\n')).toEqual([
      'no probe of must-fail.yaml says what "return_book" must refuse',
      'no probe of kind possible calls "return_book"',
    ]);
  });

  it('holds tasks to their references and failures, and the data to their schema', async () => {
    const [first, ...rest] = parse(LENDING['tasks.yaml']) as { reference: { calls: object[] } }[];
    const idle = { ...first, reference: { ...first.reference, calls: [] } };
    expect(
      await faultsOf({
        'tasks.yaml': JSON.stringify([idle, ...rest, first].map((task, i) => ({ ...task, id: `t${i}` }))),
      }),
    ).toMatch(/task "t0"/);
    const change = '{ set: "/books/{call.book_id}/lentTo", to: call.member_id }';
    const stain = `{ set: "/members/{call.member_id}/name", to: 'call.member_id.split("-")' }`;
    const stained = LENDING['rules.yaml'].replace(change, `${change}, ${stain}`);
    expect(await faultsOf({ 'rules.yaml': stained })).toContain('after lend_book the data break their schema');
  });
});

describe('drafting what a domain lacks', () => {
  const { 'rules.yaml': good, ...files } = LENDING;
  const answered = (content: string): EpisodeRecord[] => [
    {
      messages: [
        { role: 'assistant', content: null, toolCalls: [{ id: 'c', name: 'get_book', arguments: { book_id: 'B-2' } }] },
        { role: 'tool', toolCallId: 'c', name: 'get_book', content },
      ],
      verdict: { reward: null, checks: [] },
    } as unknown as EpisodeRecord,
  ];
  const drafted = (logged: string, model = scriptedModel(rules())) => {
    const folder = temporaryFolder('into');
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const into = { folder, files, write: ['rules.yaml'] as const, logs: answered(logged) };
    return draftDomain({ ...wishes, repairs: 1, model, into });
  };

  it('asks for that alone, shows the logs, and admits what they agree with', async () => {
    const model = scriptedModel(rules());
    const draft = await drafted('{"title": "Solaris", "lentTo": "M-2"}', model);
    expect([draft.admitted, draft.trial.faults, draft.files['rules.yaml']]).toEqual([true, [], good]);
    const prompt = JSON.parse(String(model.requests[0].messages[1].content));
    expect([model.requests.length, prompt.write, JSON.stringify(prompt.logs)]).toEqual([
      1,
      ['rules.yaml'],
      expect.stringContaining('Solaris'),
    ]);
  });

  it('gives back calls that the logs have otherwise', async () => {
    const draft = await drafted('{"title": "Solaris", "to": "M-2"}');
    expect(draft.admitted).toBe(false);
    expect(draft.trial.faults[0]).toMatch(/^log 1, call 1: get_book answered .*"to".*, and the rules say .*"lentTo"/);
  });
});
