// Tasks for the tests of the pool.

import { setTimeout } from 'node:timers/promises';

export const double = { run: async (values) => values.map((value) => 2 * value) };

export const count = {
  run: async (upTo, { report }) => {
    for (let i = 0; i < upTo; i++) report(i);
    return 'counted';
  },
};

export const fail = {
  run: async (message) => {
    throw new Error(message);
  },
};

export const wait = {
  run: async (ms, { stop }) => {
    const end = Date.now() + ms;
    while (Date.now() < end && Atomics.load(stop, 0) === 0) await setTimeout(1);
    if (Atomics.load(stop, 0) !== 0) throw new Error('stopped');
    return 'waited';
  },
};

export const die = {
  run: async (lives) => {
    if (Atomics.sub(lives, 0, 1) > 0) process.exit(1);
    return 'survived';
  },
};
