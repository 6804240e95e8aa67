// What a comparison and its threads tell each other.

import type { PackedError } from '../../core/errors.js';
import type { TrainResult } from '../job.js';
import type { Scenario } from '../scenario.js';

export interface ArmTask {
  readonly arm: string;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly out: string;
  readonly resume: boolean;
  readonly finalEpisodes: number;
}

/** How far a run is, sent now and then. */
export interface ArmMessage {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

export interface ArmReply {
  readonly result: TrainResult;
  readonly finalReturns: readonly number[];
}

/** What a thread answers: a failure crosses as data, so that its catalogue code survives. */
export type ArmOutcome =
  | { readonly kind: 'done'; readonly reply: ArmReply }
  | { readonly kind: 'failed'; readonly error: PackedError };
