// A sequence model learned from tries of a small world of ours: what it foretells in a room it never saw, what it keeps to as a backend
// of the router, and what it refuses.

import { cpSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import { Rng } from '../../../src/core/rng.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { initialStateOf } from '../../../src/env/tools/situation.js';
import { fitSequence, type SequenceFitRequest } from '../../../src/worldmodel/sequence/fit.js';
import {
  loadSequence,
  type SequenceContents,
  SequenceModel,
  saveSequence,
  versionOf,
} from '../../../src/worldmodel/sequence/sequence-model.js';
import { sequenceSection } from '../../../src/worldmodel/sequence/settings.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { depot } from '../../games/depot.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { toolsBackendContract } from '../tools/contract.js';
import { depotEpisodes } from './depot-records.js';

const TINY = { rows: 4, length: 128, hidden: 64, layers: 2, heads: 2, kvHeads: 1, vocabulary: 450, heldOut: 0.5 };

const root = temporaryFolder('sequence');

const domain = depot(['one', 'two', 'three', 'other']);
const episodes = depotEpisodes(domain, [1, 2, 3, 4, 5, 6], 40);

function fitted(given: Partial<SequenceFitRequest> = {}, fit: object = {}): Promise<SequenceContents> {
  const settings = sequenceSection.parse({ fit: { ...TINY, learningRate: 4e-3, steps: 300, ...fit } });
  return fitSequence({ domain, episodes, settings, rng: Rng.fromSeed(1), ...given });
}

const router = (given: object, backends: readonly string[] = ['sequence'], world: ToolsDomain = domain) =>
  makeRouter(parseToolsModelConfig({ backends: [...backends], sequence: given }), { domain: world, folder: root });

const call = (text: string, id = 'call-0') => ({ id, name: 'act', arguments: { text } });

function query(text: string, task = domain.tasks[0]) {
  const state = initialStateOf(domain, task);
  return { domain, task, state, messages: [], call: call(text), step: 0, seed: 1 };
}

let contents: SequenceContents;
beforeAll(async () => {
  contents = await fitted();
  await saveSequence(join(root, 'good', 'model'), contents);
}, 120_000);

describe('a sequence model', () => {
  it('is mostly right on steps of games that it never saw, and where it is sure', () => {
    const { report } = contents;
    expect(report.learnedFrom + report.steps).toBeGreaterThan(600);
    expect(report.stateExact).toBeGreaterThan(0.6);
    expect(report.exactOfSure).toBeGreaterThan(0.85);
    expect(report.byChanges.reduce((sum, { steps }) => sum + steps, 0)).toBe(report.steps);
  });

  it('answers calls at the same time as it answers them one by one', async () => {
    const model = new SequenceModel(contents);
    const texts = ['look', 'go to cellar', 'open chest', 'take apple from chest', 'switch torch'];
    const together = await Promise.all(texts.map((text) => model.predict(query(text), {})));
    for (const [i, text] of texts.entries()) expect(await model.predict(query(text), {})).toEqual(together[i]);
  });

  it('leaves what it doubts to the next backend, and says so', async () => {
    const asked = await router({ model: 'good', minConfidence: 1, minExactness: 0 }, ['sequence', 'rules']);
    const answer = await asked.answer(query('go to cellar'));
    expect(answer.backend).toBe('rules');
    expect(answer.why[0]).toMatch(/^sequence: confidence 0\.\d+ is below 1$/);
  });

  it('gives no reward and ends nothing, whatever it claims', async () => {
    const asked = await router({ model: 'good', minConfidence: 0, minExactness: 0 });
    const answer = await asked.answer(query('go to cellar'));
    expect(answer).toMatchObject({ backend: 'sequence', reward: null, terminated: false, cost: NO_COST });
    expect(answer.operations).toEqual([
      { op: 'remove', path: '/facts/at/robby, hall' },
      { op: 'add', path: '/facts/at/robby, cellar', value: true },
    ]);
    expect(answer.observation).toBe('You are in the cellar.');
  });
});

describe('as a backend', () => {
  toolsBackendContract({
    domain,
    backend: 'sequence',
    calls: ['go to cellar', 'go to hall', 'open chest', 'close shelf'].map((text) => ({
      name: 'act',
      arguments: { text },
    })),
    make: async () => {
      const responder = await router({ model: 'good', minConfidence: 0, minExactness: 0 });
      return { responder, spent: () => NO_COST };
    },
  });
});

describe('a fit', () => {
  const few = depotEpisodes(domain, [1], 25);
  const short = { steps: 20, hidden: 32, layers: 1, heads: 1 };

  it('gives the same bytes again, and after it was stopped', async () => {
    const whole = await fitted({ episodes: few }, short);
    const stop = new AbortController();
    const work = join(root, 'work');
    const stopped = fitted(
      { episodes: few, work, signal: stop.signal, onProgress: ({ done }) => done >= 10 && stop.abort() },
      short,
    );
    await expect(stopped).rejects.toThrow(/abort/);
    const notes: number[] = [];
    const resumed = await fitted(
      { episodes: few, work, onProgress: ({ phase, done }) => phase === 'train' && notes.push(done) },
      short,
    );
    expect(notes).toEqual([15, 20]);
    for (const [name, own] of [
      ['whole', whole],
      ['resumed', resumed],
    ] as const)
      await saveSequence(join(root, name), own);
    for (const file of readdirSync(join(root, 'whole'))) {
      expect(readFileSync(join(root, 'resumed', file)), file).toEqual(readFileSync(join(root, 'whole', file)));
    }
  }, 60_000);
});

describe('a model in a folder', () => {
  /** A copy of the good one, changed. */
  function changed(name: string, change: (folder: string) => void): object {
    const folder = join(root, name);
    cpSync(join(root, 'good', 'model'), folder, { recursive: true });
    change(folder);
    return { model: name, minExactness: 0 };
  }

  it('is the same when it is read', async () => {
    expect(versionOf(await loadSequence(join(root, 'good')))).toBe(versionOf(contents));
  });

  it('is kept out of use until it is good enough, unless forced', async () => {
    await expect(router({ model: 'good', minExactness: 1 })).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
    await expect(router({ model: 'good', minExactness: 1 })).rejects.toThrow(
      /exactly right in \d\d\.\d % of what was kept from it, and the bar is 100 %/,
    );
    await expect(router({ model: 'good', minExactness: 0 })).resolves.toBeDefined();
  });

  it('is refused where it is not whole, in one sentence', async () => {
    await expect(router({ model: 'nowhere' })).rejects.toThrow(
      /World model ".*nowhere" cannot be loaded: "sequence.json"/,
    );
    const half = changed('half', (folder) => {
      const path = join(folder, 'model.safetensors');
      truncateSync(path, readFileSync(path).length / 2);
    });
    await expect(router(half)).rejects.toThrow(/model\.safetensors was changed after it was written/);
    const cut = changed('cut', (folder) => truncateSync(join(folder, 'sequence.json'), 100));
    await expect(router(cut)).rejects.toThrow(/sequence\.json is damaged/);
  });
});
