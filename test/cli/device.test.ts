// Devices on the command line: what is asked for is there, or refused before anything is written; what was used is kept.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cudaStatus } from '../../src/nn/cuda.js';
import { commandHere, set } from '../e2e/reverie.js';
import { lacksCompiler, make } from '../native/native-build.js';
import { temporaryFolder } from '../temporary-folder.js';

const hasAddon = !lacksCompiler('device.test.ts');
if (hasAddon) make('addon');
const { missing } = await cudaStatus();

const folder = temporaryFolder('device');
const at = (name: string) => join(folder, name);

const reverie = (...args: string[]) => commandHere(args);

const record = (run: string) => JSON.parse(readFileSync(join(at(run), 'run.json'), 'utf8'));
const synth = (out: string, ...flags: string[]) =>
  reverie(
    ...['synth', '--model', at('model'), '--data', at('seen'), '--out', at(out), '--json', '--quiet'],
    ...['--set', 'synth.starts=60', '--set', 'rollout.horizon=3', ...flags],
  );

it('doctor says what there is, and what each device can be used for', async () => {
  const { code, stdout } = await reverie('doctor');
  expect(code).toBe(0);
  for (const name of ['Node', 'ONNX Runtime', 'machine', 'addon', 'vector code', 'kernels for GPUs'])
    expect(stdout).toContain(name);
  const { devices, findings } = JSON.parse((await reverie('doctor', '--json')).stdout);
  expect(devices).toEqual({ cpu: true, simd: hasAddon, cuda: missing === undefined, emulated: hasAddon });
  for (const { state, hint } of findings) if (state !== 'ok') expect(hint.length).toBeGreaterThan(10);
});

