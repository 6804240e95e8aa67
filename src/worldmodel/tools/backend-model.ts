// What every kind of dynamics behind the router of tools implements: a proposal for one call, or why it has none.

import type { Cost } from '../../core/cost.js';
import type { Json } from '../../core/json.js';
import type { CallQuery, Operation } from '../../env/index.js';

/** What a backend says happens; not believed before `checkProposal` has found no fault with it. */
export interface RawProposal {
  readonly reasoning?: string;
  /** JSON Patch; unchecked. */
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
  /** In [0, 1]. */
  readonly confidence: number;
  /**
   * What a model claims of reward and end. Recorded and nothing else: rewards come from verifiers and audited judges, and
   * an episode ends by its tools, its user and its clock, so that no text in a prompt can mint the one or cause the other.
   */
  readonly claimed?: { readonly reward: number | null; readonly terminated: boolean };
  /** What exact code or the real environment says of them. */
  readonly exact?: { readonly reward: number | null; readonly terminated: boolean };
  /** Name and version of what answered, where it is finer than the backend's. */
  readonly modelVersion?: string;
  readonly cost: Cost;
}

/** No proposal: the backend does not know the call. What was spent to find that out is counted. */
export interface Declined {
  readonly declined: string;
  readonly cost?: Cost;
}

/** No usable proposal, though there should be one: a reply that is no prediction. May be tried again. */
export interface Failed {
  readonly problems: readonly string[];
  /** What the model wrote, where that could be read; shown to it when it is asked to repair. */
  readonly previous?: Json;
  readonly cost: Cost;
}

export interface PredictOptions {
  readonly signal?: AbortSignal;
  /** Present at the second try: the proposal that was refused, and why. */
  readonly repair?: { readonly previous: Json; readonly problems: readonly string[] };
}

/** How far a backend's word is taken: `exact` code is only kept to schema and invariants; a `proposal` must also be possible
 *  and speak of nothing unknown; `text` has no state to be held against. */
export type Trust = 'exact' | 'proposal' | 'text';

export interface ToolsBackendModel {
  /** What its answers are recorded as. */
  readonly name: string;
  /** Identifies what answers: code, index or model with its options. */
  readonly version: string;
  readonly trust: Trust;
  /** Its bar: a proposal of lower confidence is not taken; 0 unless given. */
  readonly minConfidence?: number;
  /** Whether asking again with reasons can give another answer. */
  readonly repairs: boolean;
  predict(query: CallQuery, options: PredictOptions): Promise<RawProposal | Declined | Failed>;
}
