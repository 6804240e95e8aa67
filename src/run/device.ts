// What a run computes on: the one place where `auto` becomes a device, or a number of threads. Decided before anything is written, told
// to the user, kept with the run, and the same when it is resumed.

import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { type CudaStatus, cudaStatus, requireDevice } from '../nn/cuda.js';
import type { DeviceFit, Precision } from '../nn/cuda-addon.js';
import type { TrainingDevice } from '../nn/trainer.js';
import type { DeviceFlags, JobContext, JobInputs, RunDevice } from './job.js';
import type { AnyScenario, Scenario } from './scenario.js';

/** A device as runs keep it; none of it is there for the processor by ONNX Runtime. `native` is what flags call `simd`. */
export const runDeviceSchema = z.strictObject({
  kind: z.enum(['cuda', 'emulated', 'native']).describe('what it is reached by'),
  precision: z.enum(['fp32', 'tf32']).describe('of the products'),
  name: z.string().describe('the GPU by name, or what stands for one'),
});

/** `cpu`, or the name of the device with the precision. */
export function deviceText(device: Pick<RunDevice, 'name' | 'precision'> | undefined): string {
  return device === undefined ? 'cpu' : `${device.name}, ${device.precision}`;
}

/** What gradient steps run on in a run on `device`: GPUs simulate alone. */
export function trainingDevice(device: RunDevice | undefined): TrainingDevice {
  return device?.kind === 'native' ? 'native' : 'cpu';
}

type Workers = Pick<JobContext, 'workers' | 'isAutoWorkers' | 'device'>;

/** Networks of a model that a run fits at a time: by vector code they need no worker threads, and take what cores there are. */
export function fitWorkers({ workers, isAutoWorkers, device }: Workers): number {
  return isAutoWorkers && trainingDevice(device) === 'native' ? availableParallelism() : workers;
}

/** A job of fewer transitions is over before threads have started. */
const ROWS_WORTH_THREADS = 100_000;

/** Threads for so many simulated rows; of many cores, one is left to the thread that writes. */
export function rolloutWorkers({ workers, isAutoWorkers }: Workers, rows: number): number {
  if (!isAutoWorkers) return workers;
  const cores = availableParallelism();
  return rows < ROWS_WORTH_THREADS ? 0 : Math.min(cores, Math.max(2, cores - 1));
}

/** Whether a model computes on a device in a precision. */
type ModelFit = (precision: Precision) => Promise<DeviceFit>;

/** What of a job a device can compute. */
interface DeviceNeeds {
  /** Of what it simulates with; absent: it does not simulate. */
  readonly simulates?: ModelFit;
  /** Whether the gradient steps of its learner, or of the model it fits, can be computed by vector code. */
  readonly trains: boolean;
}

/** Undefined where the job computes with no network that a device is for. */
async function needsOf(job: string, { config, folder }: Scenario, inputs: JobInputs): Promise<DeviceNeeds | undefined> {
  const { dynamicsKinds, folderDeviceFit, sectionDeviceFit } = await import('../worldmodel/kinds.js');
  const { train, rl, model } = config;
  if (job === 'fit') return { trains: dynamicsKinds.get(model.kind).fitsNatively === true };
  if (job === 'synth') {
    const { findInput } = await import('./pipeline/inputs.js');
    const given = findInput(inputs, 'model');
    const simulates: ModelFit = async (precision) =>
      given === undefined ? { precision } : folderDeviceFit(given, precision);
    return { simulates, trains: false };
  }
  if (job !== 'train') return undefined;
  const { learners } = await import('../rl/learners.js');
  const simulates: ModelFit = async (precision) => {
    const { makeEnvironment } = await import('../env/environments.js');
    const env = await makeEnvironment(config.env, { folder });
    return sectionDeviceFit(model, env, precision).finally(() => env.close());
  };
  return { ...(train.mode === 'dream' && { simulates }), trains: learners.get(rl.algorithm).trainsNatively === true };
}

/** By family of worlds. */
const NEEDS: Readonly<Record<string, typeof needsOf>> = { vector: needsOf };

interface SettledDevice {
  /** Undefined: the processor, by ONNX Runtime. */
  readonly device?: RunDevice;
  /** What was decided, and why, where that was not asked for. */
  readonly remark?: string;
}