describe('a device', () => {
  beforeAll(async () => {
    await reverie('collect', 'pendulum', '--set', 'collect.steps=400', '--out', at('seen'), '--quiet');
    const brief = ['--set', 'model.hidden=[16,16]', '--set', 'model.maxEpochs=2'];
    await reverie('fit', '--data', at('seen'), '--out', at('model'), ...brief, '--quiet');
  });

  it.skipIf(missing === undefined)('that is not there is refused before anything is written', async () => {
    const { code, stderr } = await synth('refused', '--device', 'cuda');
    expect(code).toBe(1);
    expect(stderr).toMatch(/CUDA_UNAVAILABLE.*\n.*hint: \S/);
    expect(existsSync(at('refused'))).toBe(false);
  });

  it.skipIf(missing === undefined)('is the processor where there is no other', async () => {
    const { code, stdout } = await synth('auto');
    expect([code, JSON.parse(stdout).device]).toEqual([0, 'cpu']);
    expect(record('auto').device).toBeUndefined();
  });

  it.skipIf(!hasAddon)('dreams as many rows as the processor, and is kept with the run', async () => {
    const [cpu, emulated] = [await synth('cpu', '--device', 'cpu'), await synth('emulated', '--device', 'emulated')];
    expect([cpu.code, emulated.code]).toEqual([0, 0]);
    const [ours, theirs] = [JSON.parse(emulated.stdout), JSON.parse(cpu.stdout)];
    expect(ours.transitions).toBe(theirs.transitions);
    expect(ours.modelVersion).toBe(theirs.modelVersion);
    expect([ours.device, theirs.device]).toEqual(['host emulation, tf32', 'cpu']);
    expect(record('emulated').device).toEqual({ kind: 'emulated', precision: 'tf32', name: 'host emulation' });
  });

  it.skipIf(!hasAddon)('native: a width that is not there is refused before anything is written', async () => {
    process.env['REVERIE_NATIVE_WIDTH'] = 'mmx';
    const narrow = await synth('narrow', '--device', 'simd');
    delete process.env['REVERIE_NATIVE_WIDTH'];
    expect([narrow.code, existsSync(at('narrow'))]).toEqual([1, false]);
    expect(narrow.stderr).toMatch(/DEVICE_UNAVAILABLE.*mmx/);
  });

  it.skipIf(!hasAddon)('native: an ensemble is fitted by it, with any number of workers', async () => {
    const brief = set('model.hidden=[16]', 'model.maxEpochs=2');
    const fitted = (out: string, ...flags: string[]) =>
      reverie('fit', '--data', at('seen'), '--out', at(out), '--json', '--quiet', ...brief, ...flags);
    const [cpu, one, three] = [
      await fitted('fit-cpu', '--device', 'cpu'),
      await fitted('fit-native', '--device', 'simd', '--workers', '0'),
      await fitted('fit-native-3', '--device', 'simd', '--workers', '3'),
    ].map(({ stdout }) => JSON.parse(stdout));
    expect([cpu.device, one.device, three.device]).toEqual(['cpu', 'native, fp32', 'native, fp32']);
    expect(three.modelVersion).toBe(one.modelVersion);
    expect(cpu.modelVersion).not.toBe(one.modelVersion);
    expect(one.holdoutError).toBeCloseTo(cpu.holdoutError, 4);
    expect(record('fit-native').device).toEqual({ kind: 'native', precision: 'fp32', name: 'native' });
    const refused = await fitted('fit-gpu', '--device', 'cuda');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/FLAG_INVALID.*--device/)]);
  });

  it.skipIf(!hasAddon)('native: SAC learns by it', async () => {
    const steps = ['train.realSteps=200', 'train.initialRandomSteps=100', 'train.stepsPerRound=100'];
    const short = set('train.mode=real', ...steps, 'eval.episodes=1', 'rl.hidden=[16]');
    const train = (out: string, device: string) =>
      reverie('train', 'pendulum', '--out', at(out), '--json', '--quiet', '--device', device, ...short);
    const learner = (run: string) => readFileSync(join(at(run), 'checkpoint', 'learner', 'learner.safetensors'));
    const [simd, cpu] = [await train('learned', 'simd'), await train('learned-cpu', 'cpu')];
    expect([simd, cpu].map(({ stdout }) => JSON.parse(stdout).device)).toEqual(['native, fp32', 'cpu']);
    expect(learner('learned-cpu').equals(learner('learned'))).toBe(false);
    const refused = await train('refused', 'emulated');
    expect([refused.code, existsSync(at('refused'))]).toEqual([1, false]);
    expect(refused.stderr).toMatch(/FLAG_INVALID.*--device.*simd/);
  });

  it.skipIf(!hasAddon)('computes wide layers in float32, and says so', async () => {
    const wide = ['--set', 'model.hidden=[257,16]', '--set', 'model.maxEpochs=1'];
    await reverie('fit', '--data', at('seen'), '--out', at('wide'), ...wide, '--quiet');
    const { code, stderr } = await reverie(
      ...['synth', '--model', at('wide'), '--data', at('seen'), '--out', at('wide-rows'), '--device', 'emulated'],
      ...['--set', 'synth.starts=8', '--set', 'rollout.horizon=1'],
    );
    expect([code, record('wide-rows').device.precision]).toEqual([0, 'fp32']);
    expect(stderr).toContain('Computing in fp32: tf32 takes layers of up to 256 units');
  });

  it.skipIf(!hasAddon)('stays that of the run when it goes on', async () => {
    const { code } = await synth('resumed', '--device', 'emulated');
    expect(code).toBe(0);
    const before = record('resumed');
    const rewrite = (device: object) =>
      writeFileSync(join(at('resumed'), 'run.json'), JSON.stringify({ ...before, status: 'interrupted', device }));
    rewrite({ ...before.device, name: 'another GPU' });
    expect((await reverie('synth', '--resume', at('resumed'))).stderr).toContain('STATE_MISMATCH');
    rewrite(before.device);
    const resumed = await reverie('synth', '--resume', at('resumed'), '--json', '--quiet');
    expect(JSON.parse(resumed.stdout).device).toBe('host emulation, tf32');
  });

  it.each([
    [['synth', 'helpdesk', '--device', 'cuda'], /--device/],
    [['train', 'pendulum', '--set', 'train.mode=real', '--device', 'emulated'], /--device/],
  ])('that nothing would use is refused: %j', async (args, flag) => {
    const { code, stderr } = await reverie(...args, '--out', at('useless'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/FLAG_INVALID/);
    expect(stderr).toMatch(flag);
    expect(existsSync(at('useless'))).toBe(false);
  });
});
