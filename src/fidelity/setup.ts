// What opening the models under judgement takes, what it gives, and what is asked of each.

import { ReverieError } from '../core/errors.js';
import type { Panel } from '../core/evaluation-set.js';
import type { OpenPhase } from '../core/progress.js';
import { remoteEnvironment } from '../env/remote/remote.js';
import type { Instrument, Subject } from './measure.js';
import type { SectionId, TruthReport } from './report.js';

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

/** A question about fidelity, as one kind of world asks it. */
export interface Question<Judged> {
  readonly id: SectionId;
  /** Asked wherever this one is, too. */
  readonly comesWith?: SectionId;
  /** Says of itself what it cannot measure of this model. */
  readonly ask: (judged: Judged) => Instrument;
}

/** Instruments of those questions that are among the sections. */
export function instrumentsOf<Judged>(
  questions: readonly Question<Judged>[],
  judged: Judged,
  sections: readonly SectionId[],
): Instrument[] {
  return questions
    .filter(({ id, comesWith = id }) => sections.includes(id) || sections.includes(comesWith))
    .map(({ ask }) => ask(judged));
}

export function isUrl(given: string): boolean {
  return /^https?:\/\//.test(given);
}

/** The environment behind a URL called as the scenario is, else the server's default one. @throws as `remoteEnvironment` */
export async function judgedEnvironment(url: string, scenario: string): ReturnType<typeof remoteEnvironment> {
  try {
    return await remoteEnvironment(url, { environment: scenario });
  } catch (error) {
    if (!(error instanceof ReverieError && error.code === 'ENV_NOT_SERVED')) throw error;
    return remoteEnvironment(url);
  }
}
