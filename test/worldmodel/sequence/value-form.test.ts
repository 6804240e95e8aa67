// Entities in words: which are shown around a call, what is copied and what is spelt, and changes read as they were written.

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import type { Operation } from '../../../src/env/tools/prediction.js';
import { StepForm } from '../../../src/worldmodel/sequence/step-form.js';
import { sharedValues } from '../../../src/worldmodel/sequence/worlds.js';

const customer = (i: number) => ({ id: `C-${i}`, name: `Person ${i}`, city: i % 2 === 0 ? 'Graz' : 'Porto' });
const values: JsonObject = {
  today: '2026-03-01',
  customers: Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((i) => [`C-${i}`, customer(i)])),
  tickets: { 'T-1': { id: 'T-1', customer: 'C-2', subject: 'No light', notes: [] } },
};
const form = new StepForm({
  ...{ world: 'values', types: { constant: [], sole: [] } },
  shared: sharedValues([values]),
});
const ask = (given: JsonObject) =>
  form.ask({ call: { name: 'close', arguments: given }, goal: 'rest', world: { values } });

describe('entities in words', () => {
  it.each<[string, readonly Operation[], string]>([
    ['nothing', [], 'Nothing.'],
    ['a value', [{ op: 'replace', path: '/tickets/T-1/subject', value: 'Light at C-2' }], '{"id":"T-1","ok":true}'],
    ['an entity', [{ op: 'add', path: '/tickets/T-2', value: { id: 'T-2', customer: 'C-2', n: [1, null] } }], 'T-2'],
    [
      'and removes',
      [
        { op: 'remove', path: '/tickets/T-1' },
        { op: 'remove', path: '/customers/C-2' },
      ],
      'Gone: T-1.',
    ],
  ])('tell changes as they were: %s', (_, operations, observation) => {
    const asked = ask({ ticket: 'T-1' });
    const answer = { isError: false, operations, observation };
    expect(form.read(form.answer(answer, asked)!, asked)).toEqual(answer);
  });
});
