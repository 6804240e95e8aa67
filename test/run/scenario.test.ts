import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ReverieError } from '../../src/core/errors.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { vectorSet } from '../../src/run/evaluation-set.js';
import {
  listScenarios,
  loadAnyScenario,
  loadScenario,
  loadToolsScenario,
  reviveScenario,
  type Scenario,
  type ScenarioOptions,
} from '../../src/run/scenario.js';
import { temporaryFolder } from '../temporary-folder.js';

const BASE = `
name: swing
env: { id: pendulum }
rl: { algorithm: sac, gamma: 0.99 }
profiles:
  smoke:
    train: { realSteps: 100 }
`;

const WEDGE = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3';
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';

/** A body of many files, each named in another way. */
const BODY: Readonly<Record<string, string | Uint8Array>> = {
  'body.xml': `<mujoco><compiler assetdir="assets"/><include file="parts/motor.xml"/>
    <asset><mesh name="wedge" file="wedge.obj"/><hfield name="hill" file="hill.bin" size="1 1 1 1"/>
      <texture name="dot" type="2d" file="dot.png"/><model name="hand" file="hand/hand.xml"/></asset>
    <worldbody><geom type="hfield" hfield="hill"/><body><joint name="turn"/><geom type="mesh" mesh="wedge"/>
      <attach model="hand" body="palm" prefix="h_"/></body></worldbody></mujoco>`,
  'parts/motor.xml': '<mujoco><include file="gain.xml"/></mujoco>',
  'parts/gain.xml': '<mujoco><actuator><position joint="turn" kp="9" ctrlrange="-1 1"/></actuator></mujoco>',
  'assets/wedge.obj': WEDGE,
  'assets/hill.bin': new Uint8Array(Uint32Array.of(2, 2, 0, 0, 0, 0).buffer),
  'assets/dot.png': Buffer.from(DOT, 'base64'),
  'hand/hand.xml': `<mujoco><compiler meshdir="own"/><asset><mesh name="palm" file="palm.obj"/></asset>
    <worldbody><body name="palm"><geom type="mesh" mesh="palm"/></body></worldbody></mujoco>`,
  'hand/own/palm.obj': WEDGE,
};

function written(text: string): string {
  const folder = temporaryFolder('scenario');
  writeFileSync(join(folder, 'scenario.yaml'), text);
  return folder;
}

async function failure(text: string, options?: ScenarioOptions): Promise<ReverieError> {
  try {
    await loadScenario(written(text), options);
  } catch (error) {
    if (error instanceof ReverieError) return error;
    throw error;
  }
  throw new Error('the scenario was accepted');
}

