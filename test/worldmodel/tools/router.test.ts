// The router: who answers, what is repaired, what is refused, and what it tells of it.

import { describe, expect, it } from 'vitest';
import { addCosts, NO_COST } from '../../../src/core/cost.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { Trust } from '../../../src/worldmodel/tools/backend-model.js';
import { episodeWeight } from '../../../src/worldmodel/tools/checks.js';
import { makeRouter, Router } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { rulesEnvironment } from '../../env/tools/library.js';
import { deskDomain, deskQuery, deskRules, deskState, realDesk } from './desk.js';
import { CALL_COST, prediction, ScriptedModel, sectionsOf, truthful } from './scripted-model.js';

const config = (changes: object = {}) => parseToolsModelConfig({ kind: 'tools', ...changes });
const closing = deskQuery('close_ticket', { ticket_id: 'T1001' });

describe('a typed step by a language model', () => {
  it('is repaired once, with the reasons', async () => {
    const model = new ScriptedModel((request, sections) =>
      'Refused' in sections
        ? truthful(request, sections)
        : prediction({
            observation: 'ok',
            operations: [{ op: 'replace', path: '/tickets/T1001/status', value: '"shut"' }],
          }),
    );
    const answer = await (await makeRouter(config(), { domain: closing.domain, model })).answer(closing);
    expect(answer).toMatchObject({ repaired: true, cost: addCosts(CALL_COST, CALL_COST), isError: false });
    expect(JSON.stringify(sectionsOf(model.requests[1]).Refused)).toContain('must be one of');
  });

  it('is refused when it stays wrong, and changes nothing', async () => {
    const wrong = prediction({
      observation: 'ok',
      operations: [{ op: 'remove', path: '/tickets/T1001', value: 'null' }],
    });
    const domain = deskDomain({ rules: { ...deskRules, tools: new Set<string>() } });
    const query = { ...closing, domain };
    const router = await makeRouter(config({ backends: ['llm'] }), { domain, model: new ScriptedModel(() => wrong) });
    const answer = await router.answer(query);
    expect(answer).toMatchObject({ isError: true, operations: [], confidence: 0, reward: null, terminated: false });
    expect(answer.observation).toMatch(/^Error: /);
    expect(answer.refused?.join()).toContain('ticket T1001 was deleted');
    expect(answer.cost.calls).toBe(2);
  });

  it('is checked against the state, with the reason, and a repeated read asks no backend', async () => {
    const domain = deskDomain();
    const model = new ScriptedModel((_, { Refused }) =>
      prediction({
        observation: JSON.stringify({ status: Refused === undefined ? 'closed' : 'open' }),
        confidence: 0.4,
      }),
    );
    const env = rulesEnvironment(domain, {
      responder: await makeRouter(config({ backends: ['llm'] }), { domain, model }),
    });
    await env.reset({ seed: 1 });
    const read = { content: null, toolCalls: [{ id: '', name: 'get_ticket', arguments: { ticket_id: 'T1001' } }] };
    const first = (await env.step(read)).info.predictions as Prediction[];
    expect(first).toMatchObject([{ repaired: true, checks: { values: 'refused', unknown: 'held' } }]);
    expect(JSON.stringify(sectionsOf(model.requests[1]).Refused)).toContain('the record tickets/T1001 has open');
    const fork = env.snapshot();
    for (let time = 0; time < 2; time++) {
      const again = (await env.step(read)).info.predictions as Prediction[];
      const { observation } = first[0];
      expect(again).toMatchObject([{ backend: 'memory', observation, confidence: 0.4, cost: { calls: 0 } }]);
      // The same doubt, which counts once.
      expect(episodeWeight([...first, ...again], { downWeightBelow: 0.5 })).toBe(0.8);
      env.restore(JSON.parse(JSON.stringify(fork)));
    }
    expect(model.requests).toHaveLength(2);
  });

  it('falls to the next backend, and counts what it cost', async () => {
    const operations = [{ op: 'replace', path: '/tickets/T9999/status', value: '"closed"' }];
    const model = new ScriptedModel(() => prediction({ observation: 'ok', operations }));
    const router = await makeRouter(config({ backends: ['llm', 'real'] }), {
      domain: closing.domain,
      model,
      real: realDesk,
    });
    const answer = await router.answer(closing);
    expect(answer).toMatchObject({ backend: 'real', observation: 'Ticket T1001 closed', confidence: 1 });
    expect(answer.cost.calls).toBe(2);
  });
});

