import { describe, expect, it } from 'vitest';
import { ExpressionProblem, nextId, parseExpression } from '../../../src/worldmodel/induced/expression.js';

const state = {
  rooms: { 'R-1': { price: 80, kind: 'single' }, 'R-2': { price: 120, kind: 'double' } },
  bookings: { 'B-08': { room_id: 'R-2', status: 'confirmed' }, 'B-09': { room_id: 'R-1', status: 'cancelled' } },
};
const scope = { state, arguments: { room_id: 'R-2', booking_id: 'B-09', nights: 3, lost: 'R-9' } };

describe('an expression', () => {
  it.each([
    ['nights', 3],
    ['rooms[room_id].price * nights + 10', 370],
    ['10 + nights * 2', 16],
    ['rooms[bookings[booking_id].room_id].kind', 'single'],
    ['"a \\" b"', 'a " b'],
    ['-nights', -3],
    ['next(bookings)', 'B-10'],
    ['missing rooms[lost]', true],
    ['missing rooms[room_id]', false],
    ['bookings[booking_id].status == "cancelled"', true],
    ['nights >= 4', false],
    ['some bookings.room_id == room_id and status == "confirmed"', true],
    ['no bookings.room_id == room_id', false],
    ['true', true],
  ])('%s is %j', (text, value) => {
    expect(parseExpression(text)(scope)).toBe(value);
  });

  it.each(['guests', 'rooms[lost].price', 'rooms[room_id].colour', 'rooms[room_id].kind * 2', 'nights > "a"'])(
    '%s is not known',
    (text) => {
      expect(parseExpression(text)(scope)).toBeUndefined();
    },
  );

  it.each(['rooms[room_id', 'nights nights', 'nights +', 'a; b', '', 'rooms.price', `${'rooms['.repeat(40)}x`])(
    'cannot be read: %s',
    (text) => {
      expect(() => parseExpression(text)).toThrow(ExpressionProblem);
    },
  );

  it('reaches nothing that objects inherit', () => {
    for (const text of ['constructor', 'rooms["__proto__"].price', 'toString', 'rooms[room_id].constructor'])
      expect(parseExpression(text)(scope)).toBeUndefined();
  });
});

describe('the next id', () => {
  it('keeps the width and needs one prefix', () => {
    expect(nextId(['B-099', 'B-007'])).toBe('B-100');
    expect(nextId(['B-1', 'C-2'])).toBeUndefined();
    expect(nextId(['ada'])).toBeUndefined();
    expect(nextId([])).toBeUndefined();
  });
});
