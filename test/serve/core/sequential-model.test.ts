// Many clients at once against the sessions of one server. Whatever was answered must be what one would see who did the
// same things one after another: nothing lost, nothing doubled, nothing half done.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { SessionEvent } from '../../../src/serve/core/session-contract.js';
import { Sessions } from '../../../src/serve/core/sessions.js';
import { expectedObservations, type Hindrance, servedCounter } from './doubles.js';
import { type Entry, RandomClient, type Tally } from './random-clients.js';

const LENGTH = 12;
const CLIENTS = 24;
const OPERATIONS = 100;

/** Slow now and then, in ways that listen to being called off and ways that do not, and failing now and then. */
function moody(rng: Rng): Hindrance {
  return (what, _, signal) => {
    const draw = rng.uniform();
    if (draw < 0.5) return;
    if (draw < 0.8) return new Promise((resolve) => setImmediate(resolve));
    if (draw < 0.9) return new Promise((resolve) => setTimeout(resolve, 1 + rng.int(4)));
    if (draw < 0.96) {
      return new Promise((resolve, reject) => {
        setTimeout(resolve, 4);
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    }
    throw new Error(`${what} failed`);
  };
}

function check({ what, model, turn }: Entry): void {
  const { seed, actions, reseeded } = model;
  const expected = expectedObservations(seed, actions, LENGTH, reseeded).at(-1);
  const sum = actions.reduce((total, action) => total + Number(action.slice(4)), 0);
  expect(turn, what).toMatchObject({
    observation: expected,
    stepCount: actions.length,
    return: sum,
    terminated: actions.length === LENGTH,
  });
}

describe.each([
  { seed: 1, canMark: true, slots: 1000 },
  { seed: 4, canMark: false, slots: 20 },
])('clients at random ($seed), with marks: $canMark, $slots slots', ({ seed, canMark, slots }) => {
  it('see what they would one after another', async () => {
    const rng = Rng.fromSeed(seed);
    const hinder = moody(rng.split('environment'));
    const limits = { slots, slotWaitSeconds: 0.02 };
    const table = new Sessions([servedCounter({ length: LENGTH, canMark, hinder })], { limits });
    const told: SessionEvent[] = [];
    table.events.on('event', (event) => told.push(event));
    const tally: Tally = { entries: [], outcomes: new Map() };
    const clients = Array.from(
      { length: CLIENTS },
      (_, i) => new RandomClient(table, rng.split('client', i), i, tally, LENGTH),
    );
    await Promise.all(clients.map((client) => client.live(OPERATIONS)));
    for (const entry of tally.entries) check(entry);
    const { outcomes } = tally;
    const countOf = (...names: string[]) => names.reduce((sum, name) => sum + (outcomes.get(name) ?? 0), 0);
    const toldOf = (kind: SessionEvent['kind']) => told.filter((event) => event.kind === kind).length;
    expect(toldOf('step')).toBe(countOf('step', 'race'));
    expect(toldOf('restored')).toBe(countOf('restore'));
    expect(countOf('a repeated request was answered otherwise', 'a repeated step was answered otherwise')).toBe(0);
    for (const what of [
      'step',
      'race',
      'reset',
      'fork',
      'group',
      'restore',
      'repeated',
      'STEP_DEADLINE',
      'client left',
    ]) {
      expect(countOf(what), what).toBeGreaterThan(0);
    }
    expect(countOf('CAPACITY_REACHED') > 0).toBe(slots < 1000);
    await table.drain(0);
    expect(table.counts).toMatchObject({ open: 0, active: 0, waiting: 0 });
    expect(table.counts.closed.lost).toBe(told.filter((one) => one.kind === 'closed' && one.reason === 'lost').length);
    expect(toldOf('opened')).toBe(toldOf('closed'));
  });
});