describe('a backend of somebody else', () => {
  const model = {
    version: 'oracle:1',
    predict: () => ({
      operations: [],
      observation: 'ok',
      isError: false,
      confidence: 0.7,
      exact: { reward: 1, terminated: true },
      cost: NO_COST,
    }),
  };
  const asked = (trust: Trust, minConfidence = 0) => {
    const backend = { name: 'oracle', model, trust, minConfidence };
    return new Router(closing.domain, config(), [backend]);
  };
  const reading = deskQuery('get_ticket', { ticket_id: 'T1001' });

  it('gives neither rewards nor ends, unless it is declared to be exact', async () => {
    expect(await asked('proposal').answer(reading)).toMatchObject({ reward: null, terminated: false });
    expect(asked('proposal').trusts('oracle')).toBe(false);
    const exact = asked('exact');
    expect(await exact.answer(reading)).toMatchObject({ reward: 1, terminated: true, backend: 'oracle' });
    const user = new ScriptedUser();
    const env = new ToolsEpisodeEnvironment({ id: 'desk', domain: closing.domain, responder: exact, user });
    await env.reset({ seed: 1 });
    const turn = { content: null, toolCalls: [{ ...reading.call }] };
    expect(await env.step(turn)).toMatchObject({ terminated: true, info: { predictions: [{ backend: 'oracle' }] } });
  });

  it('is held to the bar that is declared for it', async () => {
    expect(await asked('proposal', 0.8).answer(reading)).toMatchObject({ isError: true, confidence: 0 });
  });
});

it('exact code does in a simulation what it does in reality, however much that is', async () => {
  const initialState = deskState(300);
  const operations = Object.keys(initialState.tickets as object).map((id) => {
    return { op: 'replace', path: `/tickets/${id}/status`, value: 'closed' } as const;
  });
  const outcome = { operations, observation: 'x'.repeat(200_000), isError: false };
  const domain = { ...deskDomain({ rules: { ...deskRules, execute: () => outcome } }), initialState };
  const query = { ...closing, domain, state: initialState };
  const router = await makeRouter(config({ backends: ['rules'] }), { domain });
  const [simulated, real] = [await router.answer(query), await rulesResponder(domain).answer(query)];
  expect(simulated).toMatchObject({ operations, observation: real.observation, isError: false });
});

describe('a backend that is named', () => {
  const made = (backends: readonly string[] | undefined, rules = {}, domain = deskDomain({ rules: deskRules })) => {
    const given = backends === undefined ? {} : { backends: [...backends] };
    return makeRouter(parseToolsModelConfig({ kind: 'tools', ...given, rules }), { domain });
  };
  const unavailable = (backend: string) => ({ code: 'MODEL_BACKEND_UNAVAILABLE', values: { backend } });

  it('must be there, unless one before it answers every call', async () => {
    await expect(made(['llm', 'rules'])).rejects.toMatchObject(unavailable('llm'));
    await expect(made(['replay', 'rules', 'llm'])).rejects.toMatchObject(unavailable('replay'));
    await expect(made(['rules', 'llm'], { tools: 'reads' })).rejects.toMatchObject(unavailable('llm'));
    await expect(made(['rules', 'llm'])).resolves.toBeDefined();
  });
});

it('a router says when a domain has nobody to answer', async () => {
  await expect(makeRouter(config(), { domain: deskDomain() })).rejects.toThrow(
    /No backend.*rules: the domain has none/,
  );
});
