// Learning from records alone, and from rows drawn from a diffusion of real ones: what is learned from, what rows say of where they
// come from, and that a run that broke off anywhere goes on to the same bytes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/core/report.js';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import { type LaunchOptions, launch } from '../../../src/run/launch.js';
import { readMetrics } from '../../../src/run/metrics.js';
import { type TrainResult, trainJob } from '../../../src/run/pipeline/train.js';
import { terminalText } from '../../../src/run/report.js';
import { fileHashes } from '../../e2e/reverie.js';
import { savedRowsBy } from '../../replay/rows.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';
import { brokenOffAt } from './broken-off.js';

type Options = Omit<LaunchOptions<TrainResult>, 'stream' | 'command'>;

const SMALL = [
  ...['train.checkpointSeconds=0', 'train.evalEpisodes=1', 'rl.hidden=[16]', 'rl.batchSize=16'],
  ...['train.updatesPerRound=50', 'train.offlineUpdates=100'],
];
const DRAW = '{share: 0.5, rows: 300, refitEvery: 250, updates: 60, hidden: 16, blocks: 1, batchSize: 32, levels: 4}';
const OFFLINE = [...SMALL, 'train.mode=offline', 'rl.algorithm=td3-bc'];
const DRAWN = [...OFFLINE, `replay.generative=${DRAW}`];
const ONLINE = [
  ...SMALL,
  ...['train.mode=real', 'train.realSteps=600', 'train.stepsPerRound=100', 'train.initialRandomSteps=200'],
  ...[`replay.generative=${DRAW}`],
];

const folder = temporaryFolder('generative');
/** Of the run `drawn`. */
let result: TrainResult;
/** Of the last run. */
let shown = '';
const at = (...names: string[]) => join(folder, ...names);

beforeAll(async () => {
  const launched = { stream: recordingStream(), command: 'reverie collect', quiet: true };
  await launch('collect', { ...launched, scenario: 'pendulum', seed: 1, set: ['collect.steps=400'], out: at('lived') });
  result = await train(pendulum(DRAWN, 'drawn', 'lived'));
});

function train(options: Options, job = trainJob): Promise<TrainResult> {
  const launched = { jobs: { vector: async () => job }, stream: recordingStream(), command: 'reverie train' };
  const onReport = (report: Report) => {
    shown = terminalText(report);
  };
  return launch('train', { ...launched, ...options, onReport, quiet: true });
}

const pendulum = (set: readonly string[], out: string, data?: string): Options => ({
  ...{ scenario: 'pendulum', seed: 3, set: [...set], out: at(out) },
  ...(data !== undefined && { inputs: { data: at(data) } }),
});

const kindsOf = (run: string) => readMetrics(at(run, 'metrics.jsonl')).map(({ kind }) => kind);

/** A run that broke off at its n-th event, and went on, has the bytes of `run`. */
async function goesOn(options: Options, run: string, n: number): Promise<void> {
  const out = at(`${run}-broken`);
  await expect(train({ ...options, out }, brokenOffAt(n))).rejects.toThrow('broken off');
  await train({ resume: out });
  expect(fileHashes(join(out, 'checkpoint'))).toEqual(fileHashes(at(run, 'checkpoint')));
}

it('refuses more records than there is room for, before any is lost', async () => {
  const cramped = pendulum([...OFFLINE, 'replay.realCapacity=399'], 'cramped', 'lived');
  await expect(train(cramped)).rejects.toMatchObject({
    code: 'SCENARIO_UNFIT',
    hint: expect.stringContaining('realCapacity=400'),
  });
});

it('tells the rows it was given from those it collected', async () => {
  const more = await train(pendulum([...SMALL, 'train.mode=real', 'train.realSteps=100'], 'more', 'lived'));
  expect(more).toMatchObject({ realSteps: 100, records: { real: 400, synthetic: 0 } });
});

