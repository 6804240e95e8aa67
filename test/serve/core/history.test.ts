// What onlookers are told of an episode.

import { afterEach, expect, it } from 'vitest';
import { Histories } from '../../../src/serve/core/history.js';
import { type SessionState, sessionKey, type Turn } from '../../../src/serve/core/session-contract.js';
import { Sessions } from '../../../src/serve/core/sessions.js';
import { expectedObservations, owner, servedCounter } from './doubles.js';

const tables: Sessions[] = [];
afterEach(async () => {
  for (const table of tables.splice(0)) await table.drain(0);
});

function begun() {
  const table = new Sessions([servedCounter({ length: 100 })]);
  tables.push(table);
  return { table, id: table.open({ owner }).id };
}

it('tells the turns of the episode in order, and no others', async () => {
  const { table, id } = begun();
  expect(table.history(sessionKey(owner, id))).toMatchObject({ session: { id, status: 'idle' }, steps: [] });
  await table.reset(id, { seed: 1 }, owner);
  await table.reset(id, { seed: 3 }, owner);
  for (const n of [1, 2]) await table.step(id, { action: `add ${n}` }, owner);
  const left = new AbortController();
  left.abort('left');
  await expect(table.step(id, { action: 'add 1' }, owner, left.signal)).rejects.toBe('left');
  const { session, steps } = table.history(sessionKey(owner, id));
  expect(session.stepCount).toBe(2);
  expect(
    steps.map(({ action, turn: { stepCount: index, observation, reward } }) => ({
      index,
      action,
      observation,
      reward,
    })),
  ).toEqual(
    expectedObservations(3, ['add 1', 'add 2']).map((observation, index) => ({
      index,
      action: index === 0 ? null : `add ${index}`,
      observation,
      reward: index === 0 ? null : index,
    })),
  );
});

it('goes on from where a fork or a restored session does, and outlives the session', async () => {
  const { table, id } = begun();
  await table.reset(id, { seed: 3 }, owner);
  const { id: snapshot } = await table.snapshot(id, owner);
  await table.step(id, { action: 'add 1' }, owner);
  const [fork] = await table.fork(id, 1, owner);
  await table.restore(id, snapshot, owner);
  await table.step(id, { action: 'add 2' }, owner);
  expect(table.history(sessionKey(owner, id)).steps.map(({ turn, action }) => [turn.stepCount, action])).toEqual([
    [0, null],
    [1, 'add 2'],
  ]);
  expect(table.history(sessionKey(owner, fork.id)).steps.map(({ turn, action }) => [turn.stepCount, action])).toEqual([
    [0, null],
    [1, 'add 1'],
  ]);
  await table.close(id, owner);
  expect(table.history(sessionKey(owner, id)).steps).toHaveLength(2);
  expect(() => table.state(id, owner)).toThrow();
});

it('keeps the latest steps within its bounds, and the sessions used last', () => {
  const histories = new Histories({ steps: 3, bytes: 20_000 });
  const session = (id: string) => ({ id, owner, env: 'x' }) as SessionState;
  const turn = (stepCount: number): Turn => ({
    observation: Float32Array.of(stepCount, -0),
    reward: 0,
    terminated: false,
    truncated: false,
    info: {},
    episodeId: 'e',
    stepCount,
    return: 0,
  });
  const step = (id: string, n: number) =>
    histories.record({ kind: 'step', session: session(id), action: Float32Array.of(1), turn: turn(n), seconds: 0 });
  for (let n = 1; n <= 5; n++) step('a', n);
  expect(histories.of(sessionKey(owner, 'a'))?.steps.map(({ turn }) => turn.stepCount)).toEqual([3, 4, 5]);
  for (let other = 0; other < 100; other++) step(`other ${other}`, 1);
  expect(histories.of(sessionKey(owner, 'a'))).toBeUndefined();
  expect(histories.of(sessionKey(owner, 'other 99'))?.steps).toHaveLength(1);
});
