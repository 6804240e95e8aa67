// Simulated screens: what follows of itself is as on the real page, what does not exist is refused, and what is claimed and not shown is, too.

import '../../src/kinds/registry.js';
import { existsSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/canonical-json.js';
import { Rng } from '../../src/core/rng.js';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { chromiumProgram } from '../../src/screens/screen-player.js';
import { checkProposal } from '../../src/worldmodel/tools/checks.js';
import { makeRouter } from '../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../src/worldmodel/tools/tools-model-schema.js';
import { pagesDomain } from './fixture.js';

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

let shared: ToolsDomain | undefined;
afterAll(() => shared?.close());

function begun(): { domain: ToolsDomain; state: ScreenState; id: (name: string, role: string) => string } {
  shared ??= pagesDomain('order');
  const domain = shared;
  const state = applyOperations(domain.initialState, domain.tasks[0].initialOperations ?? []) as ScreenState;
  const id = (name: string, role: string) =>
    Object.entries(state.elements).find(([, element]) => element.name === name && element.role === role)![0];
  return { domain, state, id };
}

it('the mechanics of a screen come to the very screens of the page', async () => {
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
  let [at, simulated] = [state as JsonObject, 0];
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
    simulated += imagined.operations.length;
  }
  expect(simulated).toBeGreaterThan(calls.length);
}, 60_000);

describe('what is proposed of a screen', () => {
  const proposal = { observation: 'as I say', isError: false, confidence: 1 };

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

const browsers = existsSync(chromiumProgram()) ? (['jsdom', 'chromium'] as const) : (['jsdom'] as const);

describe.each(browsers)('whatever the mechanics answer in %s', (browser) => {
  it('is what the page becomes', () => {
    const domain = pagesDomain('choices', { browser });
    open.push(domain);
    const rules = domain.rules!;
    const rng = Rng.fromSeed(3);
    const any = <T>(list: readonly T[]): T => list[rng.int(list.length)];
    let state = applyOperations(domain.initialState, domain.tasks[0].initialOperations ?? []) as ScreenState;
    const answered: Record<string, number> = {};
    for (let step = 0; step < 27; step++) {
      const roles = step % 3 === 0 ? /radio|text|spin/ : /textbox/;
      const bid = any(Object.keys(state.elements).filter((id) => roles.test(state.elements[id].role)));
      const key = any(['x', 'ö', ' ', 'Backspace', 'ArrowLeft', 'Home']);
      const [field] = Object.keys(state.elements).filter((id) => state.elements[id].role === 'textbox');
      const first = [`fill('${field}', 'a b')`][step];
      const other = any([
        ...[`click('${bid}')`, `dblclick('${bid}')`, `focus('${bid}')`, 'noop(10)'],
        ...[`press('${bid}', '${key}')`, `press('${bid}', 'y')`, `fill('${bid}', '${any(['full', '7'])}')`],
        `clear('${bid}')`,
        'scroll(0, 40)',
      ]);
      const line = first ?? other;
      if (browser === 'jsdom' && line.startsWith('scroll')) continue;
      const call = { id: '', ...rules.callOf!(line) };
      const simulated = rules.mechanics!(state, call);
      const real = rules.execute(state, call);
      const after = applyOperations(state, real.operations) as ScreenState;
      if (simulated !== undefined && !real.isError) {
        const told = `${line} after ${state.history.slice(-3).join(', ')}`;
        expect([told, applyOperations(state, simulated.operations)]).toEqual([told, after]);
        answered[call.name] = (answered[call.name] ?? 0) + 1;
      }
      state = after;
    }
    expect(Object.keys(answered)).toEqual(expect.arrayContaining(['click', 'fill']));
  }, 60_000);
});

it('leave to the page which of two chosen radio buttons keeps its choice', () => {
  const domain = pagesDomain('choices');
  open.push(domain);
  const state = applyOperations(domain.initialState, domain.tasks[0].initialOperations ?? []) as ScreenState;
  const [first, second] = Object.keys(state.elements).filter((id) => state.elements[id].role === 'radio');
  const { operations } = domain.rules!.mechanics!(state, { name: 'click', arguments: { bid: first } })!;
  const chosen = applyOperations(state, operations) as ScreenState;
  expect(chosen.elements[first].checked).toBe(true);
  expect(domain.rules!.mechanics!(chosen, { name: 'click', arguments: { bid: second } })).toBeUndefined();
}, 60_000);
