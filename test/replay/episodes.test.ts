// Whole episodes with token columns: what a plain list of them would answer, in memory and on disk.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import {
  allocate,
  drawGroups,
  EpisodeStore,
  episodeWindows,
  PrioritizedSelector,
  packedEpisodes,
  paddedEpisodes,
  RecencySelector,
  type Selector,
  shuffledBatches,
  TOKEN_EPISODES,
  TOKEN_STEPS,
  UniformSelector,
} from '../../src/replay/index.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-episodes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Episode `id`: token t is 1000 id + t, the first two were read, not drawn. */
function tokens(id: number, length: number) {
  const steps = allocate(TOKEN_STEPS, length);
  for (let t = 0; t < length; t++) {
    steps.token[t] = 1000 * id + t;
    steps.logProb[t] = t < 2 ? 0 : -t / 8;
    steps.lossMask[t] = t < 2 ? 0 : 1;
    steps.weightVersion[t] = id;
  }
  return {
    length,
    steps,
    values: { group: Float64Array.of(Math.floor(id / 4)), reward: Float32Array.of(id / 2) },
  };
}

const lengthOf = (id: number) => 3 + ((id * 7) % 11);

function filled(place: 'memory' | 'disk', episodes: number, capacity = 100, most?: number): EpisodeStore {
  const store = EpisodeStore.create({
    ...{ steps: TOKEN_STEPS, episode: TOKEN_EPISODES, capacity, episodes: most },
    folder: place === 'disk' ? join(folder, 'store') : undefined,
  });
  for (let id = 0; id < episodes; id++) store.append(tokens(id, lengthOf(id)));
  return store;
}

/** Ids that a store of such capacities still holds: the newest whose steps fit. */
function heldIds(episodes: number, capacity: number, most = Number.POSITIVE_INFINITY): number[] {
  const ids: number[] = [];
  let steps = 0;
  for (let id = episodes - 1; id >= 0 && ids.length < most; id--) {
    steps += lengthOf(id);
    if (steps > capacity) break;
    ids.unshift(id);
  }
  return ids;
}

const idsOf = (store: EpisodeStore, indices = store.held()) =>
  Array.from(indices, (index) => Number(paddedEpisodes(store, Uint32Array.of(index)).steps.weightVersion[0]));

describe.each(['memory', 'disk'] as const)('episodes in %s', (place) => {
  it.each([
    [5, 100, undefined],
    [60, 100, undefined],
    [60, 100, 4],
    [60, 1000, 9],
  ])('leave whole, the oldest first: %i in room for %i steps, %s episodes', (episodes, capacity, most) => {
    const store = filled(place, episodes, capacity, most);
    const ids = heldIds(episodes, capacity, most);
    expect(idsOf(store)).toEqual(ids);
    expect(store.size).toBe(ids.length);
    expect(store.steps).toBe(ids.reduce((sum, id) => sum + lengthOf(id), 0));
    for (const [i, index] of store.held().entries()) {
      const { steps, lengths, values } = paddedEpisodes(store, Uint32Array.of(index));
      const want = tokens(ids[i], lengthOf(ids[i]));
      expect(steps).toEqual(want.steps);
      expect([...lengths]).toEqual([want.length]);
      expect(values).toEqual(want.values);
    }
    store.close();
  });

  it('come padded and packed, in the order drawn, cut at either end', () => {
    const store = filled(place, 6);
    const indices = Uint32Array.of(4, 1, 4, 0);
    const ids = idsOf(store, indices);
    const padded = paddedEpisodes(store, indices, { names: ['token', 'lossMask'], longest: 5, keep: 'last' });
    const packed = packedEpisodes(store, indices, { names: ['token'], longest: 5, keep: 'last' });
    const kept = ids.map((id) => {
      const all = Array.from({ length: lengthOf(id) }, (_, t) => 1000 * id + t);
      return all.slice(-5);
    });
    expect(Object.keys(padded.steps)).toEqual(['token', 'lossMask']);
    expect(padded.length).toBe(Math.max(...kept.map((steps) => steps.length)));
    kept.forEach((steps, i) => {
      const row = [...padded.steps.token.subarray(i * padded.length, (i + 1) * padded.length)];
      const fill = new Array<number>(padded.length - steps.length).fill(0);
      expect(row).toEqual([...steps, ...fill]);
      const mask = [...padded.mask.subarray(i * padded.length, (i + 1) * padded.length)];
      expect(mask).toEqual([...steps.map(() => 1), ...fill]);
      expect([...packed.steps.token.subarray(packed.offsets[i], packed.offsets[i + 1])]).toEqual(steps);
    });
    expect([...(padded.values.reward as Float32Array)]).toEqual(ids.map((id) => id / 2));
    store.close();
  });

  it('are drawn alike by every selector, and none that left', () => {
    const makers: ((store: EpisodeStore) => Selector)[] = [
      (store) => new UniformSelector(store),
      (store) => new RecencySelector(store, { halfLife: 3 }),
      (store) => new PrioritizedSelector(store),
    ];
    for (const selectorOf of makers) {
      const store = filled(place, 3);
      const reference = filled('memory', 3);
      const both = [store, reference].map((each) => ({ each, selector: selectorOf(each), rng: Rng.fromSeed(5) }));
      for (let id = 3; id < 40; id++) {
        const drawn = both.map(({ each, selector, rng }) => {
          each.append(tokens(id, lengthOf(id)));
          const indices = new Uint32Array(8);
          const weights = new Float32Array(8);
          selector.sample(8, rng, indices, weights);
          const ids = idsOf(each, indices);
          expect(ids.every((drawnId) => heldIds(id + 1, 100).includes(drawnId))).toBe(true);
          selector.update?.(
            indices,
            weights.map((weight, i) => weight + (i % 3)),
          );
          return [ids, [...weights]];
        });
        expect(drawn[0]).toEqual(drawn[1]);
      }
      store.close();
    }
  });

  it('are grouped by task for comparison, each group and episode once', () => {
    const store = filled(place, 16, 1000);
    const groups = drawGroups(store, 3, 4, Rng.fromSeed(2));
    const byGroup = Array.from({ length: 3 }, (_, g) => idsOf(store, groups.subarray(g * 4, g * 4 + 4)));
    for (const ids of byGroup) {
      expect(new Set(ids.map((id) => Math.floor(id / 4))).size).toBe(1);
      expect(new Set(ids).size).toBe(4);
    }
    expect(new Set(byGroup.map(([id]) => Math.floor(id / 4))).size).toBe(3);
    expect(drawGroups(store, 3, 4, Rng.fromSeed(2))).toEqual(groups);
    expect(() => drawGroups(store, 5, 4, Rng.fromSeed(2))).toThrow(
      expect.objectContaining({ hint: 'It must be at most 4: so many groups have 4 episodes.' }),
    );
    store.close();
  });
});

