// Rules from the three logs of the hotel, and what further logs make of them.

import '../../../src/kinds/registry.js';
import { describe, expect, it } from 'vitest';
import type { RulesFile } from '../../../src/env/tools/declared-rules.js';
import type { ToolSpec } from '../../../src/env/tools/domain.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { heldOut, induce, tryRules } from '../../../src/synth/induction/induce.js';
import { proposeTasks } from '../../../src/synth/induction/proposed-tasks.js';
import { hotelEpisodes, hotelTools } from './hotel.js';

const episodes = await hotelEpisodes();
const domain = { tools: hotelTools() };
const induction = induce(episodes, domain);

function rule(tool: string, { rules } = induction): RulesFile['tools'][string] {
  return rules.file.tools[tool];
}

/** A log of the hotel with further answered calls at its end. */
function withCalls(log: EpisodeRecord, calls: readonly [string, object, string, boolean?][]): EpisodeRecord {
  const more = calls.flatMap(([name, given, content, isError], i) => {
    const call = { id: `more-${i}`, name, arguments: given as never };
    return [
      { role: 'assistant' as const, content: null, toolCalls: [call] },
      { role: 'tool' as const, toolCallId: call.id, name, content, ...(isError ? { isError } : {}) },
    ];
  });
  return { ...log, messages: [...log.messages, ...more] };
}

describe('rules from the logs of a hotel', () => {
  it('answer every tool, explain everything, and are right in every call', () => {
    expect([...induction.rules.tools]).toEqual(domain.tools.map(({ name }) => name));
    expect(induction.unexplained).toEqual([]);
    const tried = [...tryRules(induction.rules, induction.beliefs).values()];
    expect(tried.every(({ wrong, open }) => wrong + open === 0)).toBe(true);
    expect(tried.length).toBe(6);
  });

  it('find what is free by what refers to it', () => {
    expect(rule('find_rooms').answers).toBe(
      'state.rooms.filter(k, state.rooms[k].kind == call.kind && !state.bookings.exists(r, state.bookings[r].room_id == k && state.bookings[r].status == "confirmed")).map(k, {"room_id": state.rooms[k].room_id, "kind": state.rooms[k].kind, "price": state.rooms[k].price}).sortBy("room_id")',
    );
  });

  it('find a price that is a product, and an id that is the next', () => {
    expect(rule('book_room')).toMatchObject({
      let: { id: 'next(state.bookings)' },
      effects: [
        {
          create: '/bookings/{id}',
          value: { total: 'call.nights * state.rooms[call.room_id].price', status: '"confirmed"' },
        },
      ],
    });
  });

  it('find why calls fail, and their words; what no log shows missing is guarded', () => {
    expect(rule('cancel_booking').enforces).toEqual([
      { require: 'call.booking_id in state.bookings', error: '{call.booking_id} not found' },
      {
        require: 'state.bookings[call.booking_id].status != "cancelled"',
        error: 'booking {call.booking_id} is already cancelled',
      },
    ]);
    expect(rule('get_guest').enforces).toEqual([
      { require: 'call.guest_id in state.guests', error: 'guest {call.guest_id} not found' },
    ]);
  });

  it('say where references lead, and of what form ids and words are', () => {
    expect(induction.rules.file.invariants).toContainEqual({
      each: 'state.bookings',
      require: 'it.room_id in state.rooms',
      error: 'bookings {key} names {it.room_id}, which is none of rooms',
    });
    expect(induction.schema).toMatchObject({
      properties: {
        bookings: {
          propertyNames: { pattern: '^B-\\d{4}$' },
          additionalProperties: { properties: { status: { enum: ['cancelled', 'confirmed'] } } },
        },
      },
    });
  });
});

describe('further logs', () => {
  const booked = (total: number, id = 'B-1004') =>
    JSON.stringify({ booking_id: id, guest_id: 'G-17', room_id: 'R-101', nights: 2, status: 'confirmed', total });

  it.each([
    [999, 'B-1004', /total is call\.nights \* state\.rooms\[call\.room_id\]\.price in 2 calls; log 1, call 5 has 999/],
    [160, 'X7', /The ids that book_room gives new bookings follow from nothing known/],
  ])('leave out, and name, what most calls say and one does not: %s %s', (total, id, reason) => {
    const odd = withCalls(episodes[0], [
      ['book_room', { guest_id: 'G-17', room_id: 'R-101', nights: 2 }, booked(total, id)],
    ]);
    const found = induce([odd, ...episodes.slice(1)], domain);
    expect(found.unexplained.join('\n')).toMatch(reason);
    expect(found.rules.tools.has('book_room')).toBe(false);
    expect(rule('book_room', found).enforces?.length).toBeGreaterThan(0);
  });

  it('are held back, and rules of the others tried on them', () => {
    const eight = [...episodes, ...episodes].map((one, i) => ({ ...one, episode: i }) as EpisodeRecord);
    const tried = heldOut(eight, domain)!;
    expect([heldOut(episodes, domain), [...tried.values()].every(({ wrong }) => wrong === 0)]).toEqual([
      undefined,
      true,
    ]);
  });
});

