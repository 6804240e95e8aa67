// By whose doing an episode came out as it did: one form for every protocol, row and report. A failure that the policy cannot
// have caused is no reward of 0: it has none, and its row is tried again.

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

/** Only `judged` and `failed_by_agent` may carry a reward; without one they could not be decided. */
export interface Outcome {
  readonly kind: OutcomeKind;
  /** Why it failed, or was not decided; null where the verdict says it all. */
  readonly cause: string | null;
}

export interface AttemptOutcome extends Outcome {
  /** Names the attempt at the episode: a row that is tried again has another one. */
  readonly attempt: string;
}

/** Above this an episode counts as a success, wherever successes are counted. */
const SUCCESS = 0.5;

export function isSuccess(worth: number): boolean {
  return worth > SUCCESS;
}

/** What an episode came to in words, the same in terminal, report and card. */
export function outcomeText({ kind }: Outcome, worth: number | null): string {
  if (worth !== null) return isSuccess(worth) ? 'succeeded' : 'failed';
  return kind === 'judged' ? 'not judged' : kind.replaceAll('_', ' ');
}

/** Whether it says anything of the policy. */
export function isOfPolicy({ kind }: Outcome): boolean {
  return kind === 'judged' || kind === 'failed_by_agent';
}

/** What, beside a verdict, decides how an episode came out; gathered while it goes on. */
export interface EpisodeFacts {
  /** What of the agent's ran out, where that ended it. */
  readonly ranOut?: string;
  /** Why a call was refused first. */
  readonly refused?: string;
  /** Which answer was too doubtful to go on from. */
  readonly doubted?: string;
  /** What the simulated user did that no user may do. */
  readonly userFault?: string;
  /** Why nothing that followed could show success: a failure is then no failure. */
  readonly untold?: string;
}

/** Pages themselves say when they are solved, which those that a model writes cannot. */
const UNTOLD = 'a model wrote what followed, and only the real world says whether it was solved';

/** What answers to calls add to the facts of an episode. @param earned parts of the state in which a world itself says what was earned */
export function withAnswers(
  facts: EpisodeFacts,
  predictions: readonly Prediction[],
  earned: readonly string[] = [],
): EpisodeFacts {
  const isWritten = predictions.some(({ claimed, operations }) => claimed !== undefined && operations.length > 0);
  const untold = facts.untold ?? (earned.length > 0 && isWritten ? UNTOLD : undefined);
  const refused = facts.refused ?? predictions.flatMap((one) => one.refused?.at(-1) ?? []).at(0);
  const doubt = predictions.find(({ truncated }) => truncated);
  const doubted = doubt && `${doubt.backend} answered with a confidence of ${doubt.confidence}`;
  return {
    ...facts,
    ...(refused !== undefined && { refused }),
    ...(doubted !== undefined && { doubted }),
    ...(untold !== undefined && { untold }),
  };
}

export interface Settled {
  readonly verdict: Verdict;
  readonly outcome: Outcome;
}

/** The verdict as far as it may stand, and the outcome. A refused call may be why an episode failed, and not why it succeeded. */
export function settle(verdict: Verdict, { ranOut, refused, doubted, userFault, untold }: EpisodeFacts): Settled {
  const { reward, checks } = verdict;
  if (userFault !== undefined) return failed(verdict, 'failed_by_user', userFault);
  if (doubted !== undefined) return failed(verdict, 'failed_by_simulator', doubted);
  if (reward === null) {
    const open = checks.find(({ passed }) => passed === null);
    const cause = open === undefined ? 'nothing was checked' : `${open.name}: ${open.reason}`;
    return { verdict, outcome: { kind: 'judged', cause } };
  }
  if (reward >= 1) return { verdict, outcome: { kind: 'judged', cause: null } };
  if (untold !== undefined)
    return { verdict: withoutReward(verdict, untold), outcome: { kind: 'judged', cause: untold } };
  if (refused !== undefined) return failed(verdict, 'failed_by_simulator', `it refused a call: ${refused}`);
  return { verdict, outcome: { kind: ranOut === undefined ? 'judged' : 'failed_by_agent', cause: ranOut ?? null } };
}

function failed(verdict: Verdict, kind: OutcomeKind, cause: string): Settled {
  return { verdict: withoutReward(verdict, cause), outcome: { kind, cause } };
}

/** The checks stay, as what was found; what they would have been worth does not. */
export function withoutReward({ checks }: Verdict, reason: string): Verdict {
  return { reward: null, checks: [...checks, { name: 'reward', passed: null, reason }] };
}