/**
 * Where `job` is to simulate and to learn.
 * @throws CUDA_UNAVAILABLE, DEVICE_UNAVAILABLE, FLAG_INVALID  where what was asked for cannot be
 */
export async function settleDevice(
  { device = 'auto' }: DeviceFlags,
  job: string,
  scenario: AnyScenario,
  inputs: JobInputs,
): Promise<SettledDevice> {
  if (device === 'cpu') return {};
  const needs = await NEEDS[scenario.family]?.(job, scenario as Scenario, inputs);
  if (needs?.simulates !== undefined) return settle(device, scenario.config.name, needs.simulates);
  if (needs?.trains && isSimd(device))
    return settle(device, scenario.config.name, async (precision) => ({ precision }));
  if (device === 'auto') return {};
  const expected = needs?.trains
    ? `auto, cpu or simd, as this ${job} does not dream in learned dynamics`
    : `auto or cpu, as this ${job} computes on the processor by ONNX Runtime alone`;
  throw reverieError('FLAG_INVALID', { flag: '--device', value: device, expected });
}

/** Where the world model in `folder` is to run. @throws as `settleDevice` */
export async function settleModelDevice({ device = 'auto' }: DeviceFlags, folder: string): Promise<SettledDevice> {
  if (device === 'cpu') return {};
  const { folderDeviceFit } = await import('../worldmodel/kinds.js');
  return settle(device, folder, (precision) => folderDeviceFit(folder, precision));
}

type Asked = NonNullable<DeviceFlags['device']>;

const isSimd = (device: Asked) => device === 'simd' || device === 'native';

/** On a GPU in tf32, whose rounding, 2^-11 of each factor, lies far below what an ensemble is unsure of, or in fp32 where widths ask for it. */
async function settle(asked: Asked, backend: string, modelFit: ModelFit): Promise<SettledDevice> {
  const isAuto = asked === 'auto';
  const kind = isSimd(asked) ? 'native' : isAuto ? 'cuda' : (asked as RunDevice['kind']);
  const wanted: Precision = kind === 'native' ? 'fp32' : 'tf32';
  const status = kind === 'cuda' ? await cudaStatus() : undefined;
  if (isAuto && status?.missing)
    return { remark: `Dreaming on the processor: ${status.missing.problem} (reverie doctor says more).` };
  if (!isAuto) await requireDevice({ kind, precision: wanted });
  const { problem, reason, precision } = await modelFit(wanted);
  if (problem !== undefined) {
    if (isAuto) return { remark: `Dreaming on the processor: ${problem}.` };
    throw reverieError('DEVICE_UNAVAILABLE', {
      problem: `World model "${backend}" cannot run on ${asked}: ${problem}.`,
      hint: 'Use --device cpu, or --device auto, which uses a GPU only where it can.',
    });
  }
  // Widths that tensor cores do not take are nothing to vector code.
  const device = deviceOf(kind, kind === 'native' ? wanted : precision, status);
  if (device.precision === wanted) return { device, ...(isAuto && { remark: `Dreaming on ${deviceText(device)}.` }) };
  const widths = reason ?? `${wanted} takes layers of up to 256 units, and ${backend} has wider ones`;
  return { device, remark: `Computing in ${precision}: ${widths}.` };
}

/** The device of a run that is resumed. @throws CUDA_UNAVAILABLE, DEVICE_UNAVAILABLE, STATE_MISMATCH where it is not here */
export async function sameDevice(device: RunDevice | undefined): Promise<SettledDevice> {
  if (device === undefined) return {};
  await requireDevice(device);
  const here = deviceOf(device.kind, device.precision, device.kind === 'cuda' ? await cudaStatus() : undefined);
  if (here.name === device.name) return { device };
  throw reverieError('STATE_MISMATCH', {
    problem: `This run was begun on ${deviceText(device)}; it cannot go on on ${deviceText(here)}.`,
    hint: 'Go on on the same device: results of two devices differ in their last digits. Or begin a new run.',
  });
}

function deviceOf(kind: RunDevice['kind'], precision: Precision, status?: CudaStatus): RunDevice {
  // Not the width of its vectors: every one answers the same bytes, so a run may be resumed on another processor.
  const name = { native: 'native', emulated: 'host emulation', cuda: status?.gpus[0]?.name ?? '' }[kind];
  return { kind, precision, name };
}
