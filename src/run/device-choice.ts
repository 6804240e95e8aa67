// Which device a run gets: settled before anything is written, and the same when it goes on.

import { reverieError } from '../core/errors.js';
import { kinds } from '../kinds/registry.js';
import { type CudaStatus, cudaStatus, type DeviceTarget, requireDevice } from '../nn/cuda.js';
import type { DeviceFit, Precision } from '../nn/cuda-addon.js';
import { folderDeviceFit } from '../worldmodel/kinds.js';
import { deviceText, type RunDevice } from './device.js';
import type { DeviceFlags } from './device-flags.js';
import type { JobInputs } from './job.js';
import type { AnyScenario } from './scenario.js';

/**
 * tf32: its rounding, 2^-11 of each factor, lies far below what an ensemble is unsure of, and it computes faster than rows can
 * be brought to the host; bfloat16 rounds eight times as coarsely for speed that only statistics on the device could use.
 */
const DEFAULT_PRECISION: Precision = 'tf32';

/** What `native` computes in unless it is asked; gradient steps always. */
const NATIVE_PRECISION: Precision = 'fp32';
const NATIVE_PRECISIONS: readonly Precision[] = [NATIVE_PRECISION, 'bf16'];

type Asked = NonNullable<DeviceFlags['device']>;

/** What of a job a device can compute. */
export interface DeviceNeeds {
  /** Whether what it dreams with computes on a device in a wanted precision; absent: it does not dream. */
  readonly dreams?: (precision: Precision, kind: DeviceTarget['kind']) => Promise<DeviceFit>;
  /** Whether the gradient steps of its learner, or of the model it fits, can be computed by vector code. */
  readonly trains: boolean;
}

export interface SettledDevice {
  /** Undefined: the processor. */
  readonly device?: RunDevice;
  /** Why it is the processor, where a GPU would have been taken. */
  readonly remark?: string;
}

/**
 * Where `job` is to dream and to learn.
 * @throws CUDA_UNAVAILABLE, DEVICE_UNAVAILABLE, DEVICE_UNAVAILABLE, FLAG_INVALID  where what was asked for cannot be
 */
export async function settleDevice(
  { device: asked = 'auto', precision }: DeviceFlags,
  job: string,
  scenario: AnyScenario,
  inputs: JobInputs,
): Promise<SettledDevice> {
  if (asked === 'cpu') return onProcessor(asked, precision, job);
  const needsOf = await kinds.get(scenario.family).device?.();
  const needs = needsOf?.(job, scenario as never, inputs as never) as DeviceNeeds | undefined;
  if (needs?.dreams !== undefined) return settle(asked, precision, scenario.config.name, needs.dreams);
  if (asked !== 'native' || !needs?.trains) return onProcessor(asked, precision, job, needs?.trains);
  if (precision !== undefined && precision !== NATIVE_PRECISION) {
    const expected = `${NATIVE_PRECISION}, as this ${job} does not dream, and gradient steps are computed in no other`;
    throw reverieError('FLAG_INVALID', { flag: '--precision', value: precision, expected });
  }
  return settle(asked, precision, scenario.config.name, async (wanted) => ({ precision: wanted }));
}

/** Where the world model in `folder` is to run. @throws as `settleDevice` */
export async function settleModelDevice(
  { device: asked = 'auto', precision }: DeviceFlags,
  folder: string,
): Promise<SettledDevice> {
  if (asked === 'cpu') return onProcessor(asked, precision, 'server');
  return settle(asked, precision, folder, (wanted) => folderDeviceFit(folder, wanted));
}

async function settle(
  asked: Exclude<Asked, 'cpu'>,
  precision: Precision | undefined,
  backend: string,
  modelFit: NonNullable<DeviceNeeds['dreams']>,
): Promise<SettledDevice> {
  const wanted = precision ?? (asked === 'native' ? NATIVE_PRECISION : DEFAULT_PRECISION);
  if (asked === 'native' && !NATIVE_PRECISIONS.includes(wanted)) {
    const expected = `${NATIVE_PRECISIONS.join(' or ')}, which is all that the device native has`;
    throw reverieError('FLAG_INVALID', { flag: '--precision', value: wanted, expected });
  }
  const status = asked === 'auto' || asked === 'cuda' ? await cudaStatus() : undefined;
  if (asked === 'auto' && status?.missing)
    return { remark: `Dreaming on the processor: ${status.missing.problem} (reverie doctor says more).` };
  if (asked !== 'auto') await requireDevice({ kind: asked, precision: wanted });
  const fit = await modelFit(wanted, asked === 'auto' ? 'cuda' : asked);
  const { problem, reason } = fit;
  // Widths that tensor cores do not take are nothing to vector code.
  const used = asked === 'native' ? wanted : fit.precision;
  if (problem === undefined && used === wanted) return { device: deviceOf(asked, used, status) };
  if (problem === undefined) {
    const widths = reason ?? `${wanted} takes layers of up to 256 units, and ${backend} has wider ones`;
    if (precision !== undefined) {
      throw reverieError('FLAG_INVALID', { flag: '--precision', value: precision, expected: `${used}: ${widths}` });
    }
    return { device: deviceOf(asked, used, status), remark: `Computing in ${used}: ${widths}.` };
  }
  if (asked === 'auto') return { remark: `Dreaming on the processor: ${problem}.` };
  throw reverieError('DEVICE_UNAVAILABLE', {
    problem: `World model "${backend}" cannot run on ${asked}: ${problem}.`,
    hint: 'Use --device cpu, or --device auto, which uses a GPU only where it can.',
  });
}

/** The device of a run that goes on. @throws CUDA_UNAVAILABLE, DEVICE_UNAVAILABLE, STATE_MISMATCH where it is not here */
export async function sameDevice(device: RunDevice | undefined): Promise<SettledDevice> {
  if (device === undefined) return {};
  await requireDevice(device);
  const here = deviceOf(device.kind, device.precision, device.kind === 'cuda' ? await cudaStatus() : undefined);
  if (here.name !== device.name) {
    throw reverieError('STATE_MISMATCH', {
      problem: `This run was begun on ${deviceText(device)}; it cannot go on on ${deviceText(here)}.`,
      hint: 'Go on on the same device: results of two devices differ in their last digits. Or begin a new run.',
    });
  }
  return { device };
}

function onProcessor(
  asked: string,
  precision: Precision | undefined,
  job: string,
  trainsNatively = false,
): SettledDevice {
  if (asked !== 'auto' && asked !== 'cpu') {
    const devices = trainsNatively ? 'auto, cpu or native' : 'auto or cpu';
    const expected = `${devices}, as this ${job} does not dream in learned dynamics`;
    throw reverieError('FLAG_INVALID', { flag: '--device', value: asked, expected });
  }
  if (precision !== undefined) {
    throw reverieError('FLAG_INVALID', { flag: '--precision', value: precision, expected: 'none on the processor' });
  }
  return {};
}

function deviceOf(asked: Exclude<Asked, 'cpu'>, precision: Precision, status?: CudaStatus): RunDevice {
  // Not the width of its vectors: every one answers the same bytes, so a run may go on on another processor.
  if (asked === 'native') return { kind: 'native', precision, name: 'native' };
  if (asked === 'emulated') return { kind: 'emulated', precision, name: 'host emulation' };
  return { kind: 'cuda', precision, name: status!.gpus[0].name };
}
