// Retrieval answers exactly what the slow reference answers, whatever may be seen, and fast.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { ExperienceStep, RetrievalQuery } from '../../../src/replay/experience/experience.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import { callTokens, historyTokens } from '../../../src/replay/experience/terms.js';
import { referenceSearch } from './reference-search.js';
import { query, simulated, step, templatedCall, templatedSteps } from './steps.js';

const ids = (found: readonly { step: ExperienceStep; score: number }[]) =>
  found.map(({ step: { source, row, observation }, score }) => `${source} ${row} ${observation} ${score.toFixed(4)}`);

/** Real steps, and simulated ones of two models whose rows come in any order. */
function mixedSteps(seed: number): ExperienceStep[] {
  const rng = Rng.fromSeed(seed).split('mixed');
  const real = templatedSteps(300, seed, 12);
  const rows = rng.permutation(40);
  const synthetic = templatedSteps(240, seed + 1, 12).map((each, n) =>
    simulated(rows[Math.floor(n / 6)], {
      ...each,
      source: 'synthetic',
      backend: 'llm',
      row: rows[Math.floor(n / 6)],
      modelVersion: n % 2 === 0 ? 'model-a' : 'model-b',
    }),
  );
  return [...real, ...synthetic];
}

function someQueries(seed: number): RetrievalQuery[] {
  const rng = Rng.fromSeed(seed).split('queries');
  const histories = templatedSteps(60, seed + 9, 12);
  return Array.from({ length: 12 }, (_, n) => ({
    call: templatedCall(rng, 12),
    history: rng.uniform() < 0.6 ? histories[n].history : [],
    sources: rng.uniform() < 0.3 ? 'real' : 'both',
    ...(rng.uniform() < 0.5 ? { beforeRow: rng.int(90) - 45 } : {}),
    ...(rng.uniform() < 0.3 ? { exceptTask: `t${rng.int(7)}` } : {}),
  }));
}

describe('lexical retrieval', () => {
  it.each([1, 2])('ranks as the reference does, seed %i', async (seed) => {
    const steps = mixedSteps(seed);
    const store = await ExperienceStore.open({ enrich: 'always', maxSteps: 100 });
    for (let at = 0; at < steps.length; at += 37) await store.add(steps.slice(at, at + 37));
    for (const each of someQueries(seed)) {
      for (const k of [1, 20]) {
        const expected = referenceSearch(steps, each, k, { maxSteps: 100 });
        expect(ids(store.retrieve(each, k))).toEqual(ids(expected));
      }
    }
  });

  it('leaves out what cannot be among the best, and loses nothing by it', async () => {
    const steps = templatedSteps(600, 5, 100);
    const store = await ExperienceStore.open();
    await store.add(steps);
    for (const { call, history } of templatedSteps(8, 6, 100)) {
      const each = query({ call, history });
      expect(ids(store.retrieve(each, 20))).toEqual(ids(referenceSearch(steps, each, 20)));
    }
  });

  it('answers the same whatever order rows came in, and whatever later rows simulated', async () => {
    const steps = mixedSteps(8);
    const [one, other] = await Promise.all([1, 2].map(() => ExperienceStore.open({ enrich: 'always', maxSteps: 50 })));
    await one.add(steps);
    const isEarly = (each: ExperienceStep) => each.row < 20;
    const byRow = [...steps].sort((a, b) => a.row - b.row);
    await other.add(byRow.filter(isEarly));
    for (const each of someQueries(8)) {
      const early = { ...each, beforeRow: 20 };
      expect(one.retrieve(early, 20)).toEqual(other.retrieve(early, 20));
    }
  });

  it('keeps of equal steps the one of the earliest row, whichever came first', async () => {
    for (const order of [
      [7, 3],
      [3, 7],
    ]) {
      const store = await ExperienceStore.open({ enrich: 'always' });
      const added = [];
      for (const row of order) added.push(await store.add([simulated(row)]));
      expect(store.size).toBe(1);
      expect(added).toEqual([1, order[0] === 3 ? 0 : 1]);
      expect(store.retrieve(query({ beforeRow: 5 }), 5).map((each) => each.step.row)).toEqual([3]);
    }
  });

  it('prefers the same identifier, then its like, and the call over what went before', async () => {
    const store = await ExperienceStore.open();
    const get = (id: string, history: string[] = []) =>
      step({ call: { name: 'get_ticket', arguments: { ticket_id: id } }, history, observation: id });
    await store.add([
      get('T-2'),
      get('T-1'),
      get('T-3', ['get_ticket({"ticket_id":"T-1"})']),
      step({ call: { name: 'list_tags', arguments: {} }, observation: 'tags' }),
    ]);
    const found = store.retrieve(query({ call: { name: 'get_ticket', arguments: { ticket_id: 'T-1' } } }), 10);
    expect(found.map((each) => each.step.observation)).toEqual(['T-1', 'T-3', 'T-2']);
    expect(found[0].score).toBeGreaterThan(found[1].score);
  });
});

describe('tokens', () => {
  it('keep identifiers whole and in parts', () => {
    const call = { name: 'getUser', arguments: { user_id: 'mia_li_3668', flags: [true, 4.5, null] } };
    expect(callTokens(call)).toEqual([
      ...['getuser', 'get', 'user', 'user_id', 'user', 'id'],
      ...['mia_li_3668', 'mia', 'li', '3668', 'flags', 'true', '4.5', '4', '5'],
    ]);
    expect(historyTokens('get({"a":"x y","b":{"c":"T1"}})')).toEqual(['get', 'x', 'y', 't1']);
  });

  it('are bounded, whatever is called', () => {
    let deep: Record<string, unknown> = { end: 'bottom' };
    for (let i = 0; i < 5000; i++) deep = { deep };
    const tokens = callTokens({
      name: 'x'.repeat(10_000),
      arguments: { deep: deep as never, long: 'word '.repeat(1e5) },
    });
    expect(tokens.length).toBeLessThanOrEqual(256);
    expect(Math.max(...tokens.map((token) => token.length))).toBe(64);
  });
});