describe('a scenario', () => {
  it('has every default filled in and is frozen at every depth', async () => {
    const { config } = await loadScenario(written(BASE));
    expect(config.rollout.horizon).toBe('auto');
    expect(config.train.realSteps).toBe(20_000);
    expect(() => Object.assign(config.rollout, { horizon: 5 })).toThrow(TypeError);
    expect(() => Object.assign(config, { name: 'other' })).toThrow(TypeError);
  });

  it('is laid over by a profile, then by --set flags in order', async () => {
    const folder = written(BASE);
    expect((await loadScenario(folder, { profile: 'smoke' })).config.train.realSteps).toBe(100);
    const set = [
      'train.realSteps=7',
      'train.realSteps=8',
      'rollout.horizon=[0, 100, 1, 5]',
      'rollout.disagreementLimit=null',
    ];
    const { config } = await loadScenario(folder, { profile: 'smoke', set });
    expect(config.train.realSteps).toBe(8);
    expect(config.rollout.horizon).toEqual([0, 100, 1, 5]);
    expect(config.rollout.disagreementLimit).toBeNull();
  });

  it('starts a section anew when an override chooses another kind', async () => {
    const text = `${BASE}replay: { selector: { kind: prioritized, alpha: 0.7 } }\n`;
    const { config } = await loadScenario(written(text), { set: ['replay.selector.kind=uniform'] });
    expect(config.replay.selector).toEqual({ kind: 'uniform' });
  });

  const PLAIN = 'name: swing\nenv: { id: pendulum }\n';

  it.each([
    ['rl.gamma=0.98', ['rl', 'gamma'], 0.98],
    ['rl.lr=0.002', ['rl', 'algorithm'], 'sac'],
    ['model.members=9', ['model', 'members'], 9],
  ])('takes %s without the section or what it is of', async (flag, [section, key], value) => {
    const { config } = await loadScenario(written(PLAIN), { set: [flag] });
    expect((config as unknown as Record<string, Record<string, unknown>>)[section][key]).toBe(value);
  });

  it('tells what a section without its kind cannot have', async () => {
    expect((await failure(PLAIN, { set: ['rl.clipRatio=0.1'] })).message).toContain('"rl.clipRatio"');
    expect((await failure(PLAIN, { set: ['replay.selector.alpha=0.5'] })).message).toContain('selector.alpha');
    expect((await failure(PLAIN, { set: ['rl=3'] })).message).toContain('"rl"');
  });

  it('starts such a section anew, too, and takes flags that choose before the others', async () => {
    const folder = written(`${PLAIN}rl: { tau: 0.02 }\ntrain: { mode: real }\n`);
    const { rl } = (await loadScenario(folder, { set: ['rl.epochs=3', 'rl.algorithm=ppo'] })).config;
    expect(rl).toMatchObject({ algorithm: 'ppo', epochs: 3 });
    expect(rl).not.toHaveProperty('tau');
  });

  it.each(['sac', 'redq', 'droq', 'mbpo'])(
    'has the published settings of %s below those given beside it',
    async (preset) => {
      const own = `${PLAIN}rl: { algorithm: sac, hidden: [8], criticLayerNorm: true, lr: 1 }\ntrain: { initialRandomSteps: 7 }\n`;
      const set = ['rl.lr=0.1', `rl.preset=${preset}`, ...(preset === 'mbpo' ? ['train.mode=real'] : [])];
      const { config } = await loadScenario(written(own), { set });
      expect(config.rl).toMatchObject({
        preset,
        hidden: [256, 256],
        batchSize: 256,
        tau: 0.005,
        lr: 0.1,
        initAlpha: 1,
      });
      expect(config.rl.algorithm).toBe(preset === 'mbpo' ? 'sac' : preset);
      expect(config.train).toMatchObject({ initialRandomSteps: 5000, mode: 'real' });
      const inFile = await loadScenario(written(`${PLAIN}rl: { preset: ${preset}, lr: 0.1 }\ntrain: { mode: real }\n`));
      expect({ ...inFile.config, name: '' }).toEqual({ ...config, name: '' });
      expect(await reviveScenario(JSON.parse(JSON.stringify(inFile)), 'scenario.json')).toEqual(inFile);
    },
  );

  it('has the published settings of a model, and of how it is simulated with, beside those of a learner', async () => {
    const set = ['rl.preset=mbpo', 'model.preset=mbpo', 'model.patience=3', 'rollout.horizon=5'];
    const { config } = await loadScenario(written(`${PLAIN}model: { members: 3, elites: 2 }\n`), { set });
    expect(config.model).toMatchObject({ preset: 'mbpo', members: 7, hidden: [200, 200, 200, 200], patience: 3 });
    expect(config.rollout).toMatchObject({ horizon: 5, startsPerRound: 4000, disagreementLimit: null });
    expect(config.replay.realRatio).toBe(0.05);
    expect(config.train).toMatchObject({ refitEvery: 250, updatesPerRound: 200 });
    expect((await failure(PLAIN, { set: ['model.preset=pets'] })).message).toContain('"mbpo"');
  });

  it.each([
    [['rl={preset: redq, algorithm: sac}']],
    [['rl.preset=redq', 'rl.algorithm=sac']],
    [['rl.algorithm=sac', 'rl.preset=redq']],
  ])('refuses a preset of another learner, in any order: %j', async (set) => {
    expect((await failure(PLAIN, { set })).message).toContain('redq is not of rl.algorithm sac');
  });

  it('refuses a preset that is not there by those there are', async () => {
    const { message } = await failure(PLAIN, { set: ['rl.preset=../../x'] });
    expect(message).toContain('expected one of "sac", "redq", "droq", "mbpo"');
  });

  it('has a hash that follows its meaning and nothing else', async () => {
    const hash = (await loadScenario(written(BASE))).hash;
    const reordered = 'env: { id: pendulum }\nrl: { gamma: 0.99, algorithm: sac } # a comment\nname: swing\n';
    expect((await loadScenario(written(reordered))).hash).toBe(hash);
    expect((await loadScenario(written(BASE), { workers: 4, seed: 9 })).hash).toBe(hash);
    expect((await loadScenario(written(BASE), { set: ['rollout.horizon=2'] })).hash).not.toBe(hash);
  });

  it.each([
    'body.xml',
    'parts/motor.xml',
    'parts/gain.xml',
    'assets/wedge.obj',
    'assets/hill.bin',
    'assets/dot.png',
    'hand/hand.xml',
    'hand/own/palm.obj',
  ])('has a hash that follows all that MuJoCo opens for the body it names: %s', async (changed) => {
    const env = '{ mjcf: body.xml, observation: [{ qpos: all }], reward: [{ name: up, of: { alive: true } }] }';
    const folder = written(`name: own\nenv: ${env}\n`);
    for (const [name, content] of Object.entries(BODY)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    const [before, again] = [await loadScenario(folder), await loadScenario(folder)];
    (await makeEnvironment(before.config.env, { folder })).close();
    const setOf = (scenario: Scenario) => vectorSet({ scenario, seed: 1, inputs: {} }, { policies: {} });
    expect(again).toEqual(before);
    expect(await setOf(again)).toEqual(await setOf(before));
    expect(await reviveScenario(before, 'saved')).toEqual(before);
    writeFileSync(join(folder, changed), '\n', { flag: 'a' });
    const after = await loadScenario(folder);
    expect(after.hash).not.toBe(before.hash);
    expect((await setOf(after)).hash).not.toBe((await setOf(before)).hash);
    await expect(reviveScenario(before, 'saved')).rejects.toMatchObject({ code: 'SCENARIO_CHANGED' });
  });

  it('comes back as saved, and refuses a saved copy that was edited', async () => {
    const scenario = await loadScenario(written(BASE), { seed: 3 });
    const saved = JSON.parse(JSON.stringify(scenario));
    expect(await reviveScenario(saved, 'scenario.json')).toEqual(scenario);
    saved.config.rollout.horizon = 9;
    await expect(reviveScenario(saved, 'scenario.json')).rejects.toThrow(/changed after it was saved/);
  });
});

describe('a scenario with a mistake', () => {
  it('names an unknown key by its path, and the nearest known one', async () => {
    const error = await failure(`${BASE}train: { realStep: 5 }\n`);
    expect(error.code).toBe('UNKNOWN_KEY');
    expect(error.message).toContain('"train.realStep"');
    expect(error.hint).toContain('"train.realSteps"');
    expect((await failure(`${BASE}rolout: {}\n`)).hint).toContain('"rollout"');
  });

  it('names path, value and expectation of a wrong value', async () => {
    const error = await failure(`${BASE}replay: { realRatio: 1.5 }\n`);
    expect(error.code).toBe('SCENARIO_INVALID');
    expect(error.message).toContain('"replay.realRatio" is 1.5; expected at most 1');
    expect((await failure('env: { id: pendulum }\n')).message).toContain('"name" is missing');
  });

  it.each([
    ['rl.batchSize', 65_536],
    ['model.minEpochSteps', 100_000],
    ['rollout.startsPerRound', 10_000_000],
    ['synth.starts', 10_000_000],
    ['fidelity.starts', 10_000_000],
    ['replay.generative.batchSize', 65_536],
  ])('names a size that no memory holds, and the largest: %s', async (path, most) => {
    const { message } = await failure(BASE, { set: ['train.mode=real', `${path}=1000000000000`] });
    expect(message).toContain(`"${path}" is 1000000000000; expected at most ${most}`);
  });

  it('is told of a rollout that fills no batch of PPO', async () => {
    const ppo = BASE.replace('algorithm: sac', 'algorithm: ppo');
    expect((await failure(`${ppo}train: { mode: real }\n`, { set: ['rl.batchSize=512'] })).message).toContain(
      '"train.stepsPerRound" is left at its default: PPO learns from batches of 512 rows (rl.batchSize), and a round gives 250',
    );
    expect((await failure(ppo)).message).toContain('PPO learns from rollouts of the real environment alone');
  });

  it.each(['ppo', 'pets'])('is told of priorities of rows that %s does not replay', async (algorithm) => {
    const mode = algorithm === 'ppo' ? 'real' : 'dream';
    const set = [`rl.algorithm=${algorithm}`, `train.mode=${mode}`, 'replay.selector.kind=prioritized'];
    expect((await failure(BASE, { set })).message).toContain(`${algorithm} does not replay rows; set it to uniform`);
  });

  it('is told of policies to be kept by real steps where none are taken', async () => {
    const set = ['rl.algorithm=td3-bc', 'train.mode=offline', 'train.keepPolicyEvery=100'];
    expect((await failure(BASE, { set })).message).toContain('offline, no real steps are taken; set it to null');
  });

  it('names the flag that brought it', async () => {
    const error = await failure(BASE, { set: ['rollout.horizons=3'] });
    expect(error.code).toBe('UNKNOWN_KEY');
    expect(error.message).toContain('--set rollout.horizons=3');
    expect((await failure(BASE, { seed: -1 })).message).toContain('--seed -1');
  });

  it('is told of a flag that is no assignment, of a missing profile, and of a profile with a typing error', async () => {
    expect((await failure(BASE, { set: ['rollout.horizon'] })).code).toBe('FLAG_INVALID');
    expect((await failure(BASE, { set: ['rollout.horizon=[1,'] })).code).toBe('FLAG_INVALID');
    expect((await failure(BASE, { profile: 'smok' })).hint).toContain('smoke');
    expect((await failure(BASE, { set: ['env.id=hoper'] })).code).toBe('NAME_UNKNOWN');
    expect((await failure(`${BASE}  big: { trian: {} }\n`)).message).toContain('profile big');
  });

  it('cannot reach the prototype', async () => {
    expect((await failure(`${BASE}__proto__: { polluted: 1 }\n`)).code).toBe('UNKNOWN_KEY');
    expect((await failure(BASE, { set: ['__proto__.polluted=1'] })).code).toBe('UNKNOWN_KEY');
    expect((await failure(BASE, { set: ['train.__proto__.polluted=1'] })).code).toBe('UNKNOWN_KEY');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('is told when it is no YAML, no mapping, or not there', async () => {
    expect((await failure('name: [\n')).message).toContain('not YAML');
    expect((await failure('- a\n')).message).toContain('no mapping');
    await expect(loadScenario('no-such-scenario')).rejects.toThrow(/No scenario at "no-such-scenario"/);
  });
});

describe('the built-in scenarios', async () => {
  const names = (await listScenarios()).map(({ name }) => name);

  it.each(names)('%s is sound, makes its environment, and has a smoke profile', async (name) => {
    const scenario = await loadAnyScenario(name, { profile: 'smoke' });
    expect(scenario.config.name).toBe(name);
    if (scenario.family !== 'vector') return;
    const { config, folder } = scenario as Scenario;
    const env = await makeEnvironment(config.env, { folder });
    expect((await env.reset({ seed: 1 })).observation.every(Number.isFinite)).toBe(true);
    env.close();
  });
});

describe('a setting that is no more', () => {
  it.each([
    ['rl.actorLr=0.001', /"rl\.actorLr" is no longer there; use rl\.lr/],
    ['model.kind=latent', /"model\.kind": latent is no longer there; .*env\.stack: 4/],
  ])('is answered by what replaces it: %s', async (set, words) => {
    await expect(loadScenario('pendulum', { set: [set] })).rejects.toMatchObject({ code: 'SCENARIO_INVALID' });
    await expect(loadScenario('pendulum', { set: [set] })).rejects.toThrow(words);
  });

  it('also in a scenario of tools, in a list', async () => {
    const set = ['synth.export=[hermes]'];
    await expect(loadToolsScenario('helpdesk', { set })).rejects.toThrow(/export\[0\]": hermes is no longer there/);
  });
});
