// What every job is given, and what every job answers.

import type { Awaitable } from '../core/environment.js';
import type { EvaluationSet } from '../core/evaluation-set.js';
import type { Report } from '../core/report.js';
import type { DeviceTarget } from '../nn/cuda.js';
import type { MetricsWriter } from './metrics.js';
import type { Progress } from './progress.js';
import type { AnyScenario, Scenario } from './scenario.js';

export const DEVICES = ['auto', 'cpu', 'simd', 'cuda', 'emulated'] as const;

/** The device that a run is asked to use. */
export interface DeviceFlags {
  /** `auto` unless given; `native` is what `simd` was called. */
  readonly device?: (typeof DEVICES)[number] | 'native';
}

/** A device as runs keep it; absent for the processor by ONNX Runtime. */
export interface RunDevice extends DeviceTarget {
  /** The GPU by name, or what stands for one. */
  readonly name: string;
}

/** What a job starts from: folders of earlier work, as absolute paths checked to exist, and what `fidelity` judges by. */
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
  /** `fidelity`: further models to judge. */
  readonly compare?: readonly string[];
  /** `fidelity`: what the first model must reach, each `section.metric=limit`. */
  readonly failUnder?: readonly string[];
  /** `audit`: the tasks alone. */
  readonly tasks?: boolean;
}

/** Inputs that are found in folders. */
export type FolderInput = 'data' | 'model' | 'checkpoint' | 'episodes' | 'heldOut';

export interface JobContext<S extends AnyScenario = Scenario> {
  readonly scenario: S;
  readonly seed: number;
  /** Worker threads; 0: in this thread. Never changes results. */
  readonly workers: number;
  /** `workers` is 0 by default, and a job that gains by more may take as many as help. */
  readonly isAutoWorkers?: boolean;
  /** What learned dynamics run on; the processor unless given. */
  readonly device?: RunDevice;
  /** The run's own folder; exists. */
  readonly out: string;
  readonly inputs: JobInputs;
  /** True when `out` holds this job's earlier, unfinished work to resume. */
  readonly resume: boolean;
  /** Aborts when the user asks to stop: reach the next safe point, write a checkpoint, then throw its reason. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly metrics: MetricsWriter;
  /** URL of the queue whose workers run the rows; absent: they run here. */
  readonly queue?: string;
  /** One line for a human, shown above the progress bars. */
  readonly log: (line: string) => void;
  /** What the terminal shows once the job is done: see `publish`, which also writes it as a page. */
  readonly show: (report: Report) => void;
  /** The command line that began the run, for its report; absent where there was none. */
  readonly command?: string;
}

/** What `work` answers; if it fails, what was opened for it is closed. */
export async function closedOnFailure<T>(opened: { close(): Awaitable<void> }, work: () => Awaitable<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** What every job answers, plain JSON. It becomes `result.json`, and with `--json` the one object on stdout. */
export interface JobResult {
  readonly job: string;
  /** The kind of world; absent where one kind alone has the job. */
  readonly family?: string;
  readonly wallSeconds: number;
  /** What its figures were measured on; absent where it has none. */
  readonly evaluationSet?: EvaluationSet;
  /** File of the HTML report. */
  readonly report?: string;
}
