import { describe, expect, it } from 'vitest';
import { type EvaluationSetParts, evaluationSetOf, setDifferences } from '../../src/core/evaluation-set.js';

const PARTS: EvaluationSetParts = {
  environment: 'rules 1',
  tasks: ['a', 'b', 'c'],
  seeds: [0],
  policies: { agent: 'reference', user: 'scripted' },
  settings: { episodes: 3 },
};

describe('a evaluationSet', () => {
  it('has one hash for the same parts, whatever the order of their keys', () => {
    const { settings, ...rest } = PARTS;
    expect(evaluationSetOf({ settings, ...rest }).hash).toBe(evaluationSetOf(PARTS).hash);
  });

  it.each([
    [{ environment: 'rules 2' }, 'environment: rules 1 here, rules 2 there'],
    [{ tasks: ['b', 'a', 'c'] }, 'tasks: the same in another order'],
    [{ tasks: ['a', 'd'] }, 'tasks: without d, with b, c beside them'],
    [{ seeds: [1] }, 'seeds: [0] here, [1] there'],
    [{ policies: { agent: 'reference', user: 'model' } }, 'policies.user: scripted here, model there'],
    [{ settings: { episodes: 3, groupSize: 2 } }, 'settings.groupSize: nothing here, 2 there'],
  ])('is another with %j, which is told', (changed, difference) => {
    const other = evaluationSetOf({ ...PARTS, ...changed });
    expect(other.hash).not.toBe(evaluationSetOf(PARTS).hash);
    expect(setDifferences(PARTS, other)).toEqual([difference]);
  });
});
