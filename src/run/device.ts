// The device a run dreams and learns on, as the run keeps it.

import { availableParallelism } from 'node:os';
import { z } from 'zod';
import type { DeviceTarget } from '../nn/cuda.js';
import type { TrainingDevice } from '../nn/trainer.js';
import { PRECISIONS } from './device-flags.js';

/** A device as runs keep it; none of it is there for the processor. */
export const runDeviceSchema = z.strictObject({
  kind: z.enum(['cuda', 'emulated', 'native']).describe('what it is reached by'),
  precision: z.enum(PRECISIONS).describe('of the products'),
  name: z.string().describe('the GPU by name, or what stands for one'),
});
export type RunDevice = Readonly<z.output<typeof runDeviceSchema>> & DeviceTarget;

/** `cpu`, or the name of the GPU with the precision. */
export function deviceText(device: Pick<RunDevice, 'name' | 'precision'> | undefined): string {
  return device === undefined ? 'cpu' : `${device.name}, ${device.precision}`;
}

/** What gradient steps run on in a run on `device`: GPUs dream alone. */
export function trainingDevice(device: RunDevice | undefined): TrainingDevice {
  return device?.kind === 'native' ? 'native' : 'cpu';
}

/** Networks of a model that a run fits at a time: by vector code they need no worker threads, and take what cores there are. */
export function fitWorkers(run: {
  readonly workers: number;
  readonly isAutoWorkers?: boolean;
  readonly device?: RunDevice;
}): number {
  const takesCores = run.isAutoWorkers === true && trainingDevice(run.device) === 'native';
  return takesCores ? availableParallelism() : run.workers;
}
