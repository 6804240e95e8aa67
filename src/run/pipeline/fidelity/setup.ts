// What opening the models under judgement takes: plain data, so that worker threads open the same ones.

import type { Subject, TruthReport } from '../../../fidelity/index.js';
import type { JobContext, JobInputs } from '../../job.js';
import type { AnyScenario, Scenario } from '../../scenario.js';

export interface FidelitySetup<S extends AnyScenario = Scenario> {
  readonly scenario: S;
  readonly seed: number;
  readonly inputs: JobInputs;
  /** The run's folder: what openers record or prepare is kept there, once. */
  readonly out: string;
}

/** What only the main thread has. */
export type FidelityServices = Pick<JobContext, 'signal' | 'progress' | 'log'>;

export interface OpenedSubjects {
  readonly truth: TruthReport;
  /** Identifies truth, plan and seed: kept chunks of another are not taken. */
  readonly identity: string;
  readonly subjects: readonly Subject[];
  close(): Promise<void>;
}