describe('a state beside the logs', () => {
  const state = {
    today: '2031-04-12',
    seats: { 'F-1': { from: 'LIS', free: 2 }, 'F-2': { from: 'OSL', free: 5 } },
    tickets: {
      QX7: { holder: 'P-1', seat: 'F-1', bags: 0, paid: 85 },
      ZN8: { holder: 'P-2', seat: 'F-2', bags: 1, paid: 270 },
    },
    people: { 'P-1': { first: 'Mara', last: 'Lind' }, 'P-2': { first: 'Jun', last: 'Takeda' } },
  };
  const ids = (...names: string[]) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, {}])),
    required: names,
  });
  const tools = [
    { name: 'get_ticket', description: 'One.', kind: 'read', parameters: ids('code') },
    { name: 'add_bag', description: 'Adds bags.', kind: 'write', parameters: ids('code', 'bags') },
  ] as ToolSpec[];
  const log = (calls: readonly [string, object, string, boolean?][]) =>
    withCalls({ messages: [], verdict: { reward: 1, checks: [] } } as unknown as EpisodeRecord, calls);

  it('gives records their fields, joins, names made of two, and sums', () => {
    const get = (
      code: string,
      passenger: string,
      from: string,
      bags: number,
      paid: number,
    ): [string, object, string] => ['get_ticket', { code }, JSON.stringify({ code, passenger, from, bags, paid })];
    const add = (code: string, bags: number, now: number, paid: number): [string, object, string] => [
      'add_bag',
      { code, bags },
      JSON.stringify({ code, bags: now, paid }),
    ];
    const logs = [
      log([get('QX7', 'Mara Lind', 'LIS', 0, 85), add('QX7', 2, 2, 115), get('QX7', 'Mara Lind', 'LIS', 2, 115)]),
      log([get('ZN8', 'Jun Takeda', 'OSL', 1, 270), add('ZN8', 1, 2, 300)]),
    ];
    const found = induce(logs, { tools, state: state as never });
    expect(found.unexplained).toEqual([]);
    expect(found.rules.file.tools).toMatchObject({
      get_ticket: {
        answers: {
          passenger:
            'state.people[state.tickets[call.code].holder].first + " " + state.people[state.tickets[call.code].holder].last',
          from: 'state.seats[state.tickets[call.code].seat].from',
        },
      },
      add_bag: {
        effects: [
          { increment: '/tickets/{call.code}/bags', by: 'call.bags' },
          { increment: '/tickets/{call.code}/paid', by: '30' },
        ],
      },
    });
  });
});

describe('tasks from logs', () => {
  it('have a verifier that its own reference passes and idleness does not', () => {
    const tasks = proposeTasks(induction, domain);
    expect(tasks.map(({ problems }) => problems)).toEqual([[], [], []]);
    expect(tasks[1].task.verifier).toMatchObject({
      assert: [{ path: '/bookings/B-1001/status', equals: 'cancelled' }, { path: '/bookings/B-1003' }],
      communicate: ['B-1003', '160'],
      notCalled: ['hand_over'],
    });
  });

  it('are not made of logs that failed', () => {
    const failed = episodes.map((each) => ({ ...each, verdict: { reward: 0, checks: [] } }));
    expect(proposeTasks(induce(failed, domain), domain)).toEqual([]);
  });

  it('say why they cannot be used: a verifier that asks for nothing that happened', () => {
    const onlySaid = {
      ...episodes[0],
      messages: episodes[0].messages.filter(({ role }) => role !== 'tool').slice(0, 2),
    };
    const [{ problems }] = proposeTasks(induce([onlySaid as EpisodeRecord, episodes[1]], domain), domain);
    expect(problems).not.toEqual([]);
  });
});
