// The jobs by name, each loaded when it is asked for, so that `--help` need not load physics and networks.

import type {
  CollectResult,
  EvalResult,
  FidelityResult,
  FitResult,
  QuickstartResult,
  SynthResult,
  TrainResult,
} from './job.js';
import type { Jobs } from './job-families.js';
import type { AuditResult, ExportResult, RealEpisodesResult, SynthEpisodesResult } from './tools-results.js';

export type AnyJobResult =
  | CollectResult
  | FitResult
  | SynthResult
  | SynthEpisodesResult
  | RealEpisodesResult
  | AuditResult
  | ExportResult
  | TrainResult
  | EvalResult
  | FidelityResult
  | QuickstartResult;
export type JobName = AnyJobResult['job'];

export const loadJob: Readonly<Record<JobName, Jobs<AnyJobResult>>> = {
  collect: {
    vector: async () => (await import('./pipeline/collect.js')).collectJob,
    tools: async () => (await import('./pipeline/tools/real-episodes.js')).collectEpisodesJob,
  },
  fit: { vector: async () => (await import('./pipeline/fit.js')).fitJob },
  synth: {
    vector: async () => (await import('./pipeline/synth.js')).synthJob,
    tools: async () => (await import('./pipeline/tools/synth-episodes.js')).synthEpisodesJob,
  },
  train: { vector: async () => (await import('./pipeline/train.js')).trainJob },
  eval: {
    vector: async () => (await import('./pipeline/eval.js')).evalJob,
    tools: async () => (await import('./pipeline/tools/real-episodes.js')).evalEpisodesJob,
  },
  fidelity: {
    vector: async () => (await import('./pipeline/fidelity/fidelity-job.js')).vectorFidelityJob,
    tools: async () => (await import('./pipeline/fidelity/fidelity-job.js')).toolsFidelityJob,
  },
  audit: { tools: async () => (await import('./pipeline/tools/audit.js')).auditJob },
  export: { tools: async () => (await import('./pipeline/tools/export-episodes.js')).exportJob },
  quickstart: { vector: async () => (await import('./pipeline/quickstart.js')).quickstartJob },
};

/** `reverie worker`, which lives rows of others' jobs. */
export const loadWorker = async () => (await import('./queue/work.js')).workUntilInterrupted;
