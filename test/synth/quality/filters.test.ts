// Filters one by one: what each keeps, mends, cuts and drops.

import { describe, expect, it } from 'vitest';
import type { ToolRules } from '../../../src/env/tools/domain.js';
import { claimsFilter, policyFilter, provenanceFilter } from '../../../src/synth/quality/claims.js';
import type { Filter, QualityContext } from '../../../src/synth/quality/filter.js';
import { structureFilter } from '../../../src/synth/quality/form-filters.js';
import { decontaminationFilter } from '../../../src/synth/quality/overlap-filters.js';
import { call, parcelDomain, parcelTask, type RecordSpec, record, type Turn, USUAL } from '../episode-records.js';

const CONTEXT: QualityContext = { domain: parcelDomain(), taskOf: () => undefined };
const KEPT = { keep: true };

/** What a filter did: `keep`, the reason or note, and the number of messages left. */
function outcome(filter: Filter, spec: RecordSpec, context = CONTEXT) {
  const judgement = filter.judge(record(spec), context);
  if (!('repaired' in judgement)) return judgement.keep ? 'keep' : judgement.reason;
  return [judgement.note, judgement.repaired.messages.length, judgement.repaired.masked ?? []];
}

const get = (id: string, answer = `${id} is on shelf 1`, change: object = {}) =>
  call('get_parcel', { parcel_id: id }, answer, change);

describe('structure', () => {
  const broken = (change: (messages: RecordSpec & ReturnType<typeof record>) => object) => {
    const usual = record();
    return structureFilter().judge({ ...usual, ...change(usual) }, CONTEXT);
  };

  it('keeps whole conversations, and calls left open at the end', () => {
    expect(structureFilter().judge(record(), CONTEXT)).toEqual(KEPT);
    expect(
      structureFilter().judge(record({ turns: [...USUAL, call('list_shelves', {}, undefined)] }), CONTEXT),
    ).toEqual(KEPT);
  });

  it('cuts before a call that is not answered, answered twice or by another, and before a stray answer', () => {
    const without = broken(({ messages }) => ({ messages: messages.filter((_, index) => index !== 5) }));
    expect(without).toMatchObject({ note: 'cut before a call without its answer', repaired: { return: null } });
    if ('repaired' in without) expect(without.repaired.messages.length).toBe(4);
    const twice = broken(({ messages }) => ({ messages: messages.toSpliced(5, 0, messages[5]) }));
    expect(twice).toMatchObject({ note: 'cut before a call without its answer' });
    const swapped = broken(({ messages }) => ({ messages: messages.with(5, messages[3]) }));
    expect(swapped).toMatchObject({ note: 'cut before a call without its answer' });
    const stray = broken(({ messages }) => ({ messages: [...messages, messages[3]] }));
    expect(stray).toMatchObject({ repaired: { messages: { length: 7 } } });
  });

  it('makes ids unique that several turns used, with their answers and steps', () => {
    const usual = record();
    const text = JSON.stringify(usual).replaceAll('call-4-0', 'call-2-0');
    const judgement = structureFilter().judge(JSON.parse(text), CONTEXT);
    expect(judgement).toMatchObject({ note: 'ids of calls made unique' });
    const expected = JSON.parse(JSON.stringify(usual).replaceAll('call-4-0', 'call-2-0-2'));
    if ('repaired' in judgement) expect(judgement.repaired).toEqual(expected);
  });
});

