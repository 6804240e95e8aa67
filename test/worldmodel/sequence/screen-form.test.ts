// Screens in words: what is shown around an action, what is copied, and changes of elements read as they were written.

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import type { ScreenState } from '../../../src/env/screens/screen-state.js';
import type { Operation } from '../../../src/env/tools/prediction.js';
import type { Piece } from '../../../src/worldmodel/sequence/script.js';
import { StepForm } from '../../../src/worldmodel/sequence/step-form.js';
import { sharedTexts } from '../../../src/worldmodel/sequence/worlds.js';

const screen = (page: string, name: string) =>
  ({
    ...{ page, goal: `Tick "${name}", then Submit.`, focused: '', root: '1', reward: 0, done: false, history: [] },
    elements: {
      1: { role: 'RootWebArea', name: 'Boxes', children: ['2', '5'] },
      2: { role: 'generic', name: '', children: ['3', '4'] },
      3: { role: 'checkbox', name, checked: false, children: [] },
      4: { role: 'checkbox', name: 'other', checked: true, children: [] },
      5: { role: 'button', name: 'Reset', children: [] },
    },
  }) as unknown as ScreenState;
const state = screen('boxes.9', 'rose bush');
const form = new StepForm({
  ...{ world: 'elements', history: 0, memory: 0, types: { constant: [], sole: [] } },
  shared: sharedTexts([1, 2, 3, 4].map((i) => screen(`boxes.${i}`, `name ${i}`))),
});
const ask = (bid: string, values: JsonObject = state) =>
  form.ask({ call: { name: 'click', arguments: { bid } }, goal: 'not shown', world: { values }, past: [] });
const shown = (pieces: readonly Piece[]) =>
  pieces.map((one) => ('text' in one ? one.text : 'slot' in one ? `<${one.slot}>` : `[${one.mark}]`)).join('');

describe('a screen in words', () => {
  it('shows what is acted on first, copies ids and what the goal names, and spells what all pages read', () => {
    const { pieces, names } = ask('3');
    expect(names.all().slice(0, 5)).toEqual(['3', '2', '1', '4', '5']);
    expect(shown(pieces)).toBe(
      '[call]click:<0>[goal]Tick "[glue]<13>", then Submit.[facts] focused ' +
        '[name]<0> checkbox<13> ; checked false ; in<1>[name]<1> generic  ; in<2> ; holds<0><3>' +
        '[name]<2> RootWebArea Boxes ; holds<1><4>[name]<3> checkbox other ; checked true ; in<1>' +
        '[name]<4> button Reset ; in<2>[answer]',
    );
  });

  it('is the same question on another page of its kind', () => {
    expect(shown(ask('3', screen('boxes.7', 'willow')).pieces)).toBe(shown(ask('3').pieces));
  });

  it('reads changes as they were written, with what was done, and new elements by the next ids', () => {
    const asked = ask('3');
    const operations: Operation[] = [
      { op: 'replace', path: '/focused', value: '3' },
      { op: 'replace', path: '/elements/3/checked', value: true },
      { op: 'add', path: '/elements/6', value: { role: 'StaticText', name: 'rose bush is ticked', children: [] } },
      { op: 'replace', path: '/elements/1/children', value: ['2', '5', '6'] },
      { op: 'remove', path: '/elements/4' },
      { op: 'add', path: '/history/-', value: "click('3')" },
    ];
    const answer = { isError: false, operations, observation: '' };
    const told = form.answer(answer, asked)!;
    expect(shown(told)).not.toContain('history');
    expect(form.read(told, asked)).toEqual(answer);
    const refused = { isError: true, operations: [], observation: 'Error: element "3" (checkbox) is disabled' };
    expect(form.read(form.answer(refused, asked)!, asked)).toEqual(refused);
  });
});
