// Outcome of an episode and who caused it: one form for all protocols, rows and reports. A failure that the policy
// cannot have caused gives no reward, rather than 0, and its row is retried.

import type { Verdict } from './domain.js';
import type { Prediction } from './prediction.js';

export const OUTCOMES = [
  'judged',
  'failed_by_agent',
  'failed_by_user',
  'failed_by_simulator',
  'failed_by_infrastructure',
] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

/** Only `judged` and `failed_by_agent` may carry a reward; without a reward they could not be decided. */
export interface Outcome {
  readonly kind: OutcomeKind;
  /** Why it failed or was not decided; null if the verdict says it. */
  readonly cause: string | null;
}

export interface AttemptOutcome extends Outcome {
  /** Id of the attempt: a retried row has another one. */
  readonly attempt: string;
}

/** Threshold of success. */
const SUCCESS = 0.5;

export function isSuccess(worth: number): boolean {
  return worth > SUCCESS;
}

/** The outcome in words, the same in terminal, report and card. */
export function outcomeText({ kind }: Outcome, worth: number | null): string {
  if (worth !== null) return isSuccess(worth) ? 'succeeded' : 'failed';
  return kind === 'judged' ? 'not judged' : kind.replaceAll('_', ' ');
}

/** Whether the outcome reflects on the policy. */
export function isOfPolicy({ kind }: Outcome): boolean {
  return kind === 'judged' || kind === 'failed_by_agent';
}

/** Facts that decide the outcome beside the verdict, collected during the episode. */
export interface EpisodeFacts {
  /** The agent's limit that ended the episode, if any. */
  readonly ranOut?: string;
  /** Reason of the first refused call. */
  readonly refused?: string;
  /** The answer whose confidence was too low to continue. */
  readonly doubted?: string;
  /** Invalid behaviour of the simulated user. */
  readonly userFault?: string;
  /** Why success cannot be determined: a failure then does not count. */
  readonly undecidable?: string;
}

/** Real pages report when they are solved; pages written by a model cannot. */
const UNDECIDABLE = 'a model wrote what followed, and only the real world says whether it was solved';

/** Adds facts from answers to calls. @param earned parts of the state in which the world itself reports rewards */
export function withAnswers(
  facts: EpisodeFacts,
  predictions: readonly Prediction[],
  earned: readonly string[] = [],
): EpisodeFacts {
  const isWritten = predictions.some(({ claimed, operations }) => claimed !== undefined && operations.length > 0);
  const undecidable = facts.undecidable ?? (earned.length > 0 && isWritten ? UNDECIDABLE : undefined);
  const refused = facts.refused ?? predictions.flatMap((one) => one.refused?.at(-1) ?? []).at(0);
  const doubt = predictions.find(({ truncated }) => truncated);
  const doubted = doubt && `${doubt.backend} answered with a confidence of ${doubt.confidence}`;
  return {
    ...facts,
    ...(refused !== undefined && { refused }),
    ...(doubted !== undefined && { doubted }),
    ...(undecidable !== undefined && { undecidable }),
  };
}

export interface Settled {
  readonly verdict: Verdict;
  readonly outcome: Outcome;
}

/** The verdict that counts, and the outcome. A refused call can explain a failure, never a success. */
export function settle(verdict: Verdict, { ranOut, refused, doubted, userFault, undecidable }: EpisodeFacts): Settled {
  const { reward, checks } = verdict;
  if (userFault !== undefined) return failed(verdict, 'failed_by_user', userFault);
  if (doubted !== undefined) return failed(verdict, 'failed_by_simulator', doubted);
  if (reward === null) {
    const open = checks.find(({ passed }) => passed === null);
    const cause = open === undefined ? 'nothing was checked' : `${open.name}: ${open.reason}`;
    return { verdict, outcome: { kind: 'judged', cause } };
  }
  if (reward >= 1) return { verdict, outcome: { kind: 'judged', cause: null } };
  if (undecidable !== undefined)
    return { verdict: withoutReward(verdict, undecidable), outcome: { kind: 'judged', cause: undecidable } };
  if (refused !== undefined) return failed(verdict, 'failed_by_simulator', `it refused a call: ${refused}`);
  return { verdict, outcome: { kind: ranOut === undefined ? 'judged' : 'failed_by_agent', cause: ranOut ?? null } };
}

function failed(verdict: Verdict, kind: OutcomeKind, cause: string): Settled {
  return { verdict: withoutReward(verdict, cause), outcome: { kind, cause } };
}

/** Keeps the checks and removes the reward. */
export function withoutReward({ checks }: Verdict, reason: string): Verdict {
  return { reward: null, checks: [...checks, { name: 'reward', passed: null, reason }] };
}
