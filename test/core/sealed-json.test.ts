import { describe, expect, it } from 'vitest';
import { openSealed, sealedText } from '../../src/core/files.js';

const CONTENT = {
  name: 'a "manifest" — größer\n',
  numbers: [0.30000000000000004, 5e-324, 1e21, -1.5, 0, 2 ** 63],
  none: null,
  nested: { b: true, a: [], 10: 'ten', 2: 'two' },
};

describe('a sealed text', () => {
  it('gives its content back, and the same text again', () => {
    const text = sealedText(CONTENT);
    expect(openSealed(text)).toEqual(CONTENT);
    expect(sealedText(openSealed(text))).toBe(text);
    expect(JSON.parse(text).seal).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is refused with any byte changed, left out or doubled', () => {
    const whole = Buffer.from(sealedText(CONTENT));
    const accepted: string[] = [];
    const attempt = (what: string, bytes: Buffer) => {
      try {
        openSealed(bytes.toString('utf8'));
        accepted.push(what);
      } catch (error) {
        expect((error as Error).message).toMatch(/^it /);
      }
    };
    for (let at = 0; at < whole.length; at++) {
      for (const change of [1, 32, 128]) {
        const bytes = Buffer.from(whole);
        bytes[at] ^= change;
        attempt(`byte ${at} ^ ${change}`, bytes);
      }
      attempt(`without byte ${at}`, Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)]));
      attempt(`byte ${at} twice`, Buffer.concat([whole.subarray(0, at + 1), whole.subarray(at)]));
    }
    expect(accepted).toEqual([]);
  });

  it.each([
    ['not JSON', '{', /^it is not JSON/],
    ['no object', '[1]', /^it does not hold an object$/],
    ['without a seal', '{"a": 1}', /^it has no seal$/],
  ])('is none: %s', (_, text, message) => {
    expect(() => openSealed(text)).toThrow(message);
  });
});