describe('policy', () => {
  const rules: ToolRules = {
    version: 'rules-1',
    tools: new Set(),
    execute: () => ({ operations: [], observation: '', isError: false }),
    preconditions: (_state, { arguments: { parcel_id } }) => (parcel_id === 'P999' ? ['there is no P999'] : []),
    invariants: (_before, after) => (JSON.stringify(after).includes('"shelf":99') ? ['there are 9 shelves'] : []),
    check: (name) => ({ name, passed: null, reason: '' }),
    close: () => undefined,
  };
  const exact: QualityContext = { domain: parcelDomain({ rules }), taskOf: (id) => parcelTask(id) };
  const moved = (shelf: number, id = 'P100') =>
    call('move_parcel', { parcel_id: id, shelf }, 'moved', {
      operations: [{ op: 'replace', path: '/parcels/P100/shelf', value: shelf }],
    });

  it('goes through recorded changes again and finds what could not have happened', () => {
    const filter = policyFilter();
    const followedBy = (turn: Turn) => outcome(filter, { turns: [...USUAL, turn, { say: 'Done.' }] }, exact);
    expect(followedBy(moved(5))).toBe('keep');
    expect(followedBy(moved(5, 'P999'))).toEqual(['cut before a call that had to fail and did not', 7, []]);
    expect(followedBy(get('P999', 'Error', { isError: true }))).toBe('keep');
    expect(followedBy(moved(99))).toEqual(['cut before a change that breaks an invariant', 7, []]);
    const nowhere = call('move_parcel', { parcel_id: 'P100', shelf: 1 }, 'ok', {
      operations: [{ op: 'replace', path: '/parcels/P7/shelf', value: 1 }],
    });
    expect(followedBy(nowhere)).toEqual(['cut before a change that does not apply', 7, []]);
    expect(outcome(filter, { turns: [moved(99)] }, { ...exact, taskOf: () => undefined })).toBe('keep');
  });
});

describe('claims', () => {
  const tickets = {
    'TCK-1': { status: 'open', resolution: 'none' },
    'TCK-2': { status: 'closed', resolution: 'withdrawn' },
  };
  const domain = parcelDomain({ initialState: { tickets } });
  const context: QualityContext = { domain, taskOf: () => parcelTask('a task') };
  const asked: Turn = { user: 'Please close TCK-1. My number is EMP-7.' };
  const closed = call('close', { ticket: 'TCK-1' }, 'ok', {
    operations: [{ op: 'replace', path: '/tickets/TCK-1/status', value: 'closed' }],
  });
  const judged = (...turns: Turn[]) => outcome(claimsFilter(), { turns }, context);

  it('masks a failed call and the text after it, but no further call', () => {
    const failed = call('close', { ticket: 'TCK-1' }, 'Error: locked', { isError: true });
    const both = 'masked: a failed call and text after a failed call';
    expect(judged(asked, failed, { say: 'It is done.' })).toEqual([both, 5, [2, 4]]);
    expect(judged(asked, failed, closed, { say: 'It is done.' })).toEqual(['masked: a failed call', 7, [2]]);
  });

  const status = { enum: ['confirmed', 'cancelled', 'flown'] };
  const booking = {
    type: 'object',
    properties: { status: { $ref: '#/$defs/status' }, paid: { type: 'number' }, bags: {} },
  };
  const stateSchema = {
    type: 'object',
    $defs: { status, booking },
    properties: { bookings: { type: 'object', patternProperties: { '^[A-Z]': { $ref: '#/$defs/booking' } } } },
  };
  const bookings = {
    QX7T2M: { status: 'confirmed', paid: 180, bags: 1 },
    KD3P9A: { status: 'flown', paid: 95, bags: 0 },
  };
  const airline: QualityContext = {
    domain: parcelDomain({ stateSchema, initialState: { bookings } }),
    taskOf: () => parcelTask('a task'),
  };
  const cancelled = call('cancel', { reference: 'QX7T2M' }, '{"reference":"QX7T2M","status":"cancelled"}', {
    operations: [{ op: 'replace', path: '/bookings/QX7T2M/status', value: 'cancelled' }],
  });
  const says = (say: string, ...before: Turn[]) =>
    outcome(claimsFilter(), { turns: [{ user: 'About QX7T2M and 10 kg.' }, ...before, { say }] }, airline);
  it.each([
    'Booking QX7T2M is cancelled now, and two bags are on it.',
    'QX7T2M is flown.',
    'You paid 85: QX7T2M has 85 paid.',
    'QX7T2M now has two bags.',
    'Your refund number is RF-88120.',
    'Both are done: ZZ9Q4B is confirmed.',
  ])('masks what is false: %s', (text) => {
    expect(says(text)).toEqual(['masked: a false claim', 3, [2]]);
  });
  it('masks what was true before a change', () => {
    expect(says('QX7T2M is confirmed.', cancelled)).toEqual(['masked: a false claim', 5, [4]]);
  });
  it.each([
    'QX7T2M is confirmed, with one bag; paid: 180.00.',
    'Shall I say that QX7T2M is cancelled?',
    'QX7T2M is not cancelled.',
    'If QX7T2M is cancelled, 85 is refunded.',
    'QX7T2M is confirmed and KD3P9A is flown.',
    'The 10 kg are fine on 2031-04-20 at 17:40 with USB3 and COVID-19 rules.',
    'It is cancelled.',
  ])('keeps what is true, or no claim: %s', (text) => {
    expect(says(text)).toBe('keep');
  });
  it('keeps what the last answer said, and what came true by a call', () => {
    expect(says('QX7T2M is cancelled.', cancelled)).toBe('keep');
    expect(says('QX7T2M is flown.', call('get', { reference: 'QX7T2M' }, 'QX7T2M: flown'))).toBe('keep');
  });
});

