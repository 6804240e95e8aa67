import { describe, expect, test } from 'vitest';
import { CalculationError, calculate, isCalculable } from '../../../packs/tau-bench/src/calculate.js';
import {
  pythonFloat,
  pythonInt,
  pythonJsonString,
  pythonNumber,
  pythonRepr,
  roundToCents,
} from '../../../packs/tau-bench/src/python-text.js';
import { testData } from '../../data.js';

describe('texts as Python writes them', () => {
  test.each([
    [10, '10.0'],
    [-0, '-0.0'],
    [0.1 + 0.2, '0.30000000000000004'],
    [1e-5, '1e-05'],
    [0.0001, '0.0001'],
    [1e16, '1e+16'],
    [123456789012345680, '1.2345678901234568e+17'],
    [5e-324, '5e-324'],
    [Number.POSITIVE_INFINITY, 'inf'],
  ])('the float %d is %s', (value, text) => {
    expect(pythonFloat(value)).toBe(text);
  });

  test('whole numbers are ints', () => {
    expect([pythonNumber(250), pythonNumber(2.5), pythonNumber(1e21)]).toEqual([
      '250',
      '2.5',
      '1000000000000000000000',
    ]);
  });

  test.each([
    [0.125, 0.12],
    [0.375, 0.38],
    [-0.125, -0.12],
    [2.675, 2.67],
    [-1e-14, -0],
    [848694141167295.1, 848694141167295.1],
  ])('round(%d, 2) is %d', (value, rounded) => {
    expect(Object.is(roundToCents(value), rounded)).toBe(true);
  });

  test('whole numbers are read in the digits of any script', () => {
    const read = ['20', '２０', '٢٠', '𝟐𝟎', '𝟗', ' 7\u3000', '+9', '-9', '1_0', '\x853'].map(pythonInt);
    expect(read).toEqual([20, 20, 20, 20, 9, 7, 9, -9, 10, 3]);
    expect(['', 'x9', '²', '1_', '_1', '1__0', '\ufeff9', '9.0', '\x1c3'].map(pythonInt)).toEqual(
      Array.from({ length: 9 }, () => undefined),
    );
  });

  test('strings escape all beyond printable ASCII', () => {
    expect(pythonJsonString('é\u007f"\n😀/')).toBe('"\\u00e9\\u007f\\"\\n\\ud83d\\ude00/"');
    expect(['\x1c', '\x85', '\ufeff', '\u3000', '\u{e0001}', 'é ²'].map(pythonRepr)).toEqual(
      ['\\x1c', '\\x85', '\\ufeff', '\\u3000', '\\U000e0001', 'é ²'].map((text) => `'${text}'`),
    );
    expect([pythonRepr('a'), pythonRepr("it's"), pythonRepr(`'"`)]).toEqual(["'a'", `"it's"`, `'\\'"'`]);
  });
});

describe('calculate', () => {
  test.each(testData<[string, string][]>('packs/tau-bench/calculations.yaml'))('%s is %s', (expression, text) => {
    expect(calculate(expression)).toBe(text);
  });

  test.each(testData<[string, string][]>('packs/tau-bench/calculations-wrong.yaml'))(
    '%j fails as in Python',
    (expression, message) => {
      expect(() => calculate(expression)).toThrow(new CalculationError(message));
    },
  );

  test.each([
    ['a tower of powers', '9**9**9**9'],
    ['thousands of parentheses', `${'('.repeat(9000)}1${')'.repeat(9000)}`],
    [
      'a long product of large numbers',
      Array.from({ length: 300 }, () => `${'9'.repeat(60)}`)
        .join('*')
        .repeat(1),
    ],
    ['a text without end', '1+'.repeat(50_000)],
  ])('%s ends quickly in a plain refusal', (_what, expression) => {
    expect(() => calculate(expression)).toThrow(CalculationError);
  });

  test('takes no names', () => {
    expect([isCalculable('1 + (2)'), isCalculable('process.exit()'), isCalculable('1\n+1')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
