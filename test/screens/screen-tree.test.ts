import { describe, expect, it } from 'vitest';
import { parseAction, SCREEN_ACTIONS } from '../../src/env/screens/screen-actions.js';
import {
  NO_SCREEN,
  type ScreenElement,
  type ScreenState,
  screenText,
  treeFaults,
} from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec } from '../../src/env/tools/domain.js';
import { screenChanges } from '../../src/screens/mechanics.js';
import { actionReadings, possibleActions, screenRefusals } from '../../src/screens/screen-actions.js';
import { testData } from '../data.js';

const element = (role: string, name: string, children: string[] = [], rest = {}): ScreenElement =>
  ({ role, name, children, ...rest }) as ScreenElement;

const screen: ScreenState = {
  ...NO_SCREEN,
  page: 'p.1',
  goal: 'Write "so" and send.',
  root: '1',
  focused: '4',
  elements: {
    '1': element('RootWebArea', 'Page', ['2', '6', '7', '8']),
    '2': element('generic', '', ['3', '4']),
    '3': element('StaticText', 'it\'s "so"'),
    '4': element('textbox', 'Name', [], { value: "O'Neil" }),
    '6': element('checkbox', 'cream', [], { checked: false }),
    '7': element('button', 'Send', [], { disabled: true }),
    '8': element('combobox', '', ['9', '10'], { value: 'plum' }),
    '9': element('option', 'plum', [], { selected: true }),
    '10': element('option', 'pear', [], { selected: false }),
  },
};

it('a screen as text has a line an element, and none for what says nothing', () => {
  expect(screenText(screen)).toBe(
    [
      "RootWebArea 'Page'",
      "\tStaticText 'it\\'s \"so\"'",
      "\t[4] textbox 'Name', value=\"O'Neil\", focused",
      "\t[6] checkbox 'cream', checked='false'",
      "\t[7] button 'Send', disabled",
      "\t[8] combobox '', value='plum'",
      "\t\t[9] option 'plum', selected",
      "\t\t[10] option 'pear'",
    ].join('\n'),
  );
});

describe('what a screen refuses', () => {
  const refused = (name: string, given: object) =>
    screenRefusals(screen, { name, arguments: given as ScreenElement }).join('; ');

  it.each(testData<[string, object, string][]>('screens/refusals.yaml'))('%s %o: %s', (name, given, problem) => {
    expect(refused(name, given)).toBe(problem);
  });

  it('is everything once the task has ended', () => {
    expect(screenRefusals({ ...screen, done: true }, { name: 'noop', arguments: {} })).toEqual(['the task has ended']);
  });
});

describe('what a screen offers', () => {
  it('is what it does not refuse, with the texts of the task', () => {
    expect(possibleActions(screen, SCREEN_ACTIONS)).toEqual([
      "click('4')",
      "fill('4', 'so')",
      "click('6')",
      "click('8')",
      "select_option('8', 'plum')",
      "select_option('8', 'pear')",
    ]);
  });

  it('is told in words: what an element is, how it stands, and what it or the text beside it is called', () => {
    const nameless = { ...screen, elements: { ...screen.elements, '4': element('textbox', '', []) } };
    const offered = possibleActions(nameless, SCREEN_ACTIONS);
    const calls = offered.map((line) => parseAction(line, SCREEN_ACTIONS) as CallSpec);
    expect(actionReadings(nameless, calls)).toEqual([
      'click textbox it\'s "so"',
      'fill so textbox it\'s "so"',
      'click checkbox unchecked cream',
      'click combobox holding plum plum',
      'select_option plum combobox holding plum plum',
      'select_option pear combobox holding plum plum',
    ]);
  });
});

it('changes come to the other screen, and tell no more than changed', () => {
  const { '10': _pear, ...left } = screen.elements;
  const after: ScreenState = {
    ...screen,
    focused: '',
    elements: {
      ...left,
      '4': element('textbox', 'Name'),
      '8': element('combobox', '', ['9', '11'], { value: 'fig' }),
      '11': element('option', 'fig', [], { selected: true }),
    },
  };
  const operations = screenChanges(screen, after);
  expect(applyOperations(screen, operations)).toEqual(after);
  expect(operations.map(({ op, path }) => `${op} ${path}`)).toEqual([
    'replace /focused',
    'remove /elements/10',
    'remove /elements/4/value',
    'replace /elements/8/children',
    'replace /elements/8/value',
    'add /elements/11',
  ]);
});

it('a tree has every element in one place', () => {
  expect(treeFaults(screen)).toEqual([]);
  const elements = {
    ...screen.elements,
    '2': element('generic', '', ['3', '4', '6', '98']),
    '12': element('button', 'lost'),
  };
  const broken = { ...screen, focused: '77', elements };
  expect([...treeFaults(broken)].sort()).toEqual([
    'element "12" is nowhere on the screen',
    'element "6" stands in two places',
    'element "98" is a child, and there is no such element',
    'the focused element "77" does not exist',
  ]);
});