describe('provenance', () => {
  const judged = (...turns: Turn[]) => outcome(provenanceFilter(), { turns });

  it('keeps ids that were said or answered before, in any case and with or without #', () => {
    expect(
      judged(
        { user: 'p100, and the order #W77?' },
        get('P100'),
        call('x', { order: '#W77', date: '2024-05-15', n: 3 }),
      ),
    ).toBe('keep');
    expect(judged({ user: 'All?' }, call('list_shelves', {}, '["S1A"]'), call('x', { shelf: ['S1A'] }))).toBe('keep');
  });

  it('cuts before an id out of nowhere; what the agent itself said is no source', () => {
    expect(judged({ user: 'P100?' }, get('P100'), { say: 'Is it P123?' }, { user: 'Yes' }, get('P123'))).toEqual([
      'cut before an id out of nowhere',
      6,
      [],
    ]);
    expect(judged({ user: 'Where is my parcel?' }, get('P100'))).toBe('begins with an id out of nowhere');
    expect(judged({ user: 'It is P1001' }, get('P100'))).toBe('begins with an id out of nowhere');
  });

  it('knows ids without a digit by their capitals and hyphen, wherever they stand', () => {
    const look = call('get_software', { software: 'SW-QUILL' });
    expect(judged({ user: 'How many seats has Quill?' }, look)).toBe('begins with an id out of nowhere');
    expect(judged({ user: 'And Quill?' }, call('list_software', {}, '["SW-QUILL"]'), look)).toBe('keep');
    expect(judged({ user: 'Order it' }, call('order', { speed: 'NEXT_DAY', note: 'ASAP' }))).toBe('keep');
  });
});

describe('decontamination', () => {
  const said = 'my parcel with the red ribbon never came to the house by the sea';
  const filter = decontaminationFilter(
    {
      tasks: [parcelTask('t', { family: 'secret', user: { goal: `Tell them: ${said}.` } })],
      texts: ['one two three four five'],
    },
    8,
  );
  const judged = (user: string, change: RecordSpec = {}) =>
    outcome(filter, { turns: [{ user }, { say: 'Oh.' }], ...change });

  it('drops episodes that share a run of words, or a family, with what is evaluated on', () => {
    expect(judged('MY parcel, with the red ribbon, never came!')).toBe(
      'shares 8 words in a row with what is evaluated on',
    );
    expect(judged('my parcel with the red ribbon never arrived')).toBe('keep');
    expect(judged('Hi', { family: 'secret' })).toBe('its family is evaluated on');
    expect(judged(said, { family: 'secret', split: 'test' })).toBe('keep');
    expect(judged('one two three four five')).toBe('keep');
  });
});
