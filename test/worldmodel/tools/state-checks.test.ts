// State checks of a model's answers: checked if they can be parsed, otherwise counted.

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { isAlike, readObservation } from '../../../src/env/state/records.js';
import type { ToolSpec, ToolsDomain } from '../../../src/env/tools/domain.js';
import { freezeDeep } from '../../../src/env/tools/load-domain.js';
import type { Operation, StateCheck } from '../../../src/env/tools/prediction.js';
import type { ExperienceStep } from '../../../src/replay/experience/experience.js';
import { answeredBefore, checkProposal } from '../../../src/worldmodel/tools/checks.js';
import { testData } from '../../data.js';

const KINDS: Record<string, ToolSpec['kind']> = {
  get_room: 'read',
  list_rooms: 'read',
  book: 'write',
  cancel: 'write',
  clean_all: 'write',
};

const inn: ToolsDomain = {
  ...{ id: 'inn', version: '1', policy: 'Be kind.', stateSchema: { type: 'object' }, close: () => {} },
  tools: Object.entries(KINDS).map(([name, kind]) => ({
    name,
    kind,
    description: name,
    parameters: { type: 'object' },
  })),
  tasks: [
    {
      ...{ id: 'look', family: 'look', user: { goal: '' }, verifier: {} },
      reference: { calls: [{ name: 'cancel', arguments: { code: 'BK-71' } }] },
    },
  ],
  initialState: freezeDeep(testData<JsonObject>('worldmodel/tools/inn.yaml')),
};

interface Said {
  readonly operations?: readonly Operation[];
  readonly isError?: boolean;
  readonly records?: readonly ExperienceStep[];
  readonly domain?: ToolsDomain;
}

function check(name: string, given: JsonObject, observation: string, { domain = inn, records, ...said }: Said = {}) {
  const proposal = { operations: [], isError: false, confidence: 1, observation, ...said };
  const call = { name, arguments: given };
  return checkProposal({ domain, state: domain.initialState, call, messages: [], proposal, records });
}

const set = (path: string, value: string | number): Operation => ({ op: 'replace', path, value });
const room = { room: 'R-10' };
const booking = { code: 'BK-71' };

const GONE: Said = { operations: [set('/bookings/BK-71/status', 'gone')] };
const FAILED: Said = { isError: true };
const asks = (key: string, id: string): JsonObject => ({ [key]: id });

it.each<[StateCheck, string, JsonObject, string, Said, string]>([
  ['values', 'get_room', room, '{"room":"R-10","price":1205}', {}, 'price 1205, the record rooms/R-10 has 120.5'],
  ['values', 'get_room', { ...room, night: '2030-01-03' }, '{"room":"R-10","rate":99}', {}, 'rate 99'],
  ['values', 'cancel', booking, '{"code":"BK-71","beds":2}', GONE, 'rooms/R-11 has 1'],
  ['values', 'cancel', booking, '{"guest":"Ada Lind"}', GONE, 'has G-2'],
  ['values', 'cancel', booking, '{"code":"BK-71","roomStatus":"free"}', GONE, 'has taken'],
  ['values', 'cancel', booking, '{"extras":["sauna"]}', GONE, 'has sauna'],
  ['values', 'get_room', room, '{"room":"R-20","floor":2,"price":95}', {}, 'answers about rooms/R-20'],
  ['values', 'list_rooms', asks('status', 'free'), '[{"room":"R-11","beds":1}]', {}, 'asks for free'],
  ['values', 'get_room', room, 'Room: R-10\nStatus: taken', {}, 'Status taken'],
  ['values', 'cancel', booking, '{"status":"cancelled"}', GONE, 'has gone'],
  ['unknown', 'get_room', asks('room', 'R-99'), '{"room":"R-99","floor":9}', {}, 'which the state does not know'],
  ['missing', 'get_room', room, 'Error: room R-10 not found', FAILED, 'the state has rooms/R-10'],
  ['missing', 'cancel', booking, 'Error: No such booking.', FAILED, 'bookings/BK-71'],
  ['unchanged', 'cancel', booking, 'Cancelled.', {}, 'changes nothing'],
  ['named', 'cancel', booking, 'Done.', { operations: [set('/bookings/BK-72/status', 'gone')] }, 'bookings/BK-72'],
  [
    'named',
    'book',
    { ...booking, room: 'R-20' },
    'Done.',
    { operations: [set('/bookings/BK-71/room', 'R-10')] },
    'R-20',
  ],
])('a reply that is false is caught by `%s`: %s %j %s', (name, tool, given, observation, said, reason) => {
  const found = check(tool, given, observation, said);
  expect(found.problems?.join(' ')).toContain(reason);
  expect(found.problems?.every((problem) => problem.endsWith(`(check: ${name})`))).toBe(true);
  expect(found.findings?.[name]).toBe('refused');
  const domain = { ...inn, tools: inn.tools.map((one) => ({ ...one, skipChecks: [name] })) };
  expect(check(tool, given, observation, { ...said, domain }).findings).not.toHaveProperty(name);
});

