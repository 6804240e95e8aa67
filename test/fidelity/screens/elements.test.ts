// How right simulated screens are: scores of an element each, and the section of a report on a page of ours.

import '../../../src/kinds/registry.js';
import { afterAll, describe, expect, it } from 'vitest';
import { NO_SCREEN, type ScreenElement, type ScreenState } from '../../../src/env/screens/screen-state.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { ToolCall } from '../../../src/env/tools/message.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { initialStateOf } from '../../../src/env/tools/situation.js';
import type { CallQuery } from '../../../src/env/tools/tools-family.js';
import type { ToolsJudged } from '../../../src/fidelity/tools/judged.js';
import { elementF1, elementScores, elementsInstrument } from '../../../src/screens/fidelity/elements.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { pagesDomain } from '../../screens/fixture.js';

const element = (role: string, name: string, rest = {}): ScreenElement =>
  ({ role, name, children: [], ...rest }) as ScreenElement;
const screen = (elements: ScreenState['elements'], rest = {}): ScreenState => ({ ...NO_SCREEN, elements, ...rest });

describe('scores of a simulated screen', () => {
  const before = screen({ '1': element('button', 'Send'), '2': element('checkbox', 'cream', { checked: false }) });
  const ticked = screen({ ...before.elements, '2': element('checkbox', 'cream', { checked: true }) });

  it('are 1 where it is the real one', () => {
    expect(elementScores(before, ticked, ticked)).toEqual({ elements: 1, changes: 1, transition: true });
    expect(elementScores(before, before, before)).toEqual({ elements: 1, changes: null, transition: true });
  });

  it('count an element with all its properties, and what changed apart', () => {
    expect(elementF1(ticked, before)).toBe(0.5);
    expect(elementScores(before, ticked, before)).toEqual({ elements: 0.5, changes: 0, transition: true });
    const { '1': _send, ...left } = ticked.elements;
    expect(elementScores(before, screen(left), ticked)).toMatchObject({ elements: 2 / 3, changes: 2 / 3 });
  });

  it('tell another page, and the end of the task', () => {
    const other = screen({ '8': element('heading', 'Thanks'), '9': element('link', 'Back') });
    expect(elementScores(before, other, before).transition).toBe(false);
    expect(elementScores(before, screen(before.elements, { done: true }), before).transition).toBe(false);
    expect(elementScores(before, other, other).transition).toBe(true);
  });
});

describe('the section of a report', () => {
  const domain = pagesDomain('order');
  afterAll(() => domain.close());

  it('finds mechanics right in what they know, and tells what they do not', async () => {
    const [task] = domain.tasks;
    const state = initialStateOf(domain, task) as ScreenState;
    const idOf = (role: string) => Object.keys(state.elements).find((id) => state.elements[id].role === role)!;
    const calls: ToolCall[] = [
      { id: 'a', name: 'fill', arguments: { bid: idOf('textbox'), value: 'so' } },
      { id: 'b', name: 'click', arguments: { bid: idOf('link') } },
    ];
    const queries = calls.map((call, step): CallQuery => ({ domain, task, state, messages: [], call, step, seed: 1 }));
    const model = parseToolsModelConfig({ kind: 'tools', backends: ['mechanics'] });
    const unaided = await makeRouter(model, { domain, folder: '.', index: undefined as never });
    const truth = {
      questions: queries.map((query) => {
        const answer = rulesResponder(domain).answer(query) as Prediction;
        return { id: query.call.id, query, truth: answer, after: applyOperations(state, answer.operations) };
      }),
    };
    const instrument = elementsInstrument({
      ground: { setup: { seed: 1 }, truth },
      answering: { unaided },
      notes: { steps: [] },
    } as unknown as ToolsJudged);
    const rows = await instrument.measure(0);
    expect(instrument.chunks).toBe(1);
    expect(rows[0]).toMatchObject({ backend: 'mechanics', elements: 1, changes: 1, outcome: true });
    expect(rows[1]).toMatchObject({ backend: 'refused', changes: 0, outcome: false });
    const { section } = instrument.conclude(rows);
    const values = Object.fromEntries(section.metrics.map(({ key, estimate }) => [key, estimate.value]));
    expect(values).toMatchObject({ 'change-f1': 0.5, 'action-outcome': 0.5 });
  }, 60_000);
});
