// What is written to py4j, and how its answers are read.

import { describe, expect, it } from 'vitest';
import { answerOf, callCommand, constructCommand } from '../../../src/env/java/gateway-lines.js';

describe('lines of py4j', () => {
  it('are a call with its arguments by type, ended by e', () => {
    expect(callCommand('o3', ['load', 'a\nb\\n', 2, 0.5, true, { object: 'o7' }])).toBe(
      'c\no3\nload\nsa\\nb\\\\n\ni2\nd0.5\nbtrue\nro7\ne\n',
    );
    expect(constructCommand('a.B')).toBe('i\na.B\ne\n');
  });

  it('are answers: values, objects, lists, and exceptions', () => {
    expect(answerOf('!yslook\\\\n\\nhere')).toEqual({ value: 'look\\n\nhere' });
    expect(answerOf('!yi-5')).toEqual({ value: -5 });
    expect(answerOf('!yd0.25')).toEqual({ value: 0.25 });
    expect(answerOf('!ybfalse')).toEqual({ value: false });
    expect(answerOf('!yv')).toEqual({ value: null });
    expect(answerOf('!ylo4')).toEqual({ object: 'o4', isList: true });
    expect(answerOf('!yro5')).toEqual({ object: 'o5', isList: false });
    expect(answerOf('!xro6')).toEqual({ thrownObject: 'o6' });
    expect(answerOf('!xsno such method\\nat B')).toEqual({ thrown: 'no such method\nat B' });
    expect(() => answerOf('HTTP/1.1 400')).toThrow(RangeError);
  });
});
