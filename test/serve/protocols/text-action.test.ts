import { describe, expect, it } from 'vitest';
import type { Servable } from '../../../src/run/servable.js';
import { actionInText } from '../../../src/serve/protocols/nemo.js';

function servedAs(family: Servable['family']): Servable {
  return { family, name: family, tools: [] } as unknown as Servable;
}

describe('what a model wrote', () => {
  it.each([
    ['open door', 'open door'],
    ['Thought: it is shut.\nAction: open door', 'open door'],
    ['<think>Action: cry</think>Action: open door', 'open door'],
  ])('is a line of text: %s', (text, line) => {
    expect(actionInText(servedAs('text'), text)).toBe(line);
  });

  it.each([
    ['[0.5, -1]', [0.5, -1]],
    ['Thought: 3 of them.\nAction: [2]', [2]],
    ['Action: -0.25', [-0.25]],
    ['I push by +1e-1 then', [Math.fround(0.1)]],
  ])('is numbers: %s', (text, row) => {
    expect(Array.from(actionInText(servedAs('vector'), text) as Float32Array)).toEqual(row);
  });

  it('is refused where numbers should be', () => {
    expect(() => actionInText(servedAs('vector'), 'left')).toThrow('a list of numbers');
  });
});
