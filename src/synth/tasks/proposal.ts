// What is proposed as a new task, and why one is not taken: shared by what makes proposals and what judges them.

import type { ToolsTask } from '../../env/tools/domain.js';

/** Why a proposal is no task, by kind. */
export type RejectionCode =
  /** Nothing could be made from this seed. */
  | 'no_variant'
  /** The seed is for validation or test. */
  | 'seed_split'
  /** Malformed: no goal, too long, no verifier. */
  | 'malformed'
  /** A call of an unknown tool, or with arguments that break its schema. */
  | 'bad_call'
  /** An id that nothing has. */
  | 'unknown_id'
  /** Its start cannot be made: operations that do not apply, a state that breaks its schema or rules. */
  | 'bad_start'
  /** The reference solution runs into an error, or does not pass the verifier. */
  | 'reference_fails'
  /** The verifier cannot tell: it needs a judge. */
  | 'undecidable'
  /** The verifier lets a way to fail pass. */
  | 'verifier_weak'
  /** Nearly the words of another task. */
  | 'near_duplicate'
  /** Shares words or a solution with a task for validation or test. */
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
