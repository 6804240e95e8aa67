// Errors of devices that models run on: GPUs, and their emulation.

import type { ErrorEntry } from './error-entry.js';

export const DEVICE_ERRORS = {
  CUDA_UNAVAILABLE: { status: 503, message: 'No GPU can be used: {problem}.', hint: '{hint}' },
  NATIVE_UNAVAILABLE: { status: 503, message: 'The device native cannot be used: {problem}.', hint: '{hint}' },
  CUDA_OUT_OF_MEMORY: {
    status: 507,
    message: 'The memory of {device} does not suffice: {problem}.',
    hint: 'Close what else uses the GPU (nvidia-smi shows it), give smaller batches (rollout.chunkRows), or use --device cpu.',
  },
  CUDA_FAILED: {
    status: 500,
    message: '{device} failed: {problem}.',
    hint: 'Start the process again, as a GPU may be unusable after a failure; reverie doctor tells its state. --device cpu does without it.',
  },
  DEVICE_UNSUPPORTED: {
    status: 422,
    message: 'World model "{backend}" cannot run on {device}: {problem}.',
    hint: 'Use --device cpu, or --device auto, which uses a GPU only where it can.',
  },
  DEVICE_CHANGED: {
    status: 409,
    message: 'This run was begun on {before}; it cannot go on on {now}.',
    hint: 'Go on on the same device: results of two devices differ in their last digits. Or begin a new run.',
  },
} as const satisfies Record<string, ErrorEntry>;