describe('a reply that is true', () => {
  const both = { operations: [...GONE.operations!, set('/rooms/R-11/status', 'free')] };
  const joined = '{"code":"BK-71","guest":"Bo Ek","room":{"floor":1,"status":"free"},"status":"gone"}';
  const clean = { operations: [set('/rooms/R-10/status', 'clean')] };
  it.each<[string, string, JsonObject, string, Said, object]>([
    ['joins and renames', 'cancel', booking, joined, both, { values: 'held', named: 'held' }],
    ['formats', 'get_room', room, '{"price":"€ 120.50","status":"Free"}', {}, { values: 'held' }],
    ['computes', 'get_room', room, '{"total":241,"nights_left":2}', {}, { values: 'unchecked' }],
    ['is prose', 'get_room', room, 'It is a nice one.', {}, { values: 'unchecked' }],
    ['is in lines', 'list_rooms', {}, 'Room R-10:\nPrice: 120.50\n\nRoom R-11:\nPrice: 80', {}, { values: 'held' }],
    ['finds nothing', 'list_rooms', asks('room', 'R-99'), '[]', {}, { unknown: 'held' }],
    ['fails for a reason', 'cancel', booking, 'Error: too late', FAILED, {}],
    ['names nothing', 'clean_all', {}, 'Done.', clean, { named: 'unchecked' }],
    ['was so before', 'book', { ...booking, room: 'R-11' }, 'Done.', {}, { unchanged: 'unchecked' }],
  ])('passes where it %s', (_, tool, given, observation, said, findings) => {
    const found = check(tool, given, observation, said);
    expect(found.problems).toBeUndefined();
    expect(found.findings).toMatchObject(findings);
  });
});

describe('records of the real environment', () => {
  const record = (name: string, given: JsonObject, observation: string, isError = false): ExperienceStep => ({
    ...{ source: 'real', backend: 'real', modelVersion: '', scenario: '', task: '', episode: 'log', step: 0, row: -1 },
    ...{ call: { name, arguments: given }, history: [], observation, isError, reward: null, terminated: false },
    ...{ confidence: 1, verified: true },
  });

  it('are not contradicted in the same state', () => {
    const records = [record('cancel', booking, 'Error: paid in full', true)];
    const operations = [set('/bookings/BK-71/status', 'gone')];
    expect(check('cancel', booking, 'Cancelled.', { operations, records }).problems?.join()).toContain(
      'was refused: Error: paid in full',
    );
    expect(
      check('cancel', { code: 'BK-72' }, 'Cancelled.', { operations: [set('/bookings/BK-72/status', 'gone')], records })
        .problems,
    ).toBeUndefined();
  });

  it('teach the sentences of a tool, and which keys mean something else', () => {
    const records = [
      record('get_room', { room: 'R-20' }, 'R-20 on floor 2 costs 95.'),
      record('list_rooms', { room: 'R-20' }, '{"room":"R-20","beds":7}'),
    ];
    expect(check('get_room', room, 'R-10 on floor 1 costs 120.5.', { records }).findings?.values).toBe('held');
    expect(check('get_room', room, 'R-10 on floor 3 costs 120.5.', { records }).problems?.join()).toContain(
      'says floor 3',
    );
    expect(check('list_rooms', room, '{"room":"R-10","beds":9}', { records }).findings?.values).toBe('unchecked');
  });
});

it('reads JSON in loose shapes, lines and pairs', () => {
  expect(readObservation("{'a': None, 'b': True}")).toEqual({ a: null, b: true });
  expect(readObservation('```json\n[1]\n```')).toEqual([1]);
  expect(readObservation('id: L-1; due: 2030-01-02')).toEqual({ id: 'L-1', due: '2030-01-02' });
  expect(readObservation('All is well, and 3 are left.')).toBeUndefined();
});

it.each<[string | number | boolean | null, string | number | boolean | null, boolean | undefined]>([
  ['1,840.55 EUR', 1840.55, true],
  [180, 255, false],
  [25500, 255, undefined],
  [47.8, 47.84, true],
  ['3 h', 180, undefined],
  ['10 June 2031', '2031-06-10', true],
  ['06/10/2031', '2031-06-10', true],
  ['12 June 2031', '2031-06-10', false],
  ['tomorrow', '2031-06-10', undefined],
  ['2 pm', '14:00', true],
  ['16:00', '14:00', false],
  ['canceled', 'cancelled', undefined],
  ['In repair', 'in_repair', true],
  ['not confirmed', 'confirmed', false],
  ['Lisbon', 'LIS', undefined],
  ['none', null, true],
  ['yes', true, true],
  ['****', 'secret', undefined],
])('%j beside %j: %s', (claim, held, alike) => {
  expect(isAlike(claim, held)).toBe(alike);
});

it('a read is answered as before until something changes', () => {
  const call = (id: string, name: string) =>
    ({ role: 'assistant', content: null, toolCalls: [{ id, name, arguments: room }] }) as const;
  const answer = (toolCallId: string, content: string, isError = false) =>
    ({ role: 'tool', toolCallId, name: '', content, isError }) as const;
  const again = { id: '9', name: 'get_room', arguments: room };
  const messages = [call('1', 'get_room'), answer('1', 'A'), call('2', 'book'), answer('2', 'Error: no', true)];
  expect(answeredBefore({ domain: inn, messages, call: again })?.content).toBe('A');
  const changed = [...messages, call('3', 'book'), answer('3', 'Done.')];
  expect(answeredBefore({ domain: inn, messages: changed, call: again })).toBeUndefined();
});