describe('training from records alone', () => {
  it('takes gradient steps on them, lives nothing, and is evaluated after every round', async () => {
    const offline = await train(pendulum(OFFLINE, 'real-rows', 'lived'));
    expect(offline).toMatchObject({ mode: 'offline', realSteps: 0, syntheticSteps: 0, updates: 100 });
    expect(offline.records).toEqual({ real: 400, synthetic: 0 });
    expect(offline.evaluations.map(({ updates }) => updates)).toEqual([50, 100]);
    expect(offline).not.toHaveProperty('generative');
    for (const part of ['backend', 'modelVersion', 'policyVersion'] as const) {
      const given = await savedRowsBy(at('lived', 'data'), part);
      expect(await savedRowsBy(at('real-rows', 'checkpoint', 'real'), part)).toEqual(given);
    }
    expect(shown).toMatch(/given +400 real and 0 synthetic rows/);
  });

  it('goes on to the same bytes', async () => {
    await goesOn(pendulum(OFFLINE, 'real-rows', 'lived'), 'real-rows', kindsOf('real-rows').length);
  });
});

describe('rows drawn from a diffusion of records', () => {
  it('say in stored data by which diffusion they were drawn', async () => {
    const drawn = at('drawn', 'checkpoint', 'synthetic');
    expect((await ReplayBuffer.load(drawn)).source).toBe('synthetic');
    expect(await savedRowsBy(drawn, 'backend')).toEqual({ diffusion: 300 });
    expect(await savedRowsBy(drawn, 'modelVersion')).toEqual({ [result.generative!.modelVersion!]: 300 });
    const { learnedFrom } = JSON.parse(readFileSync(at('drawn', 'checkpoint', 'learner', 'manifest.json'), 'utf8'));
    expect(learnedFrom).toMatchObject({ realSteps: 0, syntheticSteps: 300 });
    expect(learnedFrom.worldModelVersions).toEqual([result.generative!.modelVersion]);
  });

  it('may be all that is learned from: real rows then change nothing but the diffusion', async () => {
    const alone = [...DRAWN, 'replay.generative.share=1'];
    await train(pendulum(alone, 'alone', 'lived'));
    // The same rows, given as records: the same learner, step by step.
    await train(pendulum(OFFLINE, 'given', 'alone/checkpoint/synthetic'));
    const theta = (run: string) => fileHashes(at(run, 'checkpoint', 'learner'))['learner.safetensors'];
    expect(theta('given')).toBe(theta('alone'));
    expect(theta('given')).not.toBe(theta('drawn'));
    const rows = await ReplayBuffer.load(at('given', 'checkpoint', 'synthetic'));
    expect(rows.size).toBe(300);
  });
});

it('generative replay beside real steps draws anew as rows come in, and goes on to the same bytes', async () => {
  const online = await train(pendulum(ONLINE, 'online'));
  expect(online.realSteps).toBe(600);
  expect(online.generative).toMatchObject({ fits: 2, rows: 600, fittedTo: 600 });
  expect(shown).toMatch(/steps +600 real.*\ndrawn +600 rows from 2 diffusions, 50 % of each batch/);
  const drawn = await savedRowsBy(at('online', 'checkpoint', 'synthetic'), 'modelVersion');
  expect(Object.values(drawn)).toEqual([300, 300]);
  await goesOn(pendulum(ONLINE, 'online'), 'online', kindsOf('online').lastIndexOf('generate') + 2);
});

describe('what cannot be', () => {
  it.each([
    [[...ONLINE, 'train.mode=dream'], 'the world model simulates rows already'],
    [[...DRAWN, 'replay.generative.share=0'], 'replay.generative.share'],
  ])('is refused before anything runs: %j', async (set, message) => {
    const failed = await train(pendulum(set, 'refused', 'lived')).catch((error) => error);
    expect(failed.code).toBe('SCENARIO_INVALID');
    expect(`${failed.message} ${failed.hint}`).toContain(message);
  });

  it('names records that are missing or do not fit', async () => {
    await expect(train(pendulum(OFFLINE, 'none'))).rejects.toMatchObject({ code: 'INPUT_NEEDED' });
    const other = { ...pendulum(OFFLINE, 'other', 'lived'), scenario: 'reacher' };
    await expect(train(other)).rejects.toMatchObject({ code: 'INPUT_UNFIT' });
    // Rows are drawn like real ones, and not like drawn ones.
    const drawn = pendulum(DRAWN, 'twice', 'drawn/checkpoint/synthetic');
    await expect(train(drawn)).rejects.toMatchObject({ code: 'INPUT_UNFIT' });
  });

  it('ends with the row where a diffusion did not learn to draw', async () => {
    const wild = [...DRAWN, 'replay.generative.lr=1e30'];
    await expect(train(pendulum(wild, 'wild', 'lived'))).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
  });
});
