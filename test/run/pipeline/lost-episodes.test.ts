// A browser that ends, or a page that cannot be loaded, costs the episode it was met in, which is begun again a few times; the job that
// lives many goes on. A double of the rules of a small game says that its browser ended.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { reverieError } from '../../../src/core/errors.js';
import { Rng } from '../../../src/core/rng.js';
import type { DomainEntry, ToolsDomain } from '../../../src/env/tools/domain.js';
import { domains } from '../../../src/env/tools/domains.js';
import type { ToolCall } from '../../../src/env/tools/message.js';
import type { TextPolicy } from '../../../src/rl/text/text-policy.js';
import { launch } from '../../../src/run/launch.js';
import type { RealEpisodesResult } from '../../../src/run/pipeline/tools/episodes.js';
import type { TextTrainResult } from '../../../src/run/pipeline/tools/train-policy.js';
import { playTexts } from '../../../src/training/text-play.js';
import { jsonLines } from '../../data.js';
import { attic, attics } from '../../rl/text/attic-training.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const home = temporaryFolder('lost');

/** Times that the browser ends at an action of a task. */
let deaths: Record<string, number> = {};
/** Times that its page fails there, before it holds. */
let throws: Record<string, number> = {};

function fragile(): ToolsDomain {
  const domain = attics();
  const rules = Object.assign(Object.create(domain.rules!), {
    execute: (state: JsonObject, call: ToolCall) => {
      const page = String(state['game']);
      const values = { page, where: 'action 1', times: 3, problem: 'it did not answer' };
      if ((deaths[page] ?? 0) > 0) {
        deaths[page] -= 1;
        throw reverieError('BROWSER_DIED', values);
      }
      if ((throws[page] ?? 0) > 0) {
        throws[page] -= 1;
        throw reverieError('PAGE_FAILED', values);
      }
      return domain.rules!.execute(state, call);
    },
  });
  return { ...domain, rules };
}

const entry: DomainEntry = { name: 'fragile', summary: 'Games.', make: async () => async () => fragile() };
domains.register(entry);

const file = join(home, 'scenario.yaml');
const rl = { relevance: { vocabulary: 64, embedding: 4, hidden: [8, 8], rows: 8 } };
const train = { evalSplits: ['train'], rounds: 1, tasksPerRound: 2, cloneTasks: 0, groupSize: 2, checkpointSeconds: 0 };
const scenario = {
  family: 'tools',
  name: 'fragile',
  domain: { id: 'fragile' },
  model: { kind: 'tools', backends: ['rules'] },
  agent: { kind: 'random', steps: 3 },
  synth: { episodes: 6, maxSteps: 3 },
};
writeFileSync(file, JSON.stringify({ ...scenario, rl, train }));

function run<R>(job: string, out: string): Promise<R> {
  const options = { scenario: file, out: join(home, out), quiet: true, stream: recordingStream(), command: 'test' };
  return launch(job, options) as Promise<R>;
}

it('costs a collecting job the episode alone, once it was tried again', async () => {
  throws = { book: 2 };
  deaths = { torch: 100 };
  const result = await run<RealEpisodesResult>('collect', 'collected');
  expect(result).toMatchObject({ episodes: 3, failed: { BROWSER_DIED: 3 } });
  const lived = jsonLines(join(home, 'collected', 'data', 'episodes.jsonl'));
  expect(lived.map(({ task }) => task)).toEqual(['book', 'book', 'book']);
}, 60_000);

it('costs a training job the episode alone, which is said', async () => {
  deaths = { torch: 100 };
  const result = await run<TextTrainResult>('train', 'trained');
  expect(result).toMatchObject({ rounds: 1, evaluations: [{ success: { of: 1 } }, { success: { of: 1 } }] });
  const [update] = jsonLines(join(home, 'trained', 'metrics.jsonl')).filter(({ kind }) => kind === 'update');
  expect(update).toMatchObject({ episodes: 2 });
}, 60_000);

it('leaves an episode what it would have been, where another try goes well', async () => {
  const policy: TextPolicy = {
    version: 'by draw',
    decide: async (situations, draws = []) =>
      situations.map(({ admissible }, i) => {
        return { choice: Math.floor(draws[i] * admissible.length), logProb: 0, entropy: 0 };
      }),
  };
  const play = (broken: typeof throws) => {
    throws = broken;
    const starts = ['book', 'torch', 'held-out'].map((task, i) => ({ task, seed: 1, rng: Rng.fromSeed(i) }));
    return playTexts(policy, starts, { environments: [attic(fragile()), attic(fragile())] });
  };
  deaths = {};
  const whole = await play({});
  expect(await play({ book: 1, 'held-out': 2 })).toEqual(whole);
  const [first, second, third] = await play({ torch: 3 });
  expect([first, third]).toEqual([whole[0], whole[2]]);
  expect(second).toMatchObject({ steps: [], reward: null, lost: { code: 'PAGE_FAILED' } });
  await expect(play({ book: 3, torch: 3, 'held-out': 3 })).rejects.toMatchObject({ code: 'PAGE_FAILED' });
}, 60_000);
