// Retrieval by vectors: the nearest by cosine, with an embedder of one's own or the one that needs nothing.

import { describe, expect, it } from 'vitest';
import { type Embedder, embeddedText, HashedTrigramEmbedder } from '../../../src/replay/experience/embedder.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import { dreamt, query, step, templatedSteps } from './steps.js';

const cosine = (a: Float32Array, b: Float32Array) => {
  const dot = a.reduce((sum, value, i) => sum + value * b[i], 0);
  return dot / Math.hypot(...a) / Math.hypot(...b);
};

describe('vector retrieval', () => {
  it('is brute force by cosine of hashed trigrams learnt from the real steps', async () => {
    const steps = templatedSteps(400, 3, 20);
    const store = await ExperienceStore.open({ retrieval: 'vector' });
    await store.add(steps);
    const embedder = new HashedTrigramEmbedder(steps.map(embeddedText));
    for (const { call, history } of templatedSteps(10, 4, 20)) {
      const wanted = query({ call, history });
      const target = embedder.embedNow(embeddedText(wanted));
      const expected = steps
        .map((each) => cosine(target, embedder.embedNow(embeddedText(each))))
        .sort((a, b) => b - a)
        .slice(0, 10);
      const found = store.retrieve(wanted, 10);
      found.forEach(({ score }, i) => {
        expect(score).toBeCloseTo(expected[i], 5);
      });
    }
  });

  it('honours sources, rows, tasks and quarantine', async () => {
    const store = await ExperienceStore.open({ retrieval: 'vector', enrich: 'always' });
    await store.add([step(), step({ task: 'other', observation: 'b' }), dreamt(2), dreamt(5, { modelVersion: 'bad' })]);
    const rows = (changes = {}) => store.retrieve(query(changes), 9).map((each) => each.step.row);
    expect(rows()).toEqual([-1, -1, 2, 5]);
    expect(rows({ sources: 'real' })).toEqual([-1, -1]);
    expect(rows({ beforeRow: 5 })).toEqual([-1, -1, 2]);
    expect(rows({ beforeRow: -200 })).toEqual([-1, -1]);
    expect(rows({ exceptTask: 'task-1' })).toEqual([-1]);
    await store.quarantine('bad', 'a test');
    expect(rows()).toEqual([-1, -1, 2]);
  });

  it('asks an embedder of one’s own ahead of retrieval, once a text', async () => {
    const asked: string[] = [];
    const embedder: Embedder = {
      version: 'letters',
      embed: async (texts) => {
        asked.push(...texts);
        return texts.map((text) => Float32Array.of(text.includes('T1') ? 1 : 0, text.includes('T2') ? 1 : 0, 0.1));
      },
    };
    const store = await ExperienceStore.open({ retrieval: 'vector', embedder });
    const two = step({ call: { name: 'get_ticket', arguments: { ticket_id: 'T2' } }, observation: 'two' });
    await store.add([two, step({ observation: 'one' })]);
    expect(() => store.retrieve(query(), 1)).toThrow('was not prepared');
    await Promise.all([store.prepare(query()), store.prepare(query())]);
    expect(store.retrieve(query(), 1)[0].step.observation).toBe('one');
    expect(asked).toHaveLength(3);
  });

  it('refuses vectors that do not fit', async () => {
    const lengths = [3, 3, 2];
    const embedder: Embedder = {
      version: 'odd',
      embed: async (texts) => texts.map(() => new Float32Array(lengths.shift() ?? 2).fill(1)),
    };
    const store = await ExperienceStore.open({ retrieval: 'vector', embedder });
    await store.add([step(), step({ observation: 'b' }), step({ observation: 'c' })]);
    await expect(store.prepare(query())).rejects.toMatchObject({ code: 'SETTING_INVALID' });
  });
});
