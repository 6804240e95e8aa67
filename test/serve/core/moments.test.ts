// What is kept of an episode is what happened in it, whatever it is made of.

import { expect, it } from 'vitest';
import { type EpisodeStep, EpisodeSteps, stepOf } from '../../../src/serve/core/history.js';
import type { Action, Turn } from '../../../src/serve/core/session-contract.js';

const turn = (stepCount: number, given: Partial<Turn> = {}): Turn => ({
  observation: Float32Array.of(stepCount, 0.1, -1),
  reward: stepCount / 3,
  terminated: false,
  truncated: false,
  info: {},
  episodeId: 'e',
  stepCount,
  return: stepCount ** 2,
  ...given,
});

function filled(count: number, given: (i: number) => Partial<Turn> = () => ({})): EpisodeSteps {
  const moments = new EpisodeSteps();
  for (let i = 0; i < count; i++) moments.push(stepOf(i === 0 ? null : Float32Array.of(i), turn(i, given(i)), i / 7));
  return moments;
}

const told = ({
  action,
  turn: { observation, reward, terminated, truncated, info, stepCount, return: sum },
}: EpisodeStep) => {
  return { action, observation, reward, terminated, truncated, info, stepCount, return: sum };
};
const counts = (moments: EpisodeSteps) => moments.all().map(({ turn: { stepCount } }) => stepCount);
const upTo = (count: number, from = 0) => Array.from({ length: count - from }, (_, i) => from + i);

it('gives back what was put in: rows, words, messages, ends that nobody judged', () => {
  const messages = { messages: [{ role: 'user', content: 'hello' }] };
  const info = { predictions: [] };
  const given: [Action | null, Turn][] = [
    [null, turn(0, { reward: null, return: 0 })],
    [Float32Array.of(0.5), turn(1)],
    ['go north', turn(2, { observation: 'a room', reward: -0 })],
    [{ content: 'hi' }, turn(3, { observation: messages, info })],
    [new Float32Array(40).fill(2), turn(4, { observation: new Float32Array(100).fill(0.25) })],
    [Float32Array.of(1, 2), turn(5, { reward: null, return: null, terminated: true })],
    [Float32Array.of(), turn(6, { observation: Float32Array.of(), truncated: true })],
  ];
  const moments = new EpisodeSteps();
  for (const [action, one] of given) moments.push(stepOf(action, one, one.stepCount / 7));
  expect(moments.all().map(told)).toEqual(given.map(([action, { episodeId: _, ...rest }]) => ({ action, ...rest })));
  expect(moments.all().map(({ seconds }) => seconds)).toEqual(upTo(7).map((i) => i / 7));
  expect(moments.all()[3].turn.info).toBe(info);
});

it('keeps many, and drops the oldest', () => {
  const moments = filled(300);
  const { bytes } = moments;
  expect(counts(moments)).toEqual(upTo(300));
  for (let i = 0; i < 137; i++) moments.dropOldest();
  expect([counts(moments), moments.length]).toEqual([upTo(300, 137), 163]);
  expect(moments.bytes).toBeLessThan(bytes * 0.6);
  for (let i = 0; i < 163; i++) moments.dropOldest();
  expect([counts(moments), moments.length, moments.bytes]).toEqual([[], 0, 0]);
  moments.push(stepOf('again', turn(1), 0));
  expect(counts(moments)).toEqual([1]);
});

it.each([0, 7, 8, 100, 299])('branches at turn %d, and neither branch shows in the other', (at) => {
  const moments = filled(300);
  const branch = moments.endingWith(turn(at))!;
  expect([counts(branch), branch.length]).toEqual([upTo(at + 1), at + 1]);
  branch.push(stepOf('left', turn(at + 1, { observation: 'left' }), 0));
  moments.push(stepOf('right', turn(300, { observation: 'right' }), 0));
  expect(branch.all().at(-1)?.action).toBe('left');
  expect(counts(moments)).toEqual(upTo(301));
  branch.dropOldest();
  expect([counts(branch), counts(moments).length]).toEqual([upTo(at + 2, 1), 301]);
  while (branch.length > 0) branch.dropOldest();
  expect(branch.bytes).toBe(0);
});

it('branches nowhere else: another step, return or observation, or one that was dropped', () => {
  const moments = filled(20, (i) => (i === 3 ? { observation: { messages: [] } } : {}));
  moments.dropOldest();
  expect(moments.endingWith(turn(0))).toBeUndefined();
  expect(moments.endingWith(turn(20))).toBeUndefined();
  expect(moments.endingWith(turn(5, { return: 1 }))).toBeUndefined();
  expect(moments.endingWith(turn(5, { observation: Float32Array.of(5, 0.1, 1) }))).toBeUndefined();
  expect(moments.endingWith(turn(3, { observation: { messages: [] } }))).toBeUndefined();
  expect(counts(moments.endingWith(turn(5))!)).toEqual(upTo(6, 1));
});
