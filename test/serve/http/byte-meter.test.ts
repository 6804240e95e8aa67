import { expect, it } from 'vitest';
import { ByteMeter } from '../../../src/serve/http/sockets.js';

it("counts each owner's bytes, and begins anew each minute", () => {
  let now = 0;
  const meter = new ByteMeter(() => now);
  const alice = { owner: 'alice', operator: false, quota: { bytesPerMinute: 100 } };
  const bob = { owner: 'bob', operator: false, quota: {} };
  meter.add('alice', 60);
  meter.add('bob', 1e9);
  meter.check(alice);
  meter.check(bob);
  meter.add('alice', 60);
  expect(() => meter.check(alice)).toThrow('The quota of bytes per minute is used up: 120 of 100.');
  meter.check(bob);
  now = 60_000;
  meter.check(alice);
});
