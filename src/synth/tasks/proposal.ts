// What is proposed as a new task, and why one is not taken: shared by what makes proposals and what judges them.

import type { Cost } from '../../core/cost.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Responder } from '../../env/tools/tools-family.js';
import type { LanguageModel } from '../../llm/language-model.js';

/** Ways of making a task from another; only `propose` needs a language model. */
export const STRATEGIES = ['entity-swap', 'propose'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** Why a proposal is no task, by kind. */
export type RejectionCode =
  /** Nothing could be made from this seed in this way. */
  | 'no_variant'
  /** The seed is for validation or test. */
  | 'seed_split'
  /** The language model gave no reply that could be used. */
  | 'bad_reply'
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

/** A task without its name, or why there is none. */
export interface Variant {
  readonly task?: ToolsTask;
  readonly problems?: readonly Rejection[];
  readonly cost?: Cost;
}

/** A task that may be added; or, where none could be made, why not. */
export interface TaskProposal extends Required<Omit<Variant, 'task'>> {
  readonly task?: ToolsTask;
  readonly seed: ToolsTask;
  readonly strategy: Strategy;
  /** Of the language model that wrote it; empty for rules. */
  readonly modelVersion: string;
}

/** Whether a task is kept apart to judge by: nothing is made from it. */
export function isForEvaluation({ split }: ToolsTask): boolean {
  return split === 'validation' || split === 'test';
}

/** Of `propose`: a language model is asked for a task of its own. */
export interface ProposalRequest {
  readonly domain: ToolsDomain;
  /** Where the new task begins. */
  readonly seed: ToolsTask;
  /** Proposes, and looks for a way. */
  readonly model: LanguageModel;
  /** Asked whether what was found does what was proposed; default: the same. */
  readonly judge?: LanguageModel;
  /** How often, each by itself; default 3. */
  readonly judges?: number;
  /** Actions that the way may take; default 12. */
  readonly steps?: number;
  readonly responder: Responder;
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

export type ProposeTask = (request: ProposalRequest) => Promise<Variant>;
