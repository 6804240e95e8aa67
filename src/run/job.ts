// What a job is: the context every job receives, and the JSON-safe results they answer.

import type { Panel } from '../core/evaluation-set.js';
import type { Report } from '../core/report.js';
import type { GateResult } from '../fidelity/report.js';
import type { DeviceTarget } from '../nn/cuda.js';
import type { Precision } from '../nn/cuda-addon.js';
import type { ReturnSummary } from '../rl/evaluate.js';
import type { TrainEvaluation } from '../training/training.js';
import type { ArmSummary, BreakEven } from '../training/warm-start.js';
import type { HeldOutReport } from '../worldmodel/dynamics.js';
import type { MetricsWriter } from './metrics.js';
import type { FitVerdict } from './pipeline/fit-verdict.js';
import type { Progress } from './progress.js';
import type { AnyScenario, Scenario } from './scenario.js';

export const DEVICES = ['auto', 'cpu', 'simd', 'cuda', 'emulated'] as const;
export const PRECISIONS = ['fp32', 'tf32'] as const satisfies readonly Precision[];

/** The device that a run is asked to use, and the precision of its products. */
export interface DeviceFlags {
  /** `auto` unless given; `native` is what `simd` was called. */
  readonly device?: (typeof DEVICES)[number] | 'native';
  readonly precision?: Precision;
}

/** A device as runs keep it; absent for the processor by ONNX Runtime. */
export interface RunDevice extends DeviceTarget {
  /** The GPU by name, or what stands for one. */
  readonly name: string;
}

/** Folders of earlier work that a job starts from; absolute paths, checked to exist. */
export interface JobInputs {
  /** A replay snapshot, or a run that holds one. */
  readonly data?: string;
  /** A world model, or a run that holds one. */
  readonly model?: string;
  /** A checkpoint, or a run that holds one. */
  readonly checkpoint?: string;
  /** Episodes of tools, or a run that holds them. */
  readonly episodes?: string;
  /** `fidelity`: recorded episodes or transitions that the model must not have seen. */
  readonly heldOut?: string;
  /** A fidelity report, or the run that made it: what `auto` horizons are taken from. */
  readonly fidelity?: string;
  /** `fidelity`: further models to judge. */
  readonly compare?: readonly string[];
  /** `fidelity`: what the first model must reach, each `section.metric=limit`. */
  readonly failUnder?: readonly string[];
  /** The panel the run must have: a hash, or the file or folder of a run that names one. */
  readonly panel?: string;
}

/** Inputs that are found in folders. */
export type FolderInput = 'data' | 'model' | 'checkpoint' | 'episodes' | 'heldOut' | 'fidelity';

export interface JobContext<S extends AnyScenario = Scenario> {
  readonly scenario: S;
  readonly seed: number;
  /** Worker threads; 0: in this thread. Never changes results. */
  readonly workers: number;
  /** Nobody said how many: `workers` is 0, and a job that gains by more may take as many as help. */
  readonly isAutoWorkers?: boolean;
  /** What learned dynamics run on; the processor unless given. */
  readonly device?: RunDevice;
  /** The run's own folder; exists. */
  readonly out: string;
  readonly inputs: JobInputs;
  /** True when `out` holds this job's earlier, unfinished work to go on with. */
  readonly resume: boolean;
  /** Aborts when the user asks to stop: reach the next safe point, write a checkpoint, then call `interrupted()`. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly metrics: MetricsWriter;
  /** URL of the queue that rows are lived over; absent: here. */
  readonly queue?: string;
  /** One line for a human, shown above the progress bars. */
  readonly log: (line: string) => void;
  /** The command line that began the run, for its report; absent where there was none. */
  readonly command?: string;
}

/** What every job answers. It becomes `result.json`, and with `--json` the one object on stdout. */
export interface JobResult {
  readonly job: string;
  /** The kind of world; absent where one kind alone has the job. */
  readonly family?: string;
  readonly wallSeconds: number;
  /** What its figures were measured on; absent where it has none. */
  readonly panel?: Panel;
}

export interface CollectResult extends JobResult {
  readonly job: 'collect';
  readonly family: 'vector';
  /** Folder of the replay snapshot. */
  readonly data: string;
  readonly transitions: number;
  readonly episodes: number;
  /** Mean return of finished episodes; null if none finished. */
  readonly meanReturn: number | null;
  readonly panel: Panel;
}

