// Rules from the three logs of the hotel, and what further logs make of them.

import '../../../src/kinds/registry.js';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { InducedRule } from '../../../src/env/tools/induced-schema.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { type Induction, induce } from '../../../src/synth/induction/induce.js';
import { proposeTasks } from '../../../src/synth/induction/proposed-tasks.js';
import { hotelEpisodes, hotelTools } from './hotel.js';

let episodes: readonly EpisodeRecord[];
let domain: Pick<ToolsDomain, 'tools'>;
let induction: Induction;

beforeAll(async () => {
  episodes = await hotelEpisodes();
  domain = { tools: hotelTools() };
  induction = induce(episodes, domain);
});

function rule(id: string, { rules } = induction.rules): InducedRule {
  return rules.find((each) => each.id === id)!;
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
  it('answer every tool, and explain everything', () => {
    const answers = induction.rules.rules.filter(({ kind }) => ['answer', 'list', 'sentence'].includes(kind));
    expect(answers.map((each) => 'tool' in each && each.tool)).toEqual(domain.tools.map(({ name }) => name));
    expect(induction.rules.unexplained).toEqual([]);
  });

  it('find what is free by what refers to it', () => {
    expect(rule('find_rooms.list')).toMatchObject({
      where: ['each.kind == kind', 'no bookings.room_id == each.room_id and status == "confirmed"'],
      order: 'each.room_id',
      support: 4,
    });
  });

  it('find a price that is a product, and an id that is the next', () => {
    expect(rule('book_room.add')).toMatchObject({
      key: 'next(bookings)',
      fields: { total: 'nights * rooms[room_id].price', status: '"confirmed"', guest_id: 'guest_id' },
    });
  });

  it('find why calls fail, and their words', () => {
    expect(rule('cancel_booking.refuse')).toMatchObject({
      when: 'bookings[booking_id].status == "cancelled"',
      error: 'Error: booking {booking_id} is already cancelled',
      support: 2,
    });
    expect(rule('get_guest.refuse')).toMatchObject({ when: 'missing guests[guest_id]' });
  });
});

describe('further logs', () => {
  const booked = (total: number, id = 'B-1004') =>
    JSON.stringify({ booking_id: id, guest_id: 'G-17', room_id: 'R-101', nights: 2, status: 'confirmed', total });

  it('are counter-examples where they speak against what most say', () => {
    const odd = withCalls(episodes[0], [
      ['find_rooms', { kind: 'single' }, '[{"room_id":"R-101","kind":"single","price":80}]'],
      ['book_room', { guest_id: 'G-17', room_id: 'R-101', nights: 2 }, booked(999)],
    ]);
    const found = rule('book_room.add', induce([odd, ...episodes.slice(1)], domain).rules);
    expect(found).toMatchObject({ fields: { total: 'nights * rooms[room_id].price' }, support: 2 });
    expect(found.counterExamples).toEqual(['nights * rooms[room_id].price: log 1, call 6 has 999']);
  });

  it('leave unexplained what nothing explains', () => {
    const odd = withCalls(episodes[0], [
      ['book_room', { guest_id: 'G-17', room_id: 'R-101', nights: 2 }, booked(160, 'X7')],
    ]);
    const { rules } = induce([odd, ...episodes.slice(1)], domain);
    expect(rules.unexplained).toContain('The ids that book_room gives new bookings follow from nothing known.');
    expect(rule('book_room.add', rules)).toBeUndefined();
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
