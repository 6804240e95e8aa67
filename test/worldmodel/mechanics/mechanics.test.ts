// Dreamt screens: what follows of itself is as on the real page, what does not exist is refused, and what is claimed and not shown is, too.

import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/json.js';
import {
  applyOperations,
  type CallSpec,
  rulesResponder,
  type ScreenState,
  type ToolsDomain,
} from '../../../src/env/index.js';
import { checkProposal, makeRouter } from '../../../src/worldmodel/index.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { pagesDomain } from '../../env/screens/fixture.js';

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

function begun(): { domain: ToolsDomain; state: ScreenState; id: (name: string, role: string) => string } {
  const domain = pagesDomain('order');
  open.push(domain);
  const state = applyOperations(domain.initialState, domain.tasks[0].initialOperations ?? []) as ScreenState;
  const id = (name: string, role: string) =>
    Object.entries(state.elements).find(([, element]) => element.name === name && element.role === role)![0];
  return { domain, state, id };
}

describe('the mechanics of a screen', () => {
  it('come to the very screens of the page', async () => {
    const { domain, state, id } = begun();
    const dream = await makeRouter(parseToolsModelConfig({ kind: 'tools', backends: ['mechanics'] }), { domain });
    const real = rulesResponder(domain);
    const calls: CallSpec[] = [
      { name: 'fill', arguments: { bid: id('Name', 'textbox'), value: 'Ada' } },
      { name: 'select_option', arguments: { bid: id('Cake', 'combobox'), options: 'plum' } },
      { name: 'click', arguments: { bid: id('cream', 'checkbox') } },
      { name: 'noop', arguments: {} },
      { name: 'click', arguments: { bid: '99' } },
      { name: 'clear', arguments: { bid: id('Name', 'textbox') } },
    ];
    let [at, dreamt] = [state as JsonObject, 0];
    for (const [step, call] of calls.entries()) {
      const query = {
        domain,
        task: domain.tasks[0],
        state: at,
        messages: [],
        call: { id: '', ...call },
        step,
        seed: 1,
      };
      const [seen, imagined] = [await real.answer(query), await dream.answer(query)];
      expect([imagined.backend, imagined.isError, imagined.observation]).toEqual([
        'mechanics',
        seen.isError,
        seen.observation,
      ]);
      expect(applyOperations(at, imagined.operations)).toEqual(applyOperations(at, seen.operations));
      at = applyOperations(at, seen.operations);
      dreamt += imagined.operations.length;
    }
    expect(dreamt).toBeGreaterThan(calls.length);
  }, 60_000);

  it('leave what a page makes of a click to others', async () => {
    const { domain, state, id } = begun();
    const dream = await makeRouter(parseToolsModelConfig({ kind: 'tools', backends: ['mechanics'] }), { domain });
    const call = { id: '', name: 'click', arguments: { bid: id('Send', 'button') } };
    const answer = await dream.answer({ domain, task: domain.tasks[0], state, messages: [], call, step: 0, seed: 1 });
    expect(answer).toMatchObject({ isError: true, operations: [], refused: [expect.stringContaining('not known')] });
  }, 60_000);
});

describe('what is proposed of a screen', () => {
  const proposal = { observation: 'as I say', isError: false, confidence: 1 };

  it('is drawn from the state, not told', () => {
    const { domain, state, id } = begun();
    const bid = id('Name', 'textbox');
    const call = { name: 'fill', arguments: { bid, value: 'Ada' } };
    const operations = [{ op: 'replace' as const, path: `/elements/${bid}/value`, value: 'Ada' }];
    const checked = checkProposal({ domain, state, call, messages: [], proposal: { ...proposal, operations } });
    expect(checked).toMatchObject({ observation: expect.stringContaining("textbox 'Name', value='Ada'") });
  }, 60_000);

  it('is refused where it cannot be drawn, or does not show what it claims', () => {
    const { domain, state, id } = begun();
    const bid = id('Name', 'textbox');
    const call = { name: 'fill', arguments: { bid, value: 'Ada' } };
    const problemsOf = (path: string, value: string | string[]) =>
      checkProposal({
        ...{ domain, state, call, messages: [] },
        proposal: { ...proposal, operations: [{ op: 'replace', path, value }] },
      }).problems?.join(' ');
    expect(problemsOf(`/elements/${bid}/value`, 'Eve')).toContain('the element\'s value is "Eve"');
    expect(problemsOf(`/elements/${state.root}/children`, ['404'])).toContain('there is no such element');
    expect(problemsOf(`/elements/${bid}/role`, '')).toContain('would not fit its schema');
  }, 60_000);
});
