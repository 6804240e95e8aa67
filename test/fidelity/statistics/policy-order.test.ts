// What a wrong order of policies costs: against the numbers SIMPLER published, and by hand.

import { describe, expect, it } from 'vitest';
import { mmrv, mmrvShare, pearson, regretAt } from '../../../src/fidelity/statistics/agreement.js';

// Success rates of RT-2-X, three RT-1 checkpoints, RT-1-X and Octo-Base on the robot and in simulation, as SIMPLER
// (2405.05941) publishes them with its code; MMRV by its formula in numpy:
// np.mean([max(abs(r[i]-r[j]) if (s[i]>s[j]) != (r[i]>r[j]) else 0 for j in range(6)) for i in range(6)])
const TASKS = [
  {
    task: 'pick coke can',
    real: [0.907, 0.853, 0.92, 0.76, 0.133, 0.293],
    dreamt: [0.787, 0.857, 0.71, 0.567, 0.027, 0.17],
    expected: 0.03133333333333336,
    swapped: 0.06183333333333335,
    r: 0.975433978718709,
  },
  {
    task: 'move near',
    real: [0.733, 0.633, 0.583, 0.45, 0.017, 0.35],
    dreamt: [0.779, 0.442, 0.354, 0.317, 0.05, 0.042],
    expected: 0.11099999999999999,
    swapped: 0.0026666666666666666,
    r: 0.8560966886809369,
  },
  {
    task: 'close drawer',
    real: [0.63, 0.926, 0.889, 0.741, 0, 0.519],
    dreamt: [0.343, 0.861, 0.667, 0.891, 0.278, 0.444],
    expected: 0.12333333333333335,
    swapped: 0.11333333333333333,
    r: 0.7712328353682196,
  },
];

describe('mean maximum rank violation', () => {
  it.each(TASKS)('is SIMPLER’s for $task, and another number with real and dreamt swapped', (each) => {
    const { real, dreamt, expected, swapped, r } = each;
    expect(mmrv({ real, dreamt })).toBeCloseTo(expected, 13);
    expect(mmrv({ real: dreamt, dreamt: real })).toBeCloseTo(swapped, 13);
    expect(pearson(dreamt, real)).toBeCloseTo(r, 13);
  });

  it('is 0 for any dream in the right order, and does not change with the dream’s scale', () => {
    const real = [1, 5, 2, 9];
    const dreamt = [3, 1, 2, 8];
    expect(mmrv({ real, dreamt: real.map((value) => 100 + value ** 3) })).toBe(0);
    expect(mmrv({ real, dreamt: dreamt.map((value) => Math.exp(value)) })).toBe(mmrv({ real, dreamt }));
    expect(mmrv({ real: real.map((value) => 7 * value), dreamt })).toBeCloseTo(7 * mmrv({ real, dreamt })!, 12);
  });

  it('is, for the order reversed, the mean gap to the farther end', () => {
    expect(mmrv({ real: [0, 1, 4], dreamt: [2, 1, 0] })).toBeCloseTo((4 + 3 + 4) / 3, 14);
    expect(mmrvShare({ real: [0, 1, 4], dreamt: [2, 1, 0] })).toBeCloseTo(11 / 12, 14);
  });

  it('says nothing of one policy, and has no share where real returns are the same', () => {
    expect(mmrv({ real: [1], dreamt: [2] })).toBeNull();
    expect(mmrvShare({ real: [], dreamt: [] })).toBeNull();
    expect(mmrv({ real: [1, 1], dreamt: [2, 3] })).toBe(0);
    expect(mmrvShare({ real: [1, 1], dreamt: [2, 3] })).toBeNull();
    expect(() => mmrv({ real: [1, 2], dreamt: [1] })).toThrow('2 of one kind and 1 of the other');
  });
});

describe('regret', () => {
  const real = [10, 8, 5, 1];

  it('is what the best of the first k falls short of the best', () => {
    const dreamt = [1, 2, 3, 4];
    expect([1, 2, 3, 4, 9].map((k) => regretAt(k, { real, dreamt }))).toEqual([9, 5, 2, 0, 0]);
    expect(regretAt(1, { real, dreamt: real })).toBe(0);
  });

  it('gives a dream that tells nothing apart no credit for the order policies are named in', () => {
    expect(regretAt(1, { real, dreamt: [3, 3, 3, 3] })).toBe(9);
    expect(regretAt(2, { real, dreamt: [3, 3, 3, 3] })).toBe(5);
  });

  it('is null without policies, and refuses a k that is none', () => {
    expect(regretAt(1, { real: [], dreamt: [] })).toBeNull();
    expect(() => regretAt(0, { real, dreamt: real })).toThrow('k is 0');
  });
});
