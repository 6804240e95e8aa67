// Training with PPO in the real environment: it learns, keeps where every row came from, and a run
// that broke off anywhere goes on to the same bytes.

import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import { type LaunchOptions, launch } from '../../../src/run/launch.js';
import { readMetrics } from '../../../src/run/metrics.js';
import { keptPolicies } from '../../../src/run/pipeline/inputs.js';
import { type TrainResult, trainJob } from '../../../src/run/pipeline/train.js';
import { fileHashes } from '../../e2e/reverie.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';
import { brokenOffAt } from './broken-off.js';

const SMOKE = { scenario: 'cartpole', profile: 'smoke', seed: 3 };
const folder = temporaryFolder('on-policy');

type Options = Omit<LaunchOptions<TrainResult>, 'stream' | 'command'>;

function train(options: Options, job = trainJob): Promise<TrainResult> {
  const launched = { jobs: { vector: async () => job }, stream: recordingStream(), command: 'reverie train' };
  return launch('train', { ...launched, ...options, quiet: true });
}

/** A run that broke off at its n-th event, and went on, has the bytes of `whole`. */
async function goesOn(options: Options, whole: string, n: number): Promise<void> {
  await expect(train(options, brokenOffAt(n))).rejects.toThrow('broken off');
  await train({ resume: options.out });
  expect(fileHashes(join(options.out!, 'checkpoint'))).toEqual(fileHashes(join(folder, whole, 'checkpoint')));
}

function smoke(out: string): Options {
  const set = ['train.mode=real', 'train.checkpointSeconds=0', 'train.keepPolicyEvery=500'];
  return { ...SMOKE, set, out: join(folder, out) };
}

