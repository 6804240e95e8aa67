// Episodes as text are what a model's own chat template makes of them, turn by turn: the templates of Qwen2.5 and Qwen3, as
// TRL carries them, rendered by transformers.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, record, type Turn } from '../episode-records.js';
import { agentTexts, exported, type Row } from './exported.js';
import { INSTALL_TIME, type PythonReaders, pythonReaders } from './python-readers.js';

const END = '<|im_end|>\n';

/** Where JavaScript and Python write a number differently, or might. */
const NUMBERS = {
  small: [1e-7, -2.5e-9, 1.5e-5, 0.00001, 0.0001, 5e-324],
  large: [1e21, 1.7976931348623157e308, 123456789012345680000, 2 ** 53, 1e16],
  usual: [0, -1, 4, 0.1, 1234567890123456.5, 1 / 3],
};

const get = (id: string) => ({ name: 'get_parcel', arguments: { parcel_id: id }, answer: `{"id": "${id}"}` });

/** Everything that is written by rules of its own: calls beside text and beside each other, scripts, quotes, numbers. */
const TURNS: readonly Turn[] = [
  { user: 'Hei — hvor er pakke P100? 包裹\n\n"P200" too \\ please\u2028\u007f' },
  { call: [get('P100'), get('P200')], text: 'Let me look.' },
  { call: [get('P300'), { name: 'list_shelves', arguments: {}, answer: '' }] },
  call('move_parcel', {
    parcel_id: 'é "x"\n\t\b\f\u0001</b> 包裹 🧺',
    shelf: 4,
    options: { fragile: true, note: null },
  }),
  { say: 'Er du sikker?\n\n' },
  { user: '' },
  call('move_parcel', NUMBERS, 'Error: no such shelf\n'),
  { say: '' },
  { user: 'Bye.' },
  { user: 'Are you there?' },
  { say: 'Bye — 再见.' },
];

const THINKING: readonly Turn[] = [
  { user: 'P100?' },
  { call: [get('P100')], reasoning: 'One parcel.\nIts id is P100.' },
  { call: [get('P200')], reasoning: '\nThe other one, too.\n', text: 'Just a moment.' },
  { say: 'Here.', reasoning: '包裹' },
  { user: 'Thanks.' },
  { say: 'Bye.', reasoning: 'They are done.' },
];

const CASES = [
  { name: 'all that is written by rules', turns: TURNS, template: 'qwen2_5' },
  { name: 'all that is written by rules', turns: TURNS, template: 'qwen3_instruct_2507' },
  { name: 'thoughts', turns: THINKING, template: 'qwen3' },
];

const root = mkdtempSync(join(tmpdir(), 'reverie-templates-'));
const folderOf = (at: number, format: string) => join(root, String(at), format);
let readers: PythonReaders | string;
let found: Row[];

beforeAll(async () => {
  readers = await pythonReaders('readers');
  if (typeof readers === 'string' || readers.missing['trl']) return;
  for (const [at, { turns }] of CASES.entries()) {
    for (const format of ['trl', 'verl'] as const) {
      await exported(folderOf(at, format), format, [record({ turns })]);
    }
  }
  const cases = CASES.map(({ template }, at) => ({ template, trl: folderOf(at, 'trl'), verl: folderOf(at, 'verl') }));
  found = readers.read({ templates: { cases } })('templates') as Row[];
}, INSTALL_TIME);
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('tools and calls as text', () => {
  for (const [at, { name, turns, template }] of CASES.entries()) {
    it(`are what ${template} makes of ${name}`, (context) => {
      if (typeof readers === 'string') return context.skip(readers);
      if (readers.missing['trl']) return context.skip(readers.missing['trl']);
      const { trl, verl } = found[at];
      const agents = turns.filter((turn) => !('user' in turn));
      expect(trl.map((rendered: Row[]) => rendered.length)).toEqual([agents.length]);
      expect(verl).toEqual(trl);
      const written = agentTexts(record({ turns })).map(({ text }) => text + END);
      expect(written).toEqual(trl[0].map(([, text]: [string, string]) => text));
    });
  }
});
