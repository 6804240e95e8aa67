// The alarm of the echo trap: all of its signs together, and none of them alone.

import { expect, it } from 'vitest';
import { echoTrap, type WatchedRound } from '../../../src/rl/group-estimators.js';

const lively: WatchedRound = { spread: 0.4, entropy: 1, repetition: 0.1, success: 0.3 };
const stuck: WatchedRound = { spread: 0.02, entropy: 0.1, repetition: 0.6, success: 0.1 };
const rounds = (now: WatchedRound) => [...Array(6).fill(lively), ...Array(4).fill(now)] as WatchedRound[];

it('is told with what fell and rose', () => {
  expect(echoTrap(rounds(stuck))).toMatch(/^echo trap: .*0\.40 to 0\.02.*1\.00 to 0\.10.*0\.10 to 0\.60$/);
});

it.each(['spread', 'entropy', 'repetition'] as const)('is none without a change of %s', (key) => {
  expect(echoTrap(rounds({ ...stuck, [key]: lively[key] }))).toBeUndefined();
});

it('is none where nearly all is won, nor before there is anything to compare with', () => {
  expect(echoTrap(rounds({ ...stuck, success: 0.9 }))).toBeUndefined();
  expect(echoTrap([lively, lively, stuck, stuck, stuck, stuck])).toBeUndefined();
});
