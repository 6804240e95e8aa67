// The jobs by name, each loaded when it is asked for, so that `--help` need not load physics and networks.

import type { CollectResult, EvalResult, FitResult, Job, QuickstartResult, SynthResult, TrainResult } from './job.js';

export type AnyJobResult = CollectResult | FitResult | SynthResult | TrainResult | EvalResult | QuickstartResult;
export type JobName = AnyJobResult['job'];

export const loadJob: Readonly<Record<JobName, () => Promise<Job<AnyJobResult>>>> = {
  collect: async () => (await import('./pipeline/collect.js')).collectJob,
  fit: async () => (await import('./pipeline/fit.js')).fitJob,
  synth: async () => (await import('./pipeline/synth.js')).synthJob,
  train: async () => (await import('./pipeline/train.js')).trainJob,
  eval: async () => (await import('./pipeline/eval.js')).evalJob,
  quickstart: async () => (await import('./pipeline/quickstart.js')).quickstartJob,
};
