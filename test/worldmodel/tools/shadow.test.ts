// Shadow steps: they change nothing, and what they find depends on no order.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import { episodeWeight } from '../../../src/worldmodel/tools/checks.js';
import { ShadowEstimates, shadowResponder, trustHorizon, wilson } from '../../../src/worldmodel/tools/shadow.js';
import { deskDomain, deskQuery, realDesk } from './desk.js';

const domain = deskDomain();

/** As the real desk, but every call with `seed` below `errors` says it was done and does nothing. */
function dreamt(errors: number): Responder {
  return {
    version: 'dreamt',
    answer: async (query) => {
      const right = await realDesk.answer(query);
      const answer = query.seed < errors ? { ...right, operations: [], observation: 'Ticket T1001  closed' } : right;
      return { ...answer, backend: 'llm', confidence: 0.5, claimed: { reward: 1, terminated: false } };
    },
    close: () => {},
  };
}

const closing = (row: number, seed: number) => deskQuery('close_ticket', { ticket_id: 'T1001' }, { domain, row, seed });

describe('a shadow', () => {
  it('counts wrong states that look right, and answers as if it were not there', async () => {
    const shadow = shadowResponder({ responder: dreamt(3), real: realDesk, share: 1, seed: 1 });
    for (let seed = 0; seed < 10; seed++) {
      const query = closing(4, seed);
      expect(await shadow.answer(query)).toEqual(await dreamt(3).answer(query));
    }
    await shadow.answer(closing(4, 9));
    const row = shadow.takeRow(4);
    expect(row).toEqual({
      llm: expect.objectContaining({ steps: 10, wrongStates: 3, wrongObservations: 0, wrongStatus: 0, rewards: 0 }),
    });
    expect(shadow.takeRow(4)).toEqual({});
  });

  it('compares a seeded share of calls, the same whenever they come', async () => {
    const compared = async (order: number[]) => {
      const shadow = shadowResponder({ responder: dreamt(0), real: realDesk, share: 0.3, seed: 7 });
      for (const seed of order) await shadow.answer(closing(0, seed));
      return shadow.takeRow(0).llm.steps;
    };
    const seeds = Array.from({ length: 200 }, (_, i) => i);
    const steps = await compared(seeds);
    expect(steps).toBe(await compared([...seeds].reverse()));
    expect(steps).toBeGreaterThan(35);
    expect(steps).toBeLessThan(85);
  });

  it('goes on where the real environment fails, and says so', async () => {
    const broken: Responder = { ...realDesk, answer: () => Promise.reject(new Error('down')) };
    const shadow = shadowResponder({ responder: dreamt(0), real: broken, share: 1, seed: 1 });
    await shadow.answer(closing(0, 1));
    expect(shadow.takeRow(0).llm).toMatchObject({ steps: 0, unanswered: 1 });
  });
});

describe('estimates', () => {
  const counts = (wrongStates: number, rewardError = 0) => ({
    llm: {
      steps: 50,
      wrongStates,
      wrongStatus: 0,
      wrongObservations: 5,
      rewards: 3,
      wrongRewards: 1,
      rewardError,
      unanswered: 0,
    },
  });

  it('do not depend on the order of rows, and survive being written', () => {
    const order = [...Rng.fromSeed(3).permutation(40)];
    const [a, b] = [new ShadowEstimates(), new ShadowEstimates()];
    for (let row = 0; row < 40; row++) a.addRow(row, counts(row % 3, row / 7));
    for (const row of order) b.addRow(row, counts(row % 3, row / 7));
    b.addRow(3, counts(0, 3 / 7));
    expect(b.report()).toEqual(a.report());
    expect(ShadowEstimates.fromJSON(JSON.parse(JSON.stringify(b))).report()).toEqual(a.report());
    expect(a.counts(10).all.steps).toBe(500);
    expect(a.report({ beforeRow: 10 }).byBackend.llm.observation.value).toBeCloseTo(0.1);
  });

  it('have the intervals of Wilson', () => {
    // Agresti & Coull 1998: 0 of 10 and 5 of 10 at 95 %.
    expect(wilson(0, 10)).toMatchObject({ value: 0, low: 0, high: expect.closeTo(0.2775, 4) });
    expect(wilson(5, 10)).toMatchObject({ low: expect.closeTo(0.2366, 4), high: expect.closeTo(0.7634, 4) });
    expect(wilson(0, 0)).toEqual({ value: null, low: 0, high: 1 });
  });

  it('trust as many steps as the bound allows, and none unmeasured', () => {
    const measured = { ...counts(2).llm, steps: 500 };
    const upper = wilson(2, 500).high;
    const horizon = trustHorizon(measured, 0.2);
    expect(1 - (1 - upper) ** horizon).toBeLessThanOrEqual(0.2);
    expect(1 - (1 - upper) ** (horizon + 1)).toBeGreaterThan(0.2);
    expect(trustHorizon({ ...measured, steps: 0, wrongStates: 0 }, 0.2)).toBe(0);
    expect(trustHorizon({ ...measured, wrongStates: 500 }, 0.2)).toBe(0);
  });
});

describe('the weight of an episode', () => {
  it('falls by each answer that is less sure than it should be', () => {
    const sure = { confidence: 0.8 };
    expect(episodeWeight([], { downWeightBelow: 0.5 })).toBe(1);
    expect(episodeWeight([sure, { confidence: 0.25 }, { confidence: 0.4 }], { downWeightBelow: 0.5 })).toBeCloseTo(0.4);
    expect(episodeWeight([sure, { confidence: 0 }], { downWeightBelow: 0.5 })).toBe(0);
    expect(episodeWeight([{ confidence: 0 }], { downWeightBelow: 0 })).toBe(1);
  });
});
