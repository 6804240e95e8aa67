// What opening the models under judgement takes, and what it gives.

import type { Panel } from '../core/evaluation-set.js';
import type { OpenPhase } from '../core/progress.js';
import type { Subject } from './instrument.js';
import type { TruthReport } from './report/fidelity-report.js';

/** Folders and addresses the user named. */
export interface FidelityInputs {
  readonly data?: string;
  readonly model?: string;
  readonly checkpoint?: string;
  readonly heldOut?: string;
  readonly compare?: readonly string[];
  readonly url?: string;
}

/** Plain data, so that worker threads open the same models. */
export interface FidelitySetup<S> {
  readonly scenario: S;
  readonly seed: number;
  readonly inputs: FidelityInputs;
  /** The run's folder: what openers record or prepare is kept there, once. */
  readonly out: string;
}

/** What only the main thread has. */
export interface FidelityServices {
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
  readonly progress: { readonly phase: OpenPhase };
}

export interface OpenedSubjects {
  readonly truth: TruthReport;
  /** Identifies truth, plan and seed: kept chunks of another are not taken. */
  readonly identity: string;
  /** What all models are measured on. */
  readonly panel: Panel;
  readonly subjects: readonly Subject[];
  close(): Promise<void>;
}

export function isUrl(given: string): boolean {
  return /^https?:\/\//.test(given);
}
