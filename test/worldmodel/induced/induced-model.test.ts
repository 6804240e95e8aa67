// What accepted rules answer, what they leave to others, and what they hold others to.

import { beforeAll, describe, expect, it } from 'vitest';
import type { CallSpec, ToolsDomain } from '../../../src/env/tools/domain.js';
import type { InducedRules } from '../../../src/env/tools/induced-schema.js';
import { type Induction, induce } from '../../../src/synth/induction/induce.js';
import { InducedModel } from '../../../src/worldmodel/induced/induced-model.js';
import { checkProposal } from '../../../src/worldmodel/tools/checks.js';
import { hotelEpisodes, hotelTools } from '../../synth/induction/hotel.js';

let induction: Induction;

beforeAll(async () => {
  induction = induce(await hotelEpisodes(), { tools: hotelTools() });
});

/** Of a kind that is not looked for in logs. */
const WRITTEN = {
  ...{ id: 'rooms.price', kind: 'constant', collection: 'rooms', fields: ['price'] },
  ...{ accepted: false, support: 1, seen: [], counterExamples: [], alternatives: [] },
} as InducedRules['rules'][number];

function rulesWith(isAccepted: (id: string) => boolean): InducedRules {
  const { rules } = induction;
  return { ...rules, rules: [...rules.rules, WRITTEN].map((rule) => ({ ...rule, accepted: isAccepted(rule.id) })) };
}

const all = () => true;
const none = () => false;

function ask(name: string, given: CallSpec['arguments'], rules = rulesWith(all), state = induction.state) {
  return new InducedModel(rules).predict({ state, call: { id: 'c', name, arguments: given } } as never);
}

describe('accepted rules from logs', () => {
  it('answer, and change what is changed', () => {
    const answer = ask('book_room', { guest_id: 'G-22', room_id: 'R-201', nights: 2 });
    expect(answer).toMatchObject({ isError: false, operations: [{ op: 'add', path: '/bookings/B-1003' }] });
    expect(JSON.parse('observation' in answer ? answer.observation : '')).toEqual({
      ...{ booking_id: 'B-1003', guest_id: 'G-22', room_id: 'R-201', nights: 2, status: 'confirmed', total: 240 },
    });
  });

  it.each([
    ['a tool without an accepted answer', 'get_guest', { guest_id: 'G-17' }, none, 'no accepted answer'],
    [
      'an effect that is not accepted',
      'cancel_booking',
      { booking_id: 'B-1001' },
      (id: string) => id !== 'cancel_booking.set',
      'cancel_booking.set',
    ],
    [
      'a refusal that is not accepted',
      'get_guest',
      { guest_id: 'G-99' },
      (id: string) => id !== 'get_guest.refuse',
      'get_guest.refuse',
    ],
    [
      'a value that no log asked for',
      'find_rooms',
      { kind: 'suite' },
      all,
      'no log has find_rooms where kind is "suite"',
    ],
  ] as const)('leave to others %s', (_, name, given, isAccepted, reason) => {
    expect(ask(name, given, rulesWith(isAccepted))).toEqual({ declined: expect.stringContaining(reason) });
  });
});

describe('other backends', () => {
  const problems = (call: CallSpec, operations: readonly object[], induced: InducedRules) => {
    const domain = {
      ...{ id: 'hotel', tools: hotelTools(), stateSchema: induction.schema, initialState: induction.state, induced },
    } as unknown as ToolsDomain;
    const proposal = { operations: operations as never, observation: 'Done.', isError: false, confidence: 1 };
    return checkProposal({ domain, state: induction.state, call, messages: [], proposal }).problems ?? [];
  };
  const cancel = { name: 'cancel_booking', arguments: { booking_id: 'B-1002' } };

  it('are held to accepted refusals', () => {
    expect(problems(cancel, [], rulesWith(all))).toEqual([
      'The call must fail here, with an error: booking B-1002 is already cancelled',
    ]);
    expect(problems(cancel, [], rulesWith(none))).toEqual([]);
  });

  it.each([
    [{ op: 'replace', path: '/bookings/B-1001/status', value: 'lost' }, 'status is never "lost"'],
    [{ op: 'copy', from: '/bookings/B-1001', path: '/bookings/7' }, '"7" is no id of bookings'],
  ])('are held to accepted invariants: %j', (operation, reason) => {
    const call = { name: 'cancel_booking', arguments: { booking_id: 'B-1001' } };
    expect(problems(call, [operation], rulesWith(all)).join()).toContain(reason);
    expect(problems(call, [operation], rulesWith(none)).join()).not.toContain(reason);
  });
});
