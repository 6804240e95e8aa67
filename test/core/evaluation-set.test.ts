import { describe, expect, it } from 'vitest';
import { type EvaluationSetParts, evaluationSetOf } from '../../src/core/evaluation-set.js';

const PARTS: EvaluationSetParts = {
  environment: 'rules 1',
  tasks: ['a', 'b', 'c'],
  seeds: [0],
  policies: { agent: 'reference', user: 'scripted' },
  settings: { episodes: 3 },
};

describe('an evaluation set', () => {
  it('has one hash for the same parts, whatever the order of their keys', () => {
    const { settings, ...rest } = PARTS;
    expect(evaluationSetOf({ settings, ...rest }).hash).toBe(evaluationSetOf(PARTS).hash);
  });

  it.each([
    { environment: 'rules 2' },
    { tasks: ['b', 'a', 'c'] },
    { seeds: [1] },
    { policies: { agent: 'reference', user: 'model' } },
    { settings: { episodes: 3, groupSize: 2 } },
  ])('is another with %j', (changed) => {
    expect(evaluationSetOf({ ...PARTS, ...changed }).hash).not.toBe(evaluationSetOf(PARTS).hash);
  });
});
