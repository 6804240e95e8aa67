// What a job opened before it was refused, or before its checkpoint turned out to be damaged, is closed.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { ClockedEnvironment } from '../../../src/env/clocked-environment.js';
import type { JobInputs, JobResult } from '../../../src/run/job.js';
import type { JobName } from '../../../src/run/jobs.js';
import { launch } from '../../../src/run/launch.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';
import { brokenOffAt } from './broken-off.js';

const folder = temporaryFolder('opened');
const at = (...names: string[]) => join(folder, ...names);
const given = { seed: 1, stream: recordingStream(), command: 'reverie', quiet: true };
const MODEL = ['model.members=2', 'model.elites=1', 'model.hidden=[8]', 'model.maxEpochs=1'];
const TRAIN = ['train.mode=real', 'train.checkpointSeconds=0'];

let outs = 0;
const run = (job: JobName, scenario: string, inputs: JobInputs, set: readonly string[] = [], out = `${outs++}`) =>
  launch<JobResult>(job, { ...given, scenario, profile: 'smoke', inputs, set, out: at(out) });

beforeAll(async () => {
  await run('collect', 'cartpole', {}, ['collect.steps=100'], 'seen');
  await run('fit', 'cartpole', { data: at('seen') }, MODEL, 'model');
  await run('train', 'cartpole', {}, TRAIN, 'policy');
});
afterEach(() => void vi.restoreAllMocks());

const closed = () => vi.spyOn(ClockedEnvironment.prototype, 'close').mock.contexts;

it.each([
  ['fit', { data: at('seen') }, 1],
  ['collect', { checkpoint: at('policy') }, 1],
  ['eval', { checkpoint: at('policy') }, 1],
  // One was opened to see what the model can be computed on.
  ['synth', { model: at('model'), data: at('seen') }, 2],
  ['train', { data: at('seen') }, 2],
] as const)('%s closes what it had opened where an input is of another environment', async (job, inputs, count) => {
  const environments = closed();
  await expect(run(job, 'pendulum', inputs, job === 'train' ? ['train.mode=real'] : [])).rejects.toMatchObject({
    code: 'INPUT_UNFIT',
  });
  expect(new Set(environments).size).toBe(count);
});

it('a training whose checkpoint is damaged closes what it had opened', async () => {
  const jobs = { vector: async () => brokenOffAt(15) };
  const begun = launch('train', { ...given, scenario: 'cartpole', profile: 'smoke', set: TRAIN, out: at('cut'), jobs });
  await expect(begun).rejects.toThrow('broken off');
  rmSync(at('cut', 'checkpoint', 'learner', 'learner.safetensors'));
  const environments = closed();
  const resumed = launch('train', { ...given, resume: at('cut') });
  await expect(resumed).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
  expect(new Set(environments).size).toBe(2);
});
