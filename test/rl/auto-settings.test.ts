// What `auto` comes to, by the body.

import { describe, expect, it } from 'vitest';
import { decisionsOf, withDecisions } from '../../src/rl/auto-settings.js';
import { ppoConfigSchema, redqConfigSchema, sacConfigSchema } from '../../src/rl/config.js';
import { box, spacesOf } from './batches.js';

const body = (obsDim: number, actionDim: number, more: { id?: string; stepSeconds?: number } = {}) => ({
  ...spacesOf(obsDim, box(actionDim, -1, 1)),
  ...more,
});

describe('what is left open in the settings of a learner', () => {
  it.each([
    ['a small body', body(3, 1), { hidden: [64, 64], batchSize: 64, lr: 1e-3, targetEntropy: -1, gamma: 0.99 }],
    ['the largest small one', body(10, 2), { hidden: [64, 64], batchSize: 64, targetEntropy: -2 }],
    ['one more element', body(11, 2), { hidden: [64, 64], targetEntropy: -1 }],
    ['hopper', body(11, 3, { stepSeconds: 0.008 }), { hidden: [64, 64], targetEntropy: -1.5, gamma: 0.997 }],
    ['a large body', body(19, 6), { hidden: [256, 256], batchSize: 256, lr: 3e-4, targetEntropy: -3 }],
    ['reacher', body(10, 2, { stepSeconds: 0.02 }), { gamma: 0.9926 }],
    ['long steps', body(17, 6, { stepSeconds: 0.05 }), { targetEntropy: -3, gamma: 0.99 }],
  ])('is decided for %s', (_, spaces, expected) => {
    expect(withDecisions(sacConfigSchema.parse({}), spaces)).toMatchObject(expected);
  });

  it('has a reason each, and what is given stands', () => {
    const asked = sacConfigSchema.parse({ hidden: [8], gamma: 0.9, targetEntropy: -2 });
    const decided = decisionsOf(asked, body(17, 6));
    expect(decided.map(({ key }) => key).toSorted()).toEqual(['batchSize', 'lr']);
    expect(decided.every(({ reason }) => reason.includes('17 observed'))).toBe(true);
    expect(withDecisions(asked, body(17, 6))).toMatchObject({ hidden: [8], gamma: 0.9, targetEntropy: -2 });
    expect(decisionsOf(withDecisions(asked, body(17, 6)), body(17, 6))).toEqual([]);
  });

  it('takes the target entropy of its body from a table, and minus the elements of an action for others', () => {
    const { targetEntropy } = withDecisions(redqConfigSchema.parse({ targetEntropy: { hopper: -1 } }), {
      ...body(11, 3, { id: 'hopper' }),
    });
    expect(targetEntropy).toBe(-1);
    const other = body(17, 6, { id: 'walker2d' });
    const table = sacConfigSchema.parse({ targetEntropy: { hopper: -1 } });
    expect(withDecisions(table, other).targetEntropy).toBe(-6);
    expect(decisionsOf(table, other).map(({ reason }) => reason)).toContain('not listed: minus the action elements');
    expect(withDecisions(sacConfigSchema.parse({ targetEntropy: {} }), body(3, 1)).targetEntropy).toBe(-1);
  });

  it('leaves settings alone that a learner does not have', () => {
    expect(withDecisions(ppoConfigSchema.parse({}), body(17, 6, { stepSeconds: 0.008 }))).toMatchObject({
      ...{ hidden: [64, 64], batchSize: 64, lr: 3e-4, gamma: 0.997 },
    });
  });
});
