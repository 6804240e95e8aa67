// A day's work on the command line: record, fit, dream, train, evaluate, look; each command goes on from the one before.

import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { loadScenario } from '../../src/run/scenario.js';
import { loadWorldModel } from '../../src/worldmodel/kinds.js';
import { savedRowsBy } from '../replay/rows.js';
import { temporaryFolder } from '../temporary-folder.js';
import { oneStep } from '../worldmodel/one-step.js';
import { writeDynamics } from './own-dynamics.js';
import { fileHashes, halfWritten, type Outcome, reverie, set, startReverie } from './reverie.js';

const SMALL_MODEL = set('model.members=3', 'model.elites=2', 'model.hidden=[32, 32]', 'model.maxEpochs=3');

const folder = temporaryFolder('jobs');
const at = (...names: string[]) => join(folder, ...names);

// biome-ignore lint/suspicious/noExplicitAny: what each command answers is what these tests are about.
type Answer = Record<string, any>;

/** Runs a command with --json; it must end well, say nothing wrong, and answer exactly one object. */
async function job(...args: string[]): Promise<Answer> {
  return answerOf(args, await reverie([...args, '--json'], folder));
}

function answerOf(args: readonly string[], { code, stdout, stderr }: Outcome): Answer {
  if (code !== 0) throw new Error(`reverie ${args.join(' ')} ended with ${code}:\n${stderr}`);
  expect(stderr).not.toMatch(/^error|Warning:/m);
  expect(stdout.endsWith('\n')).toBe(true);
  expect(stdout.trimEnd()).not.toContain('\n');
  return JSON.parse(stdout);
}

beforeAll(async () => {
  await job('collect', 'pendulum', '--set', 'collect.steps=600', '--out', 'seen');
  await job('fit', '--data', 'seen', '--out', 'model', ...SMALL_MODEL);
  await job('train', 'pendulum', '--profile', 'smoke', '--out', 'policy');
});

const learnedFrom = (run: string) =>
  JSON.parse(readFileSync(at(run, 'checkpoint', 'learner', 'manifest.json'), 'utf8')).learnedFrom;
const result = (run: string) => JSON.parse(readFileSync(at(run, 'result.json'), 'utf8'));

describe('the jobs in turn', () => {
  it('record with a trained policy', async () => {
    const again = set('collect.steps=200', 'collect.policy=checkpoint');
    await job('collect', '--checkpoint', 'policy', ...again, '--out', 'seen-again');
    const { policyVersion } = (await job('inspect', 'policy/checkpoint/learner')).facts;
    expect(await savedRowsBy(at('seen-again', 'data'), 'policyVersion')).toEqual({ [policyVersion]: 200 });
  });

  it.each([
    ['a random policy, branches', [], false, 2],
    ['a trained policy, whole episodes', ['--checkpoint', 'policy'], true, 200],
  ])('dream datasets: %s', async (_, inputs, episodes, steps) => {
    const out = `simulated-${steps}`;
    const few = ['synth.starts=20', 'rollout.horizon=2', 'synth.export=[parquet, minari]'];
    const args = ['--model', 'model', '--data', 'seen', ...inputs, ...set(...few, `synth.episodes=${episodes}`)];
    const { transitions, datasets, modelVersion } = await job('synth', ...args, '--out', out);
    expect(transitions).toBe(20 * steps);
    expect(modelVersion).toBe(result('model').modelVersion);
    const [parquet, minari] = datasets;
    const rows = await parquetReadObjects({ file: Uint8Array.from(readFileSync(parquet)).buffer });
    expect(rows).toHaveLength(transitions);
    expect(new Set(rows.map((row) => row.source))).toEqual(new Set(['synthetic']));
    const dataset = join(minari, 'pendulum', 'simulated-v0', 'data');
    expect(JSON.parse(readFileSync(join(dataset, 'metadata.json'), 'utf8'))).toMatchObject({
      total_episodes: 20,
      total_steps: transitions,
    });
    expect(readdirSync(dataset)).toHaveLength(21);
    const { parts } = await job('inspect', out);
    expect(parts[0]).toMatchObject({ kind: 'replay', facts: { source: 'synthetic', rows: transitions, episodes: 20 } });
  });

  it('train for real on from a simulated policy, with what was recorded; what it learned from adds up', async () => {
    const args = ['--checkpoint', 'policy', '--data', 'seen', ...set('train.mode=real', 'train.updatesPerStep=0.2')];
    const { realSteps, syntheticSteps } = await job('train', ...args, '--out', 'onwards');
    const [before, after] = [learnedFrom('policy'), learnedFrom('onwards')];
    expect({ realSteps, syntheticSteps }).toEqual({ realSteps: 600, syntheticSteps: 0 });
    expect(after.realSteps).toBe(before.realSteps + realSteps);
    expect(after.syntheticSteps).toBe(before.syntheticSteps);
    expect(after.worldModelVersions).toEqual(before.worldModelVersions);
    expect(after.gradientSteps).toBe(before.gradientSteps + result('onwards').updates);
  });

  it('train in the dream on from a policy, records and a model', async () => {
    const args = ['--checkpoint', 'policy', '--data', 'seen', '--model', 'model'];
    const { realSteps, syntheticSteps } = await job(
      'train',
      ...args,
      ...set('train.realSteps=200'),
      '--out',
      'further',
    );
    const [before, after] = [learnedFrom('policy'), learnedFrom('further')];
    expect(after.realSteps).toBe(before.realSteps + realSteps);
    expect(after.syntheticSteps).toBe(before.syntheticSteps + syntheticSteps);
    expect(after.worldModelVersions.length).toBeGreaterThan(before.worldModelVersions.length);
    const { facts } = await job('inspect', 'further/checkpoint/model');
    expect(facts).toMatchObject({ isWarmStart: true, rows: 800 });
    expect((await job('inspect', 'further/checkpoint/real')).facts).toMatchObject({ rows: 800 });
  });

  it('evaluate, in numbers and in words', async () => {
    const numbers = await job('eval', '--checkpoint', 'policy', '--set', 'eval.episodes=3', '--out', 'judged');
    expect(numbers).toMatchObject({ job: 'eval', episodes: 3, meanLength: 200, returns: { length: 3 } });
    const words = await reverie(['eval', '--checkpoint', 'policy', '--set', 'eval.episodes=3', '--quiet'], folder);
    expect(words).toMatchObject({ code: 0, stderr: '' });
    expect(words.stdout).toContain('over 3 real episodes');
    expect((await job('inspect', 'judged')).facts).toMatchObject({
      job: 'eval',
      status: 'finished',
      meanReturn: numbers.meanReturn,
    });
  });
});