describe('windows of episodes', () => {
  it('begin at aligned steps, stay within their episode and warm up only past its beginning', () => {
    const store = filled('memory', 12, 1000);
    const indices = store.held();
    const rng = Rng.fromSeed(9);
    const begun = new Set<number>();
    for (let round = 0; round < 40; round++) {
      const { steps, mask, learned, from } = episodeWindows(store, indices, rng, { length: 4, stride: 3, burnIn: 2 });
      idsOf(store, indices).forEach((id, w) => {
        begun.add(from[w]);
        expect(from[w] % 3).toBe(0);
        const shown = Math.min(4, lengthOf(id) - from[w]);
        expect(shown).toBeGreaterThan(0);
        for (let t = 0; t < 4; t++) {
          expect(steps.token[w * 4 + t]).toBe(t < shown ? 1000 * id + from[w] + t : 0);
          expect(mask[w * 4 + t]).toBe(t < shown ? 1 : 0);
          expect(learned[w * 4 + t]).toBe(t < shown && (from[w] === 0 || t >= 2) ? 1 : 0);
        }
      });
    }
    expect([...begun].sort((a, b) => a - b)).toEqual([0, 3, 6, 9]);
  });
});

describe('a store of episodes', () => {
  it('goes on after it was opened again, without what was not whole', () => {
    const store = filled('disk', 20);
    store.flush();
    store.append(tokens(20, 8));
    store.close();
    const reopened = EpisodeStore.open(join(folder, 'store'));
    expect(idsOf(reopened)).toEqual(heldIds(20, 100));
    for (let id = 20; id < 30; id++) reopened.append(tokens(id, lengthOf(id)));
    expect(idsOf(reopened)).toEqual(heldIds(30, 100));
    reopened.close();
  });

  it('refuses what does not fit, and changes nothing', () => {
    const store = filled('memory', 5);
    const refuse = (episode: object, message: RegExp) =>
      expect(() => store.append({ ...tokens(9, 4), ...episode })).toThrow(message);
    refuse({ length: 5 }, /"token" has 4 values where 5/);
    refuse({ values: { group: Float64Array.of(1) } }, /Column "reward" does not fit the schema: it is missing/);
    refuse(tokens(9, 101), /An episode of 101 steps cannot be stored: the store keeps 100/);
    expect(idsOf(store)).toEqual([0, 1, 2, 3, 4]);
    expect(() => paddedEpisodes(store, Uint32Array.of(5))).toThrow(/Row 5 does not exist/);
    expect(() => EpisodeStore.create({ steps: TOKEN_STEPS, episode: TOKEN_STEPS, capacity: 0 })).toThrow(
      /capacity = 0/,
    );
  });

  it('is passed over once in random order, in minibatches', () => {
    const batches = [
      ...shuffledBatches(
        Uint32Array.from({ length: 10 }, (_, i) => 10 + i),
        4,
        Rng.fromSeed(1),
      ),
    ];
    expect(batches.map((batch) => batch.length)).toEqual([4, 4, 2]);
    expect(batches.flatMap((batch) => [...batch]).sort()).toEqual(Array.from({ length: 10 }, (_, i) => 10 + i));
    expect(batches.flatMap((batch) => [...batch])).not.toEqual(Array.from({ length: 10 }, (_, i) => 10 + i));
  });
});
