// A run whose rows are lived in threads, or over a queue within this process: the same bytes, also where rows depend on earlier ones.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LaunchOptions, launch } from '../../../src/run/launch.js';
import { fileHashes } from '../../e2e/reverie.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const folder = temporaryFolder('queued');

/** Tasks from a curriculum, which go by earlier rows, some of them wrong. */
const DEPENDENT = [
  'synth.episodes=12',
  'agent={kind: reference, error: 0.3}',
  'synth.pick=curriculum',
  'tasks.curriculum.lag=6',
  'experience.logs=[]',
  'reward.mustFail.enabled=false',
  'synth.export=[openai]',
];

async function synth(name: string, options: Partial<LaunchOptions>) {
  const out = join(folder, name);
  const common = { scenario: 'helpdesk', out, quiet: true, stream: recordingStream(), command: 'reverie synth' };
  const result = await launch('synth', { ...common, ...options });
  return { result, made: { ...fileHashes(join(out, 'data')), ...fileHashes(join(out, 'datasets')) } };
}

const told = (result: object) => result as Record<string, unknown>;

it('a run that only computes makes the same bytes in any number of threads, whatever rows know of earlier ones', async () => {
  const here = await synth('unthreaded', { set: DEPENDENT });
  for (const workers of [3]) {
    const threaded = await synth(`threads-${workers}`, { set: DEPENDENT, workers });
    expect(threaded.made).toEqual(here.made);
    for (const key of ['episodes', 'accepted', 'rejected', 'success', 'answeredBy', 'cost'] as const) {
      expect(told(threaded.result)[key], key).toEqual(told(here.result)[key]);
    }
  }
});

describe('a run over a queue', () => {
  it('is refused where rows are shown what earlier ones simulated, naming the settings', async () => {
    const set = ['synth.episodes=4', 'model.llm.retrieval.sources=both', 'experience.enrich=verified'];
    const refused = synth('refused', { set, queue: 'redis://127.0.0.1:1/refused' });
    await expect(refused).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    await expect(refused).rejects.toThrow(/model\.llm\.retrieval\.sources=both with experience\.enrich=verified/);
    expect(existsSync(join(folder, 'refused'))).toBe(false);
  });

  it('is refused for scenarios of vectors, and over what is no queue, before anything is made', async () => {
    const vector = synth('vector', { scenario: 'pendulum', queue: 'redis://127.0.0.1:1/x' });
    await expect(vector).rejects.toMatchObject({ code: 'SCENARIO_UNFIT' });
    await expect(synth('nowhere', { queue: 'kafka://x/y' })).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    expect(existsSync(join(folder, 'vector')) || existsSync(join(folder, 'nowhere'))).toBe(false);
  });
});