describe('PPO in the real environment', () => {
  let result: TrainResult;
  const checkpoint = join('reference', 'checkpoint');

  beforeAll(async () => {
    result = await train(smoke('reference'));
  });

  const at = (...path: string[]) => join(folder, checkpoint, ...path);

  it('lives the budget and learns from every round', () => {
    expect(result.realSteps).toBe(1000);
    // Four rollouts of 250 rows, two epochs of three batches each.
    expect(result.updates).toBe(4 * 2 * 3);
    expect(result.syntheticSteps).toBe(0);
    // It takes no random steps, and what has no effect is not told.
    expect(result.rounds).toEqual([]);
    const manifest = JSON.parse(readFileSync(at('learner', 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ kind: 'ppo', gradientSteps: result.updates });
    expect(manifest.learnedFrom).toMatchObject({ realSteps: 1000, syntheticSteps: result.syntheticSteps });
    expect(manifest.learnedFrom.worldModelVersions).toHaveLength(0);
  });

  it('keeps the learner as it was on the way', async () => {
    const policies = await keptPolicies(join(folder, 'reference'));
    expect(policies.map(({ realSteps }) => realSteps)).toEqual([500, 1000]);
    const [early, late] = policies.map(({ folder: from }) =>
      JSON.parse(readFileSync(join(from, 'manifest.json'), 'utf8')),
    );
    expect(early.learnedFrom.realSteps).toBe(500);
    expect(early.policyVersion).not.toBe(late.policyVersion);
    expect(late).toEqual(JSON.parse(readFileSync(at('learner', 'manifest.json'), 'utf8')));
  });

  it('keeps the real rows with the policy that acted and its log-probabilities', async () => {
    const real = await ReplayBuffer.load(at('real'));
    expect(real.size).toBe(1000);
    const rows = Array.from({ length: real.size }, (_, row) => real.provenanceAt(row));
    expect(new Set(rows.map(({ policyVersion }) => policyVersion)).size).toBe(4);
    expect(rows.every(({ logProb }) => logProb < 0 && logProb > -10)).toBe(true);
    expect(rows[0]).toMatchObject({ scenario: 'cartpole', backend: 'real', modelVersion: '', seed: 3 });
  });

  it('goes on to the same bytes wherever it broke off', async () => {
    const events = readMetrics(join(folder, 'reference', 'metrics.jsonl'));
    const kept = (run: string) => ['checkpoint', 'policies'].map((name) => fileHashes(join(folder, run, name)));
    const reference = kept('reference');
    // Before the first checkpoint, and within a round.
    const breaks = [2, events.length / 2];
    for (const [index, n] of breaks.entries()) {
      const out = `broken-${index}`;
      await expect(train(smoke(out), brokenOffAt(Math.floor(n)))).rejects.toThrow('broken off');
      await train({ resume: join(folder, out) });
      expect(kept(out)).toEqual(reference);
      const timeless = (run: string) =>
        readMetrics(join(folder, run, 'metrics.jsonl')).map(({ wallSeconds: _, seconds: __, ...event }) => event);
      expect(timeless(out)).toEqual(timeless('reference'));
    }
  });

  it('goes on from a checkpoint that was being replaced when it was killed', async () => {
    const events = readMetrics(join(folder, 'reference', 'metrics.jsonl'));
    const out = join(folder, 'between');
    await expect(train(smoke('between'), brokenOffAt(events.length / 2))).rejects.toThrow('broken off');
    renameSync(join(out, 'checkpoint'), join(out, 'checkpoint.old'));
    const log: string[] = [];
    await train({ resume: out }, (context) => trainJob({ ...context, log: (line) => log.push(line) }));
    expect(log.join()).toMatch(/Resuming after [1-9]/);
    expect(fileHashes(join(out, 'checkpoint'))).toEqual(fileHashes(join(folder, checkpoint)));
  });
});

describe('PPO on CartPole', () => {
  it('records a last round too short for a batch, and does not learn from it', async () => {
    const out = join(folder, 'short');
    const result = await train({ ...SMOKE, set: ['train.realSteps=520'], out });
    expect(result).toMatchObject({ realSteps: 520, updates: 2 * 2 * 3 });
    expect((await ReplayBuffer.load(join(out, 'checkpoint', 'real'))).size).toBe(520);
  });

  it('refuses to go on from a learner of another kind or for other spaces', async () => {
    const inputs = { checkpoint: join(folder, 'reference') };
    const options = { scenario: 'pendulum', profile: 'smoke', inputs, out: join(folder, 'other') };
    await expect(train(options)).rejects.toMatchObject({ code: 'INPUT_UNFIT', values: { what: 'observation space' } });
    const otherKind = { ...options, set: ['env.id=cartpole'] };
    await expect(train(otherKind)).rejects.toMatchObject({
      code: 'INPUT_UNFIT',
      values: { what: 'algorithm', theirs: 'ppo', ours: 'sac' },
    });
  });
});

it('SAC with replay.realRatio: 1 takes the updates of a dream on real rows alone, fits and dreams nothing, and goes on to the same bytes', async () => {
  const options = (out: string) => ({
    ...{ scenario: 'pendulum', profile: 'smoke', seed: 3, out: join(folder, out) },
    set: ['replay.realRatio=1', 'train.checkpointSeconds=0'],
  });
  const result = await train(options('updates'));
  expect(result).toMatchObject({ realSteps: 600, syntheticSteps: 0, updates: 3 * 50 });
  expect(readMetrics(join(folder, 'updates', 'metrics.jsonl')).map(({ kind }) => kind)).not.toContain('fit');
  await goesOn(options('broken'), 'updates', 6);
});

it.each(['sac', 'pets'])('begins without random steps in a simulation, too: %s', async (algorithm) => {
  const set = [
    `rl.algorithm=${algorithm}`,
    'train.initialRandomSteps=0',
    'train.realSteps=12',
    'train.stepsPerRound=10',
  ];
  const small = algorithm === 'pets' ? ['rl.candidates=4', 'rl.elites=2', 'rl.rounds=1', 'rl.horizon=2'] : [];
  const out = join(folder, `at-once-${algorithm}`);
  const result = await train({ scenario: 'pendulum', profile: 'smoke', seed: 3, out, set: [...set, ...small] });
  expect(result.realSteps).toBe(12);
});

it('takes a fraction of an update a step, however short its rounds are', async () => {
  const set = ['train.mode=real', 'train.stepsPerRound=3', 'train.updatesPerStep=0.25', 'train.realSteps=300'];
  const result = await train({
    ...{ scenario: 'pendulum', profile: 'smoke', seed: 3, out: join(folder, 'fraction') },
    set: [...set, 'train.initialRandomSteps=200', 'train.evalEvery=300'],
  });
  expect(result.updates).toBe(25);
});

it('takes the updates of the learner, and tells them', async () => {
  const set = ['train.mode=real', 'rl.algorithm=simba', 'train.realSteps=210', 'train.initialRandomSteps=200'];
  const options = { scenario: 'pendulum', profile: 'smoke', seed: 3, out: join(folder, 'paper') };
  const result = await train({ ...options, set: [...set, 'train.updatesPerStep=auto', 'train.stepsPerRound=10'] });
  expect(result.updates).toBe(100);
  expect(result.rounds).toContainEqual(['updatesPerStep', 10]);
  expect(result.rounds.map(([, value]) => value)).not.toContain('auto');
});

describe('PETS', () => {
  const set = [
    'rl.algorithm=pets',
    'rl.candidates=8',
    'rl.elites=2',
    'rl.rounds=1',
    'rl.horizon=3',
    'rl.distilUpdates=10',
  ];
  const options = (out: string) => ({
    ...{ scenario: 'pendulum', profile: 'smoke', seed: 3, out: join(folder, out) },
    set: [...set, 'train.checkpointSeconds=0', 'train.realSteps=450', 'train.stepsPerRound=125', 'train.evalEvery=250'],
  });

  it('lives what it plans in the model, teaches a policy, and goes on within an episode to the same bytes', async () => {
    const result = await train(options('planned'));
    expect(result).toMatchObject({ realSteps: 450, syntheticSteps: 0, updates: 20 });
    const kinds = readMetrics(join(folder, 'planned', 'metrics.jsonl')).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'fit')).toHaveLength(3);
    const real = await ReplayBuffer.load(join(folder, 'planned', 'checkpoint', 'real'));
    const versions = real.originList().map(({ policyVersion }) => policyVersion.split('-')[0]);
    expect(versions).toEqual(['random', 'planned', 'planned']);
    await goesOn(options('planned-broken'), 'planned', 7);
    // What was never asked of a planner is not told of it.
    expect(kinds).not.toContain('plan');
  });

  it('goes on from a policy alone: what it plans in is learned from random steps', async () => {
    const further = { ...options('further'), inputs: { checkpoint: join(folder, 'planned', 'checkpoint') } };
    expect(await train(further)).toMatchObject({ realSteps: 450 });
  });

  it('teaches a policy where the first model already reaches the threshold', async () => {
    const { set: own, ...rest } = options('at-once');
    const stop = ['train.threshold=-5000', 'train.stopAtThreshold=true', 'train.evalEvery=200'];
    const result = await train({ ...rest, set: [...own, ...stop] });
    expect(result).toMatchObject({ realStepsToThreshold: 200, realSteps: 325, updates: 10 });
  });

  it('needs a model to plan in', async () => {
    const real = { ...options('real'), set: [...set, 'train.mode=real'] };
    await expect(train(real)).rejects.toMatchObject({ code: 'SCENARIO_INVALID' });
  });
});
