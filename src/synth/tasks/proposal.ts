// What is proposed as a new task, and why one is not taken: shared by what makes proposals and what judges them.

import type { ToolsTask } from '../../env/tools/domain.js';

/** Why a proposal is no task, by kind. */
export type RejectionCode =
  | 'no_variant'
  | 'seed_split'
  | 'malformed'
  | 'bad_call'
  | 'unknown_id'
  | 'bad_start'
  | 'reference_fails'
  /** It needs a judge. */
  | 'undecidable'
  /** Its verifier lets a way to fail pass. */
  | 'verifier_weak'
  | 'near_duplicate'
  /** Shares words with a task for validation or test. */
  | 'contaminated';

export interface Rejection {
  readonly code: RejectionCode;
  /** One sentence. */
  readonly detail: string;
}

/** A task that may be added; or, where none could be made, why not. */
export interface TaskProposal {
  readonly task?: ToolsTask;
  readonly seed: ToolsTask;
  /** Why there is no task; empty where there is one. */
  readonly problems: readonly Rejection[];
}

/** How tasks are made from others, as their `origin` says it. */
export const STRATEGY = 'entity-swap';

/** Whether a task is kept apart to judge by: nothing is made from it. */
export function isForEvaluation({ split }: ToolsTask): boolean {
  return split === 'validation' || split === 'test';
}
