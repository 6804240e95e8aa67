// Every backend of tools, held to the same contract over the same desk.

import { describe, expect, it } from 'vitest';
import { addCosts, type Cost, NO_COST } from '../../../src/core/cost.js';
import { Rng } from '../../../src/core/rng.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { ExperienceStep } from '../../../src/replay/experience/experience.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { type ContractCase, toolsBackendContract } from './contract.js';
import { deskDomain, deskQuery, deskRules } from './desk.js';
import { CALL_COST, prediction, type Script, ScriptedModel, truthful } from './scripted-model.js';

const calls: ContractCase['calls'] = [
  { name: 'get_ticket', arguments: { ticket_id: 'T1001' } },
  { name: 'close_ticket', arguments: { ticket_id: 'T1001' } },
  { name: 'open_ticket', arguments: { customer_id: 'C102', subject: 'New' } },
  { name: 'close_ticket', arguments: { ticket_id: 'T1001' } },
];
const ruled = deskDomain({ rules: deskRules });
const bare = deskDomain();
const config = (backend: string, more: object = {}) =>
  parseToolsModelConfig({ kind: 'tools', backends: [backend], ...more });
const free = () => NO_COST;

/** True, but for what chance may decide: how sure it is, and every third time a first try that is refused. */
const seeded: Script = (request, sections) => {
  const rng = Rng.fromSeed(request.seed!);
  const right = truthful(request, sections) as { observation: string };
  const confidence = Math.round(1_000 * rng.uniform()) / 1_000 || 0.5;
  if (rng.uniform() < 1 / 3 && !('Refused' in sections)) return prediction({ observation: 'see T9999', confidence });
  return { ...right, confidence };
};

function modelled(script: Script, llm: object = {}): ContractCase['make'] {
  return async () => {
    const model = new ScriptedModel(script);
    const spent = (): Cost => model.requests.map(() => CALL_COST).reduce(addCosts, NO_COST);
    return { responder: await makeRouter(config('llm', { llm }), { domain: bare, model }), spent };
  };
}

describe('rules', () => {
  const make = async () => ({ responder: await makeRouter(config('rules'), { domain: ruled }), spent: free });
  toolsBackendContract({ domain: ruled, calls, backend: 'rules', make });
});

describe('replay', () => {
  toolsBackendContract({
    domain: bare,
    calls,
    backend: 'replay',
    make: async () => ({
      responder: await makeRouter(config('replay'), { domain: bare, index: await recorded() }),
      spent: free,
    }),
  });

  it('knows nothing that was not recorded', async () => {
    const router = await makeRouter(config('replay'), { domain: bare, index: await recorded() });
    const answer = await router.answer(deskQuery('close_ticket', { ticket_id: 'T1003' }, { domain: bare }));
    expect(answer).toMatchObject({ isError: true, refused: [expect.stringContaining('never recorded')] });
  });
});

describe('a language model, typed', () => {
  toolsBackendContract({ domain: bare, calls, backend: 'llm', make: modelled(seeded) });
});

describe('the real environment, by proxy', () => {
  const make = async () => {
    const real = rulesResponder(ruled);
    return { responder: await makeRouter(config('real'), { domain: ruled, real }), spent: free };
  };
  toolsBackendContract({ domain: ruled, calls, backend: 'real', make });
});

/** The calls as the real desk answered them, remembered. */
async function recorded(): Promise<ExperienceStore> {
  let state = bare.initialState;
  const steps = calls.map((call, step): ExperienceStep => {
    const { operations, observation, isError } = deskRules.execute(state, { id: 'x', ...call });
    const hash = stateHash(state);
    state = applyOperations(state, operations);
    const lived = { call, history: [], observation, isError, operations, stateHash: hash, reward: null };
    const where = { scenario: 'desk', task: 'close-one', episode: 'e0', step, row: -1 };
    const who = { source: 'real' as const, backend: 'real', modelVersion: '' };
    return { ...who, ...where, ...lived, terminated: false, confidence: 1, verified: true };
  });
  const store = await ExperienceStore.open();
  await store.add(steps);
  return store;
}
