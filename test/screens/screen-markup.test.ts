// Screens as HTML: what is drawn of it is the same screen, what was added has the next ids, and nothing in it runs or is fetched.

import { describe, expect, it } from 'vitest';
import type { ScreenView } from '../../src/env/screens/screen-state.js';
import { drawnPage, MAX_MARKUP } from '../../src/screens/page/still-page.js';
import { PageDrawer } from '../../src/screens/page-drawer.js';
import { screenOfDrawn } from '../../src/screens/screen-drawn.js';
import { screenMarkup } from '../../src/screens/screen-markup.js';

/** An element of each sort, texts that would be markup, and two texts in a row. */
const VIEW = {
  root: '1',
  focused: '6',
  elements: {
    1: { role: 'RootWebArea', name: 'A <b>shop</b> & more', children: ['2', '5', '9', '12', '15', '18', '20', '22'] },
    2: { role: 'LabelText', name: '', children: ['3', '4'] },
    3: { role: 'checkbox', name: 'with "cream"', checked: true, children: [] },
    4: { role: 'StaticText', name: 'with "cream"', children: [] },
    5: { role: 'paragraph', name: '', children: ['6', '7', '8'] },
    6: { role: 'textbox', name: 'Notes', value: "one\ntwo's", multiline: true, children: [] },
    7: { role: 'textbox', name: '', value: '', disabled: true, children: [] },
    8: { role: 'spinbutton', name: 'How many', value: '3', readonly: true, children: [] },
    9: { role: 'combobox', name: 'Cake', value: 'plum', children: ['10', '11'] },
    10: { role: 'option', name: 'apple', selected: false, children: [] },
    11: { role: 'option', name: 'plum', selected: true, children: [] },
    12: { role: 'generic', name: '', children: ['13', '14'] },
    13: { role: 'StaticText', name: 'first', children: [] },
    14: { role: 'StaticText', name: 'second', children: [] },
    15: { role: 'list', name: '', children: ['16'] },
    16: { role: 'listitem', name: '', children: ['17'] },
    17: { role: 'link', name: 'More', children: [] },
    18: { role: 'SvgRoot', name: '', children: ['19'] },
    19: { role: 'graphics-symbol', name: 'circle', color: 'red', children: [] },
    20: { role: 'tab', name: 'Details', expanded: false, selected: true, children: ['21'] },
    21: { role: 'generic', name: '', classes: 'icon left', children: [] },
    22: { role: 'button', name: 'Send', disabled: true, children: [] },
  },
} as unknown as ScreenView;
const after = { before: VIEW, isAnother: false, taken: 40 };

describe('a screen as HTML', () => {
  it('is drawn as the same screen', async () => {
    expect(screenOfDrawn(await drawnPage(screenMarkup(VIEW)), after)).toEqual(VIEW);
  }, 60_000);

  it('keeps the ids of what was there, and gives the next ones to what comes', async () => {
    const html = screenMarkup(VIEW).replace('</ul>', '<li><a href="#">Less</a></li></ul>');
    const { elements } = screenOfDrawn(await drawnPage(html), after) as ScreenView;
    expect(elements['15'].children).toEqual(['16', '41']);
    expect(elements['41'].children.map((id) => [id, elements[id].name])).toEqual([['42', 'Less']]);
    const other = screenOfDrawn(await drawnPage(html), { ...after, isAnother: true }) as ScreenView;
    expect(Object.keys(other.elements).every((id) => Number(id) > 40)).toBe(true);
  }, 60_000);

  it.each([
    ['<p data-bid="17">a</p><p data-bid="17">b</p>', 'two elements have data-bid "17"'],
    ['<p data-bid="99">a</p>', 'data-bid "99" is no element of the screen before'],
    ['<!-- -->', 'the page shows nothing'],
  ])(
    'is refused with a reason: %s',
    async (html, fault) => {
      expect(screenOfDrawn(await drawnPage(html), after)).toEqual({ faults: [fault] });
    },
    60_000,
  );
});

describe('what is drawn', () => {
  const mean =
    '<title>t</title><p id="p" onclick="x()">as written</p><img src="http://127.0.0.1:9/x" onerror="document.title = 1">' +
    '<script>document.getElementById("p").textContent = "changed"; globalThis.process?.exit(3)</script>' +
    '<iframe src="http://127.0.0.1:9/"></iframe><link rel="stylesheet" href="http://127.0.0.1:9/s.css">';

  it('runs no script, within a thread of its own, and is limited', async () => {
    const drawer = new PageDrawer();
    const drawn = await drawer.draw(mean);
    expect(drawn).toMatchObject({ title: 't' });
    expect(JSON.stringify(drawn)).toContain('as written');
    expect(await drawer.draw('x'.repeat(MAX_MARKUP + 1))).toContain('at most 200000 are drawn');
    expect(await drawer.draw('<p>x</p>'.repeat(2_000))).toContain('at most 2000 are drawn');
    drawer.close();
    const hasty = new PageDrawer(1);
    expect(await hasty.draw('<p>x</p>'.repeat(5_000))).toContain('was not drawn within');
    hasty.close();
  }, 60_000);
});
