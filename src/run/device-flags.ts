// The devices a run can dream on, and the precision of their products, as flags name them.

import type { Precision } from '../nn/cuda-addon.js';

export const DEVICES = ['auto', 'cpu', 'native', 'cuda', 'emulated'] as const;
export const PRECISIONS = ['fp32', 'tf32', 'bf16'] as const satisfies readonly Precision[];

export interface DeviceFlags {
  /** `auto` unless given. */
  readonly device?: (typeof DEVICES)[number];
  readonly precision?: Precision;
}