export interface FitResult extends JobResult {
  readonly job: 'fit';
  /** Folder of the world model. */
  readonly model: string;
  readonly modelVersion: string;
  /** What gradient steps ran on: `cpu`, or `native` with its precision. */
  readonly device: string;
  readonly transitions: number;
  readonly epochs: number;
  /** Held-out one-step error of the mean prediction, in units of the data's standard deviation. */
  readonly holdoutError: number;
  /** The same of a learned reward that changes. */
  readonly rewardError?: number;
  /** What the model is worth element by element, beside simple ones; absent for a kind that cannot say. */
  readonly heldOut?: HeldOutReport;
  /** Whether that is any good; absent likewise. */
  readonly verdict?: FitVerdict;
  readonly panel: Panel;
  /** File of the HTML report. */
  readonly report: string;
}

export interface SynthResult extends JobResult {
  readonly job: 'synth';
  readonly family: 'vector';
  /** Folder of the replay snapshot. */
  readonly data: string;
  /** Files and folders of the exported datasets. */
  readonly datasets: readonly string[];
  readonly modelVersion: string;
  /** What the dynamics ran on: `cpu`, or a GPU with its precision. */
  readonly device: string;
  readonly transitions: number;
  /** Branches cut short by disagreement. */
  readonly truncatedByDoubt: number;
  readonly transitionsPerSecond: number;
  readonly panel: Panel;
}

export interface TrainResult extends JobResult {
  readonly job: 'train';
  readonly mode: 'real' | 'dream' | 'offline';
  /** What dynamics and gradient steps ran on: `cpu`; `native` with its precision; or a GPU, which computes the dynamics alone. */
  readonly device: string;
  /** Folder of the last checkpoint. */
  readonly checkpoint: string;
  readonly realSteps: number;
  readonly syntheticSteps: number;
  readonly updates: number;
  readonly evaluations: readonly TrainEvaluation[];
  readonly threshold: number | null;
  /** Real steps at the first evaluation that reached the threshold; null if none did. */
  readonly realStepsToThreshold: number | null;
  /** How it was dreamt; absent where it was not. */
  readonly dream?: DreamReport;
  /** What was learned from; absent where rows were lived. */
  readonly records?: RecordsReport;
  /** What was drawn from a diffusion of the real rows; absent where nothing was. */
  readonly generative?: GenerativeReport;
}

/** Records that were learned from as they are. */
export interface RecordsReport {
  readonly real: number;
  readonly synthetic: number;
}

/** Rows drawn from diffusions, all of them synthetic; none of them counts as dreamt. */
export interface GenerativeReport {
  /** Diffusions that were fitted. */
  readonly fits: number;
  readonly rows: number;
  /** Share of drawn rows in a batch. */
  readonly share: number;
  /** Real rows the last was fitted to, and its version; as in the provenance of its rows. Null before the first. */
  readonly fittedTo: number | null;
  readonly modelVersion: string | null;
}

/** Settings that found themselves. */
export interface DreamReport {
  /** Rounds, and those of them whose model was not dreamt in. */
  readonly rounds: number;
  readonly shutRounds: number;
  /** Why it was not, the last time; null where it always was. */
  readonly shutBecause: string | null;
  /** Of the last round: each setting by its key, its value and the reason. */
  readonly settings: readonly { readonly key: string; readonly value: string; readonly reason: string }[];
}

export interface EvalResult extends JobResult, ReturnSummary {
  readonly job: 'eval';
  readonly family: 'vector';
  readonly checkpoint: string;
  readonly returns: readonly number[];
}

export interface FidelityResult extends JobResult {
  readonly job: 'fidelity';
  readonly family: string;
  /** File of the HTML report; Markdown and JSON lie beside it. */
  readonly report: string;
  /** Whether all gates passed; true where there were none. */
  readonly passed: boolean;
  readonly gates: readonly GateResult[];
  /** Name of each model, and its most telling figures. */
  readonly subjects: readonly {
    readonly name: string;
    readonly version: string;
    readonly headlines: readonly { readonly label: string; readonly text: string }[];
  }[];
}

export interface QuickstartResult extends JobResult {
  readonly job: 'quickstart';
  readonly threshold: number;
  readonly arms: readonly ArmSummary[];
  /** Name of the baseline that reached the threshold in the fewest real steps; null if none did. */
  readonly best: string | null;
  /** Median real steps of the best baseline over median real steps warm-started; null if either was not reached. */
  readonly ratio: number | null;
  /** From which price of a real step on the dream is the cheapest way. */
  readonly breakEven: BreakEven;
  /** The policy to go on with: of the way that needed the fewest real steps, the dream or not, the run whose final return was best. */
  readonly policy: { readonly arm: string; readonly seed: number; readonly checkpoint: string };
  /** File of the HTML report. */
  readonly report: string;
  /** What the table and the report are made from. */
  readonly reportInput: Report;
}

/** Call at a safe point, after the checkpoint is written. @throws JobInterrupted: everything is on disk */
export function interrupted(): never {
  throw new JobInterrupted('The job was stopped at a safe point.');
}

export class JobInterrupted extends Error {}