describe('an environment and dynamics of one’s own', () => {
  it('train and dream in ONNX dynamics named on the command line', async () => {
    mkdirSync(at('own-model'));
    writeDynamics(at('own-model'));
    const args = ['pendulum', '--model', 'own-model', '--data', 'seen', ...set('synth.starts=30', 'rollout.horizon=4')];
    expect(await job('synth', ...args, '--out', 'own-dreams')).toMatchObject({ transitions: 120 });
    await job('train', 'bring-your-own-onnx', '--profile', 'smoke', '--model', 'own-model', '--out', 'own-onnx');
    expect(learnedFrom('own-onnx').worldModelVersions).toHaveLength(1);
  });

  it('the ONNX dynamics that come with Reverie are the pendulum’s', async () => {
    const { config, folder: home } = await loadScenario('bring-your-own-onnx');
    const model = await loadWorldModel(join(home, String(config.model['folder'])));
    const env = await makeEnvironment(config.env);
    const rng = Rng.fromSeed(5);
    let obs = (await env.reset({ seed: 5 })).observation;
    for (let step = 0; step < 100; step++) {
      const action = Float32Array.of(4 * rng.uniform() - 2);
      const simulated = await oneStep(model, obs, action, rng);
      const real = await env.step(action);
      for (let i = 0; i < 3; i++) expect(simulated.nextObs[i]).toBeCloseTo(real.observation[i], 4);
      expect(simulated.reward[0]).toBeCloseTo(real.reward, 3);
      obs = real.observation;
    }
    await model.close();
    env.close();
  });
});

describe('a dream that is killed', () => {
  const large = set('synth.starts=5000', 'rollout.horizon=10', 'rollout.chunkRows=64', 'synth.export=[]');
  const synth = ['synth', '--model', 'model', '--data', 'seen', ...large, '--quiet'];
  const bytes = (run: string) => fileHashes(at(run, 'data'));

  it('goes on to the same bytes, with any number of workers', async () => {
    expect((await reverie([...synth, '--out', 'dream-0', '--workers', '0'], folder)).code).toBe(0);
    expect((await reverie([...synth, '--out', 'dream-4', '--workers', '4'], folder)).code).toBe(0);
    expect(bytes('dream-4')).toEqual(bytes('dream-0'));
    const { child, outcome } = startReverie([...synth, '--out', 'dream-1', '--workers', '1'], folder);
    const journal = at('dream-1', 'journal', 'rollouts.journal');
    const watch = setInterval(
      () => existsSync(journal) && readFileSync(journal).length > 125_000 && child.kill('SIGKILL'),
      5,
    );
    expect((await outcome).signal).toBe('SIGKILL');
    clearInterval(watch);
    expect(existsSync(at('dream-1', 'data', 'transitions.bin'))).toBe(false);
    const resumed = await reverie(['synth', '--resume', 'dream-1', '--workers', '1', '--json', '--quiet'], folder);
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    expect(bytes('dream-1')).toEqual(bytes('dream-0'));
  });
});

it('the quickstart tells of the ways that it compared alone, and no spread of one return', async () => {
  const few = ['quickstart.baselines=[sac]', 'quickstart.seeds=1', 'quickstart.finalEpisodes=1', 'train.realSteps=300'];
  const args = ['quickstart', 'pendulum', '--profile', 'smoke', ...few.flatMap((one) => set(one)), '--out', 'one-seed'];
  const { stdout } = await reverie([...args, '--quiet'], folder);
  expect(stdout).toMatch(/from scratch +not reached +-\d+ +\d/);
  expect(stdout).not.toContain('as many');
});

it('the quickstart compares the dream with its baselines, in a table and a report, even if neither gets there', async () => {
  const args = ['quickstart', '--profile', 'smoke', ...set('rl.hidden=[32, 16]'), '--out', 'quickstart', '--quiet'];
  const { code, stdout, stderr } = await reverie(args, folder);
  expect(`${code}${stderr}`).toBe('0');
  expect(stdout).toMatch(/from scratch +not reached/);
  expect(stdout).toMatch(/real rows, as many (updates)? +not reached/);
  expect(stdout).toMatch(/dream +not reached/);
  expect(stdout).toContain('Break-even:');
  const page = readFileSync(at('quickstart', 'report.html'), 'utf8');
  expect(page).toMatch(/^<!doctype html>/i);
  expect(page).toContain('Warm start: cartpole-swingup');
  expect(page).toContain('reverie quickstart --profile smoke --set &#39;rl.hidden=[32, 16]&#39;');
  expect(result('quickstart')).toMatchObject({
    job: 'quickstart',
    ratio: null,
    best: null,
    breakEven: { kind: 'unknown' },
    arms: [{ arm: 'from scratch' }, { arm: 'real rows, as many updates' }, { arm: 'dream' }],
  });
  expect(halfWritten(at('quickstart'))).toEqual([]);
});
